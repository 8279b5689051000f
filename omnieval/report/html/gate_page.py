"""Verdicts of a gate: the interval of each figure drawn against its line."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from omnieval.report.compare import Side
from omnieval.report.gate import GateResult, gate_page
from omnieval.report.gate.build import LineResult
from omnieval.report.gate.line import GateLine, parse_line
from omnieval.report.gate.reading import read_figure
from omnieval.report.html.axes import Line
from omnieval.report.html.document import Article, document
from omnieval.report.html.parts import Chart, Tile, Tone
from omnieval.report.html.svg import Estimate, estimates

VERDICT_TONES: dict[str, Tone] = {"pass": "good", "fail": "bad", "undecided": "doubt"}
_COLOURS = {"pass": 2, "fail": 1, "undecided": 4}


def gate_html(result: GateResult) -> str:
    """The verdicts as a file of their own."""
    page = gate_page(result)
    return document([Article(page, "Gate", (gate_tile(result),), tuple(gate_charts(result)))])


def stored_gate(path: Path) -> GateResult | None:
    """The content of gate.json; None where there is none that this version reads."""
    try:
        return TypeAdapter(GateResult).validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def is_outdated(result: GateResult, side: Side) -> bool:
    """Whether the run has been scored to other figures since. Times are left out of account: they may be
    medians over repetitions, which are not known here."""
    for line in result.lines:
        read = _line(line)
        if read is None or read.name in ("config", "drop_vs") or "." in read.name:
            continue
        if read_figure(side, read.name, read.argument).value != line.value:
            return True
    return False


def gate_tile(result: GateResult) -> Tile:
    """The verdict, and how many lines came to which."""
    return Tile(f"Gate {result.gate}", result.verdict, counted_lines(result), VERDICT_TONES[result.verdict])


def counted_lines(result: GateResult) -> str:
    """How many lines came to which verdict."""
    counts = [(verdict, sum(line.verdict == verdict for line in result.lines)) for verdict in VERDICT_TONES]
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count)


def gate_charts(result: GateResult) -> list[Chart]:
    """One drawing a line with an interval."""
    charts = []
    for line in result.lines:
        read = _line(line)
        if read is None or line.value is None or line.low is None or line.high is None:
            continue
        told = f"{line.value:.4g} ({line.low:.4g} to {line.high:.4g})"
        row = Estimate(line.verdict, line.value, line.low, line.high, told, _COLOURS[line.verdict])
        limit = Line(float(read.threshold), f"{read.operator} {read.threshold:.4g}")
        charts.append(Chart("Gate", line.text, estimates(line.text, [row], line=limit)))
    return charts


def _line(line: LineResult) -> GateLine | None:
    try:
        return parse_line(line.text, line.line)
    except ValueError:
        return None
