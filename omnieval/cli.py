"""The command line: parse, call `omnieval.api`, print. Nothing else prints."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from omnieval.bench_commands import bench, score_bench, show_bench
from omnieval.cache_commands import cache_app
from omnieval.console import heard_display, new_console, print_line, silence
from omnieval.data_commands import data_app
from omnieval.diagnose_commands import diagnose, show_diagnosis
from omnieval.duplex_commands import duplex
from omnieval.export_commands import export
from omnieval.html_output import write_html
from omnieval.output_form import require_one_form
from omnieval.run_options import (
    ApiKeyEnv,
    BackendName,
    BaseUrls,
    CacheDir,
    Data,
    Filters,
    Limit,
    ModelName,
    Places,
    Recipe,
    Recipes,
    SampleIds,
    Settings,
    ShuffleSeed,
    Transport,
    UseSample,
    filters_of,
    named_api_key,
    one_place,
    overrides_of,
    servers,
)
from omnieval.suite_commands import run_suite, score_suite, show_suite
from omnieval.verdict_commands import compare, gate
from omnieval.view_commands import view
from omnieval.wording import as_typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from omnieval.engine.execute import Execution
    from omnieval.report.build import Report
    from omnieval.report.speech import SpeechReport

app = typer.Typer(
    name="omnieval",
    help="Accuracy suite for omni-modal models: the right number, how sure it is, and what went wrong.",
    epilog="Exit codes: 0 done, 1 incomplete or not met, 2 usage or configuration, 3 data, 4 model server.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(cache_app, name="cache")
app.add_typer(data_app, name="data")

RunDirectory = Annotated[Path, typer.Argument(help="A run directory.", show_default=False)]


@app.command()
def run(
    recipe: Recipes = None,
    data: Places = None,
    sample: UseSample = False,
    base_url: BaseUrls = None,
    model: ModelName = None,
    backend: BackendName = None,
    out: Annotated[
        Path | None, typer.Option(help="Run directory; one that holds the same run is continued.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Continue this run directory; no recipe needed.")
    ] = None,
    set_: Settings = None,
    limit: Limit = None,
    sample_id: SampleIds = None,
    filter_: Filters = None,
    shuffle_seed: ShuffleSeed = None,
    concurrency: Annotated[
        str | None,
        typer.Option(metavar="N|auto", help="Requests in flight; auto finds as many as the server uses."),
    ] = None,
    request_rate: Annotated[
        float | None, typer.Option(help="Requests a second at random intervals, for figures under load.")
    ] = None,
    transport: Transport = None,
    cache_dir: CacheDir = None,
    api_key_env: ApiKeyEnv = None,
    gate_: Annotated[
        str | None,
        typer.Option("--gate", metavar="FILE", help="The gate by which `omnieval gate` will judge it."),
    ] = None,
    stop_when: Annotated[
        str | None,
        typer.Option(metavar="gate", help="End once the lines of --gate on accuracy are decided."),
    ] = None,
) -> None:
    """Ask a model the questions of one or several benchmarks, score the answers and write a report."""
    from omnieval import api
    from omnieval.errors import ConfigError
    from omnieval.suite import holds_suite, is_suite

    overrides = overrides_of(
        set_,
        **servers(base_url),
        model=model,
        backend=backend,
        limit=limit,
        sample_id=sample_id,
        filter=filters_of(filter_),
        shuffle_seed=shuffle_seed,
        concurrency=concurrency,
        request_rate=request_rate,
        transport=transport,
        cache_dir=cache_dir,
        api_key_env=api_key_env,
        stop_when=stop_when,
    )
    recipes = recipe or []
    if resume is not None and (recipes or sample or out is not None):
        raise ConfigError("--resume takes the recipe from the run; give no recipe, --sample or --out with it")
    if is_suite(recipes) or (resume is not None and holds_suite(resume)):
        run_suite(
            recipes,
            overrides,
            data=data or [],
            sample=sample,
            gate=gate_,
            out=out,
            resume=resume,
            api_key=lambda config: named_api_key(config.api_key_env, api_key_env),
        )
        return
    overrides += [*one_place(data), *([("gate", gate_)] if gate_ else [])]
    if resume is not None:
        config = api.reconfigure(resume, overrides)
        out = resume
    elif not recipes:
        raise ConfigError("name a recipe, for example `omnieval run daily-omni`, or --resume a run directory")
    else:
        config = api.configure(recipes[0], overrides, sample=sample)
    from omnieval.progress_display import progress_display

    console = new_console()
    with progress_display(console) as listener:
        execution = api.execute_and_score(
            config,
            out=out,
            api_key=named_api_key(config.api_key_env, api_key_env),
            listener=listener,
            notify=lambda line: print_line(console, line, style="dim"),
            heard=heard_display(console),
        )
    _conclude(execution, console)


@app.command()
def check(
    recipe: Recipe,
    data: Data = None,
    sample: UseSample = False,
    base_url: BaseUrls = None,
    model: ModelName = None,
    backend: BackendName = None,
    set_: Settings = None,
    transport: Transport = None,
    cache_dir: CacheDir = None,
    api_key_env: ApiKeyEnv = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Ask a deployment a few telling questions: would a run of this recipe measure what it says?"""
    from omnieval import api
    from omnieval.check_display import show_findings

    overrides = overrides_of(
        set_,
        data=data,
        **servers(base_url),
        model=model,
        backend=backend,
        transport=transport,
        cache_dir=cache_dir,
        api_key_env=api_key_env,
    )
    config = api.configure(recipe or "", overrides, sample=sample)
    console = new_console()
    findings = api.check_config(
        config,
        api_key=named_api_key(config.api_key_env, api_key_env),
        notify=lambda line: None if json_ else print_line(console, line, style="dim"),
        found=lambda finding: None if json_ else print_line(console, f"{finding.verdict}: {finding.check}"),
    )
    if json_:
        import json
        from dataclasses import asdict

        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        show_findings(findings, console)
    if any(finding.fatal and finding.verdict == "fail" for finding in findings):
        sys.exit(4)


@app.command()
def prepare(
    recipe: Recipe,
    data: Data = None,
    sample: UseSample = False,
    set_: Settings = None,
    limit: Limit = None,
    sample_id: SampleIds = None,
    filter_: Filters = None,
    shuffle_seed: ShuffleSeed = None,
    cache_dir: CacheDir = None,
) -> None:
    """Fill the media cache for a recipe without asking a model."""
    from omnieval import api
    from omnieval.engine.fill import fill_cache
    from omnieval.prepare_display import show_filled
    from omnieval.progress_display import progress_display

    overrides = overrides_of(
        set_,
        data=data,
        limit=limit,
        sample_id=sample_id,
        filter=filters_of(filter_),
        shuffle_seed=shuffle_seed,
        cache_dir=cache_dir,
    )
    config = api.configure(recipe or "", overrides, sample=sample)
    console = new_console()
    with progress_display(console) as listener:
        filled = fill_cache(config, listener=listener, notify=lambda line: print_line(console, line))
    show_filled(filled, console)


@app.command()
def score(
    directory: Annotated[
        Path | None, typer.Argument(help="A run directory; none with --audio.", show_default=False)
    ] = None,
    parser: Annotated[str | None, typer.Option(help="Another parser; see `omnieval list parsers`.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Who hears: recogniser.name, similarity.model, ... Repeatable."
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="Where the reference voices lie, if not where the run found them; as for `run`.",
        ),
    ] = None,
    audio: Annotated[
        Path | None, typer.Option(help="Score this folder of {id}.wav files instead of a run.")
    ] = None,
    meta: Annotated[Path | None, typer.Option(help="With --audio: the list that was spoken.")] = None,
    language: Annotated[
        str | None, typer.Option(help="With --audio: en or zh, if the list's folder does not say.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --audio: the run directory to write.")] = None,
) -> None:
    """Score the answers of a run, a suite or a bench again, without the model, and write its report anew."""
    from omnieval import api
    from omnieval.bench import holds_bench
    from omnieval.errors import ConfigError
    from omnieval.suite import holds_suite

    console = new_console()
    heard = heard_display(console)
    overrides = overrides_of(set_)
    if audio is not None or meta is not None:
        if audio is None or meta is None or directory is not None or parser is not None or data is not None:
            raise ConfigError(
                "sounds are scored by --audio DIR with --meta LIST, and without a run directory"
            )
        from omnieval.progress_display import progress_display

        with progress_display(console) as listener:
            execution = api.score_recordings(
                audio,
                meta,
                language=language,
                out=out,
                overrides=overrides,
                listener=listener,
                notify=lambda line: print_line(console, line, style="dim"),
                heard=heard,
            )
        _conclude(execution, console)
        return
    if directory is None:
        raise ConfigError("name a run directory, or --audio DIR with --meta LIST")
    if out is not None or language is not None:
        raise ConfigError("--out and --language belong to --audio")
    if holds_suite(directory):
        score_suite(directory, overrides, parser=parser, data=data or [])
        return
    place = dict(one_place(data)).get("data")
    if holds_bench(directory):
        score_bench(directory, overrides, parser=parser, data=place)
        return
    run = api.load_run(directory)
    _show(
        api.score_with(run, parser=parser, data=place, heard=heard, overrides=overrides),
        console,
    )


@app.command()
def report(
    directory: RunDirectory,
    json_: Annotated[bool, typer.Option("--json", help="Print report.json.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print report.md.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write the HTML report; - prints it.")
    ] = None,
) -> None:
    """Show the report of a run, a suite, a bench or a diagnosis as last scored."""
    from omnieval import api
    from omnieval.bench import holds_bench
    from omnieval.diagnose import holds_diagnosis
    from omnieval.report.markdown import to_markdown
    from omnieval.report.pages import page_of
    from omnieval.report.terminal import show
    from omnieval.suite import holds_suite

    require_one_form(json_=json_, markdown=markdown, html=html)
    if holds_suite(directory):
        show_suite(directory, json_=json_, markdown=markdown, html=html)
        return
    if holds_bench(directory):
        show_bench(directory, json_=json_, markdown=markdown, html=html)
        return
    if holds_diagnosis(directory):
        show_diagnosis(directory, json_=json_, markdown=markdown, html=html)
        return
    loaded = api.load_run(directory)
    if json_:
        import json

        from omnieval.parsing import visible

        text = json.dumps(loaded.report(), indent=2, ensure_ascii=False)
        # Escaped where a terminal could be steered; as JSON it is the same.
        typer.echo("".join(c if c == visible(c) else json.dumps(c)[1:-1] for c in text))
    elif markdown:
        typer.echo(to_markdown(page_of(api.load_report(loaded))), nl=False)
    elif html is not None:
        from omnieval.report.html import report_html

        write_html(html, report_html(loaded, api.load_report(loaded)))
    else:
        show(page_of(api.load_report(loaded)), new_console())


# Help shows commands in the order of registration.
app.command()(compare)
app.command()(gate)
app.command()(view)
app.command()(bench)
app.command()(diagnose)
app.command()(export)
app.command()(duplex)


@app.command("list")
def list_names(
    what: Annotated[
        str,
        typer.Argument(
            help="benchmarks, backends, recipes, parsers, recognisers, encoders, gates or suites; "
            "without it everything.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """List the names that other commands take."""
    from omnieval.backends.registry import BACKENDS
    from omnieval.benchmarks.registry import BENCHMARKS
    from omnieval.errors import ConfigError
    from omnieval.parsing import RULES
    from omnieval.recipe_files import recipe_names
    from omnieval.report.gate import gate_names
    from omnieval.scoring.asr import RECOGNISERS
    from omnieval.scoring.speaker import ENCODERS
    from omnieval.suite import suite_names
    from omnieval.wording import suggest

    names: dict[str, Callable[[], list[str]]] = {
        "benchmarks": BENCHMARKS.names,
        "backends": BACKENDS.names,
        "recipes": recipe_names,
        "parsers": lambda: ["official", *RULES],
        "recognisers": lambda: list(RECOGNISERS),
        "encoders": lambda: list(ENCODERS),
        "gates": gate_names,
        "suites": suite_names,
    }
    if not what:
        for kind, listed in names.items():
            typer.echo(f"{kind}: {', '.join(listed())}")
        return
    if what not in names:
        raise ConfigError(f"cannot list {what!r}{suggest(what, names)}")
    for name in names[what]():
        typer.echo(name)


@app.command()
def version() -> None:
    """Show the version."""
    import omnieval

    typer.echo(omnieval.__version__)


def main() -> NoReturn:
    """Entry point: run the app and turn errors into a message and an exit code."""
    from omnieval.errors import OmnievalError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may know fewer characters than a data set
    try:
        app()
    except OmnievalError as error:
        from omnieval.parsing import visible

        typer.echo(visible(f"error: {error}"), err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # of a path that nothing more telling was said about
        from omnieval.parsing import visible

        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        typer.echo(visible(f"error: {where}{error.strerror or error}; check the path"), err=True)
        silence(sys.stdout)  # else its unwritten rest fails once more at the exit
        sys.exit(1)
    sys.exit(0)


def _conclude(execution: Execution, console: Console) -> None:
    from omnieval import api
    from omnieval.parsing import visible

    directory = execution.run.directory
    report = api.load_report(execution.run)
    finished = execution.end.reason in ("finished", "decided")
    _show(report, console, directory, ending=finished)
    if finished:
        return
    failure = execution.end.failure
    if failure is not None:
        hint = f" ({failure.hint})" if failure.hint else ""
        stopped = f"error: stopped, since this would fail every question: {failure.message}{hint}"
        typer.echo(visible(stopped), err=True)
    typer.echo(f"to continue: omnieval run --resume {as_typed(directory)}", err=True)
    sys.exit(1 if failure is None else 4)


def _show(
    report: Report | SpeechReport, console: Console, directory: Path | None = None, *, ending: bool = True
) -> None:
    """Print a report; what could not be measured ends the command with 1, where nothing worse does."""
    from omnieval.report.pages import page_of
    from omnieval.report.terminal import show

    show(page_of(report), console)
    if directory is not None:
        print_line(console, f"report: {directory / 'report.html'}")
        if report.kind == "speech" and report.recogniser is None and not report.not_measured:
            print_line(console, f"to hear the sounds: omnieval score {as_typed(directory)}")
    if not ending:
        return
    if report.kind == "speech" and report.not_measured:
        sys.exit(1)
    failed = sum(row.count for row in report.failures)
    asked = report.asked if report.kind == "speech" else report.strict.total
    if report.complete and failed >= asked > 0:
        typer.echo("error: every sample failed, so that nothing was measured", err=True)
        sys.exit(1)
