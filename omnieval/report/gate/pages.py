"""Verdicts as the page that a reader sees."""

from __future__ import annotations

from omnieval.report.gate.build import GateResult, LineResult
from omnieval.report.page import Page, Table


def gate_page(result: GateResult) -> Page:
    """The verdict in the headline, then every line with its reason."""
    rows = tuple(
        (line.text, _number(line.value), _interval(line), line.verdict, line.reason) for line in result.lines
    )
    run = result.run
    return Page(
        headline=f"{result.verdict.upper()} · {run['recipe']} · {run['model'] or run['backend']}",
        measured_by=f"gate {result.gate}",
        directory=str(run["directory"]),
        warnings=() if result.not_kept is None else (f"NOT KEPT with the run: {result.not_kept}",),
        tables=(Table("Gate", ("line", "value", "95 % interval", "verdict", "why"), rows, numeric=(1, 2)),),
        notes=(),
        footer="A line is undecided where the interval straddles it; undecided is not passed.",
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _interval(line: LineResult) -> str:
    if line.low is None or line.high is None:
        return "-"
    return f"{_number(line.low)} to {_number(line.high)}"
