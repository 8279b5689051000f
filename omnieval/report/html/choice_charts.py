"""What is drawn of a multiple-choice run. Every number is one of its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnieval.report.build import Report
from omnieval.report.html.axes import Line
from omnieval.report.html.common_charts import accounting_chart, latency_charts
from omnieval.report.html.parts import Chart, Tile
from omnieval.report.html.svg import Estimate, estimates, paired_bars
from omnieval.report.proportion import Proportion
from omnieval.report.tables import interval, percent

_PERCENT = (0.0, 100.0)
_SHOWN_VALUES = 40


def choice_tiles(report: Report) -> list[Tile]:
    """The figures that a reader came for."""
    tiles = [
        Tile("Accuracy, official", _value(report.official), _told(report.official), "main"),
        Tile("Accuracy, strict", _value(report.strict), _told(report.strict)),
    ]
    if report.references:
        known = next((row for row in report.references if row.caveat is None), report.references[0])
        told = known.name if known.caveat is None else f"{known.name}; not alike: {known.caveat}"
        tiles.append(Tile("Reference result", f"{100 * known.accuracy:.2f} %", told))
    tiles += [Tile("Floor", _value(c.official), c.name) for c in report.companions if "without" in c.name][:1]
    if report.chance is not None:
        tiles.append(Tile("Chance", f"{100 * report.chance:.2f} %", "guessing among the options"))
    return tiles


def choice_charts(report: Report, values: Mapping[str, Sequence[float]]) -> list[Chart]:
    """values: of every latency figure."""
    charts = [accounting_chart(report.accounting), *_accuracy(report)]
    charts += [_group(report, key) for key, rows in report.groups.items() if rows]
    if report.rules:
        rows = [
            _estimate(row.rule, row.accuracy, colour=0 if row.rule == report.parser else 5)
            for row in report.rules
        ]
        drawn = estimates("Accuracy by parser", rows, line=_line(report), bounds=_PERCENT, unit=" %")
        charts.append(Chart("The same replies by every parser", "Accuracy by parser, 95 % interval", drawn))
    if report.letters:
        letters = [(row.letter, row.picked, row.gold) for row in report.letters]
        drawn = paired_bars("Letters picked and letters right", ("picked", "right"), letters)
        charts.append(Chart("Letters", "How often each letter was picked, and how often it was right", drawn))
    return charts + latency_charts(report.latency, values)


def _accuracy(report: Report) -> list[Chart]:
    rows = [_estimate("official", report.official), _estimate("strict", report.strict, colour=6)]
    if report.each_asking is not None:
        rows.append(_estimate("each order by itself", report.each_asking, colour=6))
    rows += [_estimate(companion.name, companion.official, colour=5) for companion in report.companions]
    rows += [
        Estimate(row.name, 100 * row.accuracy, told=f"{100 * row.accuracy:.2f} %", colour=2, hollow=True)
        for row in report.references
    ]
    line = None if report.chance is None else Line(100 * report.chance, f"chance {100 * report.chance:.2f} %")
    caption = "Accuracy with 95 % interval" + ("; rings are reference results" if report.references else "")
    return [Chart("Accuracy", caption, estimates("Accuracy", rows, line=line, bounds=_PERCENT, unit=" %"))]


def _group(report: Report, key: str) -> Chart:
    rows = report.groups[key]
    shown = [_estimate(row.value, row.official) for row in rows[:_SHOWN_VALUES]]
    caption = "Official accuracy with 95 % interval; dashed: all questions"
    if len(rows) > len(shown):
        caption += f" (the first {len(shown)} of {len(rows)})"
    drawn = estimates(f"Accuracy by {key}", shown, line=_line(report), bounds=_PERCENT, unit=" %")
    return Chart(f"By {key}", caption, drawn)


def _estimate(label: str, found: Proportion, colour: int = 0) -> Estimate:
    if found.value is None or found.interval is None:
        return Estimate(label, None, told=percent(found), colour=colour)
    low, high = found.interval
    return Estimate(label, 100 * found.value, 100 * low, 100 * high, percent(found), colour)


def _line(report: Report) -> Line | None:
    value = report.official.value
    return None if value is None else Line(100 * value, f"all: {100 * value:.2f} %")


def _value(found: Proportion) -> str:
    return percent(found).partition(" (")[0]


def _told(found: Proportion) -> str:
    return f"{found.correct}/{found.total}, 95 % interval {interval(found)}"
