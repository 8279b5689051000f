"""What `omnieval run`, `score`, `report` and `gate` do with a suite instead of a single run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from omnieval.console import heard_display, new_console, print_line
from omnieval.html_output import write_html
from omnieval.wording import as_typed

if TYPE_CHECKING:
    from omnieval.config import RunConfig
    from omnieval.suite import SuiteExecution, SuiteReport

Overrides = Sequence[tuple[str, Any]]


def run_suite(
    recipes: Sequence[str],
    overrides: Overrides,
    *,
    data: Sequence[str],
    sample: bool,
    gate: str | None,
    out: Path | None,
    resume: Path | None,
    api_key: Callable[[RunConfig], str | None],
) -> None:
    """Run or continue a suite, show its report, and end with the exit code of what became of it."""
    from omnieval.errors import ConfigError
    from omnieval.progress_display import progress_display
    from omnieval.suite import plan_suite, resumed, run_members

    if resume is None:
        plan = plan_suite(recipes, overrides, data=data, sample=sample, gate=gate)
    else:
        if gate is not None:
            raise ConfigError(
                "the gate of a suite stays as it was begun; judge by another with `omnieval gate`"
            )
        plan = resumed(resume, overrides, data=data)
    console = new_console()
    with progress_display(console) as listener:
        execution = run_members(
            plan,
            out=out if resume is None else resume,
            api_key=lambda member: api_key(member.config),
            listener=listener,
            notify=lambda line: print_line(console, line, style="dim"),
            heard=heard_display(console),
        )
    _conclude(execution)


def score_suite(directory: Path, overrides: Overrides, *, parser: str | None, data: Sequence[str]) -> None:
    """Score every member again, and show the report; 1 where one could not be scored."""
    from omnieval.parsing import visible
    from omnieval.suite import Suite, build_suite_report, score_members

    console = new_console()
    suite = Suite.load(directory)
    faults = score_members(
        suite,
        parser=parser,
        data=data,
        overrides=overrides,
        heard=heard_display(console),
        notify=lambda line: print_line(console, line, style="dim"),
    )
    _show(build_suite_report(suite))
    for name, fault in faults.items():
        typer.echo(visible(f"error: {name}: {fault}"), err=True)
    if faults:
        sys.exit(1)


def show_suite(directory: Path, *, json_: bool, markdown: bool, html: str | None) -> None:
    """Print the report of a suite, from its members' as last written."""
    from omnieval.parsing import visible
    from omnieval.report.markdown import to_markdown
    from omnieval.suite import Suite, build_suite_report, report_json, suite_html, suite_page

    report = build_suite_report(Suite.load(directory))
    if json_:
        text = json.dumps(report_json(report), indent=2, ensure_ascii=False)
        typer.echo("".join(c if c == visible(c) else json.dumps(c)[1:-1] for c in text))
    elif markdown:
        typer.echo(to_markdown(suite_page(report)), nl=False)
    elif html is not None:
        write_html(html, suite_html(report))
    else:
        _show(report)


def gate_suite(
    directory: Path,
    gate: str | None,
    *,
    junit: Path | None,
    markdown: bool,
    json_: bool,
    html: str | None,
) -> None:
    """Judge a suite, show the verdicts, and end with 1 where the gate is not surely met."""
    from pydantic import TypeAdapter

    from omnieval import api
    from omnieval.report.gate import to_junit
    from omnieval.report.markdown import to_markdown
    from omnieval.report.terminal import show
    from omnieval.runlog.files import replace_file
    from omnieval.suite import suite_gate_html, suite_gate_page

    result = api.gate_suite(directory, gate)
    if json_:
        typer.echo(json.dumps(TypeAdapter(type(result)).dump_python(result, mode="json"), indent=2))
    elif markdown:
        typer.echo(to_markdown(suite_gate_page(result)), nl=False)
    elif html is not None:
        write_html(html, suite_gate_html(result))
    else:
        show(suite_gate_page(result), new_console())
    if junit is not None:
        replace_file(junit, [to_junit(*result.members.values(), unjudged=result.unjudged)])
    if result.verdict != "pass":
        sys.exit(1)


def _conclude(execution: SuiteExecution) -> None:
    from omnieval.parsing import visible
    from omnieval.suite import build_suite_report

    suite = execution.suite
    place = as_typed(suite.directory)
    report = build_suite_report(suite)
    _show(report)
    console = new_console()
    print_line(console, f"report: {suite.directory / 'report.html'}")
    unheard = [row.name for row in report.members if row.unheard]
    if unheard:
        print_line(console, f"to hear the sounds of {', '.join(unheard)}: omnieval score {place}")
    if report.complete and suite.info.gate is not None:
        print_line(console, f"to judge it by {suite.info.gate}: omnieval gate {place}")
    if execution.ending == "stopped":
        told = f"error: stopped, since this would fail every question: {execution.failure}"
        typer.echo(visible(told), err=True)
    for row in report.members:
        if row.problem is not None and execution.ending == "finished":
            typer.echo(visible(f"error: {row.name}: {row.problem}"), err=True)
        elif row.state == "finished" and row.failed >= row.asked > 0:
            typer.echo(visible(f"error: {row.name}: every sample failed"), err=True)
    if not report.complete:
        typer.echo(f"to continue: omnieval run --resume {place}", err=True)
    if execution.ending == "stopped":
        sys.exit(4)
    if not report.complete or any(row.failed >= row.asked > 0 for row in report.members):
        sys.exit(1)


def _show(report: SuiteReport) -> None:
    from omnieval.report.terminal import show
    from omnieval.suite import suite_page

    show(suite_page(report), new_console())
