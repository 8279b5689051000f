"""`omnieval bench`: how fast a deployment is, and whether what it says so fast is any good."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnieval.html_output import folder_of, write_html
from omnieval.output_form import require_one_form
from omnieval.run_options import (
    ApiKeyEnv,
    BackendName,
    BaseUrls,
    CacheDir,
    Data,
    Limit,
    ModelName,
    Recipe,
    Settings,
    UseSample,
    named_api_key,
    overrides_of,
    servers,
)
from omnieval.wording import as_typed

if TYPE_CHECKING:
    from omnieval.bench import BenchReport

Overrides = Sequence[tuple[str, Any]]


def bench(
    recipe: Recipe = None,
    repeats: Annotated[
        int | None,
        typer.Option(help="Runs whose figures count, 3 or more (default 3); a cold one is first."),
    ] = None,
    data: Data = None,
    sample: UseSample = False,
    base_url: BaseUrls = None,
    model: ModelName = None,
    backend: BackendName = None,
    out: Annotated[
        Path | None, typer.Option(help="The bench's directory; one that holds the same bench is continued.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue this bench; no recipe needed.")] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Another bench: is this one faster, or is it noise?")
    ] = None,
    set_: Settings = None,
    limit: Limit = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Requests in flight.")] = None,
    request_rate: Annotated[float | None, typer.Option(help="Requests a second at random intervals.")] = None,
    cache_dir: CacheDir = None,
    api_key_env: ApiKeyEnv = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure speed: a cold run, then repeats of the recipe, their medians, and the health of the output.

    Exit codes: 0 done; 1 not all runs are, or the output is broken, so that the speed does not count; 4 model
    server.
    """

    from omnieval.bench import (
        LEAST_REPEATS,
        Bench,
        build_bench_report,
        plan_bench,
        resumed,
        run_bench,
        write_report,
    )
    from omnieval.console import heard_display, new_console, print_line
    from omnieval.errors import ConfigError
    from omnieval.parsing import visible
    from omnieval.progress_display import progress_display

    require_one_form(json_=json_, markdown=markdown)
    if resume is not None and (recipe is not None or sample or out is not None):
        raise ConfigError("--resume takes the recipe from the bench; leave out recipe, --sample and --out")
    other = None if against is None else Bench.load(against)
    overrides = overrides_of(
        set_, data=data, **servers(base_url), model=model, backend=backend, limit=limit,
        concurrency=concurrency, request_rate=request_rate, cache_dir=cache_dir, api_key_env=api_key_env,
    )  # fmt: skip
    if resume is not None:
        config, stored = resumed(resume, overrides)
        repeats, out = stored if repeats is None else repeats, resume
    elif recipe is None:
        raise ConfigError("name a recipe, for example `omnieval bench daily-omni`, or --resume a bench")
    else:
        config = plan_bench(recipe, overrides, sample=sample)
    api_key = named_api_key(config.api_key_env, api_key_env)
    console = new_console(stderr=json_ or markdown)
    with progress_display(console) as listener:
        execution = run_bench(
            config,
            repeats=LEAST_REPEATS if repeats is None else repeats,
            out=out,
            against=other,
            api_key=api_key,
            listener=listener,
            notify=lambda line: print_line(console, line, style="dim"),
            heard=heard_display(console),
        )
    directory = execution.bench.directory
    if execution.failure is not None:
        told = f"error: stopped, since this would fail every question: {execution.failure}"
        typer.echo(visible(told), err=True)
    if execution.ending != "finished":
        typer.echo(f"to continue: omnieval bench --resume {as_typed(directory)}", err=True)
    if any(execution.bench.finished(name) for name in execution.bench.names):
        bench_ = execution.bench
        report = build_bench_report(bench_) if other is None else write_report(bench_, other)
        _print(report, json_=json_, markdown=markdown)
        if not (json_ or markdown):
            print_line(console, f"report: {directory / 'report.html'}")
        if execution.ending == "finished" and not report.counts:
            sys.exit(1)
    if execution.ending != "finished":
        sys.exit(4 if execution.failure is not None else 1)


def score_bench(
    directory: Path, overrides: Overrides, *, parser: str | None, data: Path | str | None
) -> None:
    """`omnieval score` of a bench's directory: every run of it."""
    from omnieval import bench
    from omnieval.console import heard_display, new_console, print_line

    console = new_console()
    report = bench.score_bench(
        bench.Bench.load(directory),
        parser=parser,
        data=data,
        overrides=overrides,
        heard=heard_display(console),
        notify=lambda line: print_line(console, line, style="dim"),
    )
    _print(report, json_=False, markdown=False)


def show_bench(directory: Path, *, json_: bool, markdown: bool, html: str | None) -> None:
    """`omnieval report` of a bench's directory."""
    from omnieval.bench import Bench, bench_html, build_bench_report

    report = build_bench_report(Bench.load(directory))
    if html is None:
        _print(report, json_=json_, markdown=markdown)
    else:
        write_html(html, bench_html(report, directory, folder=folder_of(html)))


def _print(report: BenchReport, *, json_: bool, markdown: bool) -> None:
    from omnieval.bench import bench_page, report_json
    from omnieval.console import new_console
    from omnieval.report.markdown import to_markdown
    from omnieval.report.terminal import show

    if json_:
        typer.echo(json.dumps(report_json(report), indent=2))
    elif markdown:
        typer.echo(to_markdown(bench_page(report)), nl=False)
    else:
        show(bench_page(report), new_console())
