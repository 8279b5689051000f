"""`omnieval compare` and `omnieval gate`: what changed between runs, and whether one is good enough."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from omnieval.console import new_console
from omnieval.html_output import folder_of, write_html
from omnieval.output_form import require_one_form
from omnieval.suite_commands import gate_suite

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="A B [C]...",
        help="Run directories, or folders of repetitions of one run; all are compared with A.",
        show_default=False,
    ),
]


def compare(
    runs: Runs,
    parser: Annotated[
        str | None,
        typer.Option(help="Read the replies of all by this parser; else by the one that scored A."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON, with every flip in it.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write an HTML page; - prints it.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write compare.json, compare.md and compare.html into this folder."),
    ] = None,
) -> None:
    """Compare runs of one data set: differences with intervals, and which answers flipped.

    Exit code 1 where a figure of both may not be compared (another recogniser, another encoder).
    """
    from omnieval import api
    from omnieval.errors import ConfigError
    from omnieval.report.compare import (
        comparison_page,
        comparisons_json,
        comparisons_markdown,
        write_comparisons,
    )
    from omnieval.report.html import comparisons_html
    from omnieval.report.terminal import show
    from omnieval.suite import alone_members, compared_pairs, holds_suite

    require_one_form(json_=json_, markdown=markdown, html=html)
    if len(runs) < 2:
        raise ConfigError("name at least two runs: omnieval compare runs/monday runs/tuesday")
    comparisons = api.compare(runs[0], runs[1], *runs[2:], parser=parser)
    if json_:
        typer.echo(json.dumps(comparisons_json(comparisons), indent=2))
    elif markdown:
        typer.echo(comparisons_markdown(comparisons), nl=False)
    elif html is not None:
        write_html(html, comparisons_html(comparisons, compared_pairs(runs), folder=folder_of(html)))
    else:
        for comparison in comparisons:
            show(comparison_page(comparison), new_console())
    if out is not None:
        page = comparisons_html(comparisons, compared_pairs(runs), folder=out)
        for path in write_comparisons(out, comparisons, page):
            typer.echo(f"written: {path}", err=True)
    if holds_suite(runs[0]):
        for left in alone_members(runs):
            typer.echo(f"not compared, since not all suites have it: {left}", err=True)
    if any(comparison.refused for comparison in comparisons):
        sys.exit(1)


def gate(
    directory: Annotated[
        Path,
        typer.Argument(
            help="A run directory, a suite's, or a folder of repetitions of one run.", show_default=False
        ),
    ],
    gate_: Annotated[
        str | None,
        typer.Option(
            "--gate",
            metavar="FILE",
            help="A gate file, or a name of `omnieval list gates`; else that of the run or suite.",
            show_default=False,
        ),
    ] = None,
    section: Annotated[
        str | None,
        typer.Option(
            help="Whose lines of the gate to take; else those for the suite's member or the recipe."
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Also write the verdicts as JUnit XML into this file.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print gate.json.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write an HTML page; - prints it.")
    ] = None,
) -> None:
    """Judge a run by the lines of a gate: pass, fail, or undecided where the interval straddles a line.

    Exit codes: 0 passed, 1 not met or undecided, 2 a bad gate file.
    """
    from omnieval import api
    from omnieval.errors import ConfigError
    from omnieval.report.gate import gate_page, to_junit
    from omnieval.report.markdown import to_markdown
    from omnieval.report.terminal import show
    from omnieval.runlog.files import replace_file
    from omnieval.suite import holds_suite

    require_one_form(json_=json_, markdown=markdown, html=html)
    if holds_suite(directory):
        if section is not None:
            raise ConfigError("the members of a suite take the sections of their names; leave out --section")
        gate_suite(directory, gate_, junit=junit, markdown=markdown, json_=json_, html=html)
        return
    result = api.gate(directory, gate_, section=section)
    if json_:
        from pydantic import TypeAdapter

        typer.echo(json.dumps(TypeAdapter(type(result)).dump_python(result, mode="json"), indent=2))
    elif markdown:
        typer.echo(to_markdown(gate_page(result)), nl=False)
    elif html is not None:
        from omnieval.report.html import gate_html

        write_html(html, gate_html(result))
    else:
        show(gate_page(result), new_console())
    if junit is not None:
        replace_file(junit, [to_junit(result)])
    if result.verdict != "pass":
        sys.exit(1)
