"""What is drawn of runs of every kind: rows by outcome, distributions of times, telemetry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnieval.report.accounting import Count
from omnieval.report.html.axes import Line
from omnieval.report.html.parts import Chart
from omnieval.report.html.svg import COLOURS, Part, Series, histogram, over_time, stacked
from omnieval.report.html.telemetry import Telemetry
from omnieval.report.latency import LABELS, Distribution

_COLOURS: Mapping[str, int] = {
    "answered, correct": 0,
    "answered, heard": 0,
    "answered, wrong": 1,
    "answered, not heard": 4,
    "answered, no letter": 4,
    "failed": 3,
    "no usable answer": 5,
    "not asked": 7,
}


def accounting_chart(counts: Sequence[Count]) -> Chart:
    """Every row of the data set as one bar."""
    total = sum(count.count for count in counts)
    parts = [
        Part(c.label, c.count, f"{c.count} ({100 * c.count / total:.1f} %)", _colour(c.label))
        for c in counts
        if c.count
    ]
    title = "Every row of the data set"
    return Chart(title, f"{total} rows by what became of them", stacked(title, parts))


def latency_charts(figures: Mapping[str, Distribution], values: Mapping[str, Sequence[float]]) -> list[Chart]:
    """The distribution of each figure, with the percentiles of its report."""
    return [
        Chart("Latency", LABELS[name], histogram(LABELS[name], values[name], lines=[_median(found)]))
        for name, found in figures.items()
        if values.get(name)
    ]


def _median(found: Distribution) -> Line:
    return Line(found.median, f"p50 {found.median:.3f}")


def telemetry_charts(telemetry: Telemetry) -> list[Chart]:
    """One small chart a metric, one line a device."""
    return [
        Chart(
            "Telemetry",
            metric,
            over_time(
                f"{metric} over time",
                [Series(name, points, i % COLOURS) for i, (name, points) in enumerate(devices.items())],
                seconds=telemetry.seconds,
            ),
        )
        for metric, devices in telemetry.metrics.items()
    ]


def _colour(label: str) -> int:
    return next((colour for start, colour in _COLOURS.items() if label.startswith(start)), 5)
