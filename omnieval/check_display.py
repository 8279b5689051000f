"""Showing what a check of a deployment found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnieval.engine.preflight import Finding
from omnieval.parsing import visible

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"pass": "green", "fail": "bold red", "unknown": "yellow"}


def show_findings(findings: Sequence[Finding], console: Console) -> None:
    """A table of pass, fail and unknown, with what mends a failure. Text of a server is neither markup nor a
    terminal command."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD)
    for column in ("check", "verdict", "found", "what to do"):
        grid.add_column(column, overflow="fold")
    for finding in findings:
        grid.add_row(
            finding.check,
            Text(finding.verdict, style=_STYLES[finding.verdict]),
            Text(visible(finding.found)),
            Text(visible(finding.fix or "")),
        )
    console.print(grid)
