"""`omnieval compare`: what changed between runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

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
    out: Annotated[
        Path | None, typer.Option(help="Also write compare.json and compare.md into this folder.")
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
    from omnieval.report.terminal import show

    if len(runs) < 2:
        raise ConfigError("name at least two runs: omnieval compare runs/monday runs/tuesday")
    comparisons = api.compare(runs[0], runs[1], *runs[2:], parser=parser)
    if json_:
        typer.echo(json.dumps(comparisons_json(comparisons), indent=2))
    elif markdown:
        typer.echo(comparisons_markdown(comparisons), nl=False)
    else:
        from rich.console import Console

        for comparison in comparisons:
            show(comparison_page(comparison), Console(soft_wrap=False))
    if out is not None:
        for path in write_comparisons(out, comparisons):
            typer.echo(f"written: {path}", err=True)
    if any(comparison.refused for comparison in comparisons):
        sys.exit(1)
