"""`omnieval diagnose`: which kind of media, or which setting, makes a model's answers worse."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnieval.html_output import folder_of, write_html
from omnieval.output_form import require_one_form
from omnieval.run_options import (
    ApiKeyEnv,
    BackendName,
    BaseUrls,
    CacheDir,
    Data,
    Filters,
    ModelName,
    SampleIds,
    Settings,
    ShuffleSeed,
    Transport,
    UseSample,
    filters_of,
    named_api_key,
    overrides_of,
    servers,
)

if TYPE_CHECKING:
    from omnieval.diagnose import Diagnosis


def diagnose(
    recipe: Annotated[
        str, typer.Argument(help="Name of a bundled recipe or path of one.", show_default=False)
    ],
    data: Data = None,
    sample: UseSample = False,
    base_url: BaseUrls = None,
    model: ModelName = None,
    backend: BackendName = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory of the diagnosis; one that holds the same is continued."),
    ] = None,
    set_: Settings = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Samples a rung; 8 if nothing is said.")] = None,
    sample_id: SampleIds = None,
    filter_: Filters = None,
    shuffle_seed: ShuffleSeed = None,
    transport: Transport = None,
    cache_dir: CacheDir = None,
    api_key_env: ApiKeyEnv = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print diagnose.json.")] = False,
) -> None:
    """Ask the same few samples with text only, one frame, frames, sound, both, and with settings changed.

    Names the first rung that breaks, and the probable cause. Exit codes: 0 no rung breaks; 1 one does, or not
    all was asked; 4 the server is gone.
    """

    from omnieval import diagnose as ladders
    from omnieval.console import new_console, print_line
    from omnieval.parsing import visible
    from omnieval.progress_display import progress_display
    from omnieval.settings import configure

    require_one_form(json_=json_, markdown=markdown)
    overrides = overrides_of(
        set_,
        data=data,
        **servers(base_url),
        model=model,
        backend=backend,
        limit=limit,
        sample_id=sample_id,
        filter=filters_of(filter_),
        shuffle_seed=shuffle_seed,
        transport=transport,
        cache_dir=cache_dir,
        api_key_env=api_key_env,
    )
    config = configure(recipe, overrides, sample=sample)
    api_key = named_api_key(config.api_key_env, api_key_env)
    console = new_console(stderr=json_ or markdown)

    def notify(line: str) -> None:
        print_line(console, line, style="dim")

    with progress_display(console) as listener:
        diagnosis, execution = ladders.diagnose(
            config,
            out=None if out is None else out.expanduser(),
            api_key=api_key,
            listener=listener,
            notify=notify,
        )
    _print(diagnosis, json_=json_, markdown=markdown)
    if not (json_ or markdown):
        print_line(console, f"report: {execution.directory / 'diagnose.html'}")
    if not diagnosis.complete:
        again = f"to continue: the same command with --out {execution.directory}"
        typer.echo(visible(again), err=True)
    if execution.ending == "stopped":
        sys.exit(4)
    if diagnosis.first_break is not None or not diagnosis.complete:
        sys.exit(1)


def show_diagnosis(directory: Path, *, json_: bool, markdown: bool, html: str | None) -> None:
    """`omnieval report` of a diagnosis' directory."""
    from omnieval.diagnose import diagnosis_html, read_diagnosis
    from omnieval.report.html.parts import place_from

    found = read_diagnosis(directory)
    if html is None:
        _print(found, json_=json_, markdown=markdown)
    else:
        write_html(html, diagnosis_html(found, place_from(folder_of(html), directory)))


def _print(diagnosis: Diagnosis, *, json_: bool, markdown: bool) -> None:
    from omnieval.console import new_console
    from omnieval.diagnose import diagnosis_json, diagnosis_page
    from omnieval.report.markdown import to_markdown
    from omnieval.report.terminal import show

    if json_:
        typer.echo(json.dumps(diagnosis_json(diagnosis), indent=2))
    elif markdown:
        typer.echo(to_markdown(diagnosis_page(diagnosis)), nl=False)
    else:
        show(diagnosis_page(diagnosis), new_console())
