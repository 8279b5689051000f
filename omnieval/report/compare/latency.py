"""Did answers become faster?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnieval.report.compare.side import Side
from omnieval.report.latency import LABELS, Distribution
from omnieval.stats import LatencyDifference, latency_difference

_PERCENTILES: Mapping[str, str] = {"p50": "median", "p99": "p99"}


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """figure: such as `ttft_s`. percentile: p50 or p99, of each run's samples."""

    figure: str
    percentile: str
    change: LatencyDifference


def compare_latency(first: Side, second: Side) -> tuple[LatencyRow, ...]:
    """Every figure that all runs of both sides have, in reading order."""
    runs = [*first.latencies, *second.latencies]
    rows = []
    for figure in LABELS:
        if figure == "audio_s" or not all(figure in run for run in runs):
            continue
        for percentile, name in _PERCENTILES.items():
            ours, theirs = ([_value(run[figure], name) for run in side.latencies] for side in (first, second))
            rows.append(
                LatencyRow(figure, percentile, latency_difference(ours, theirs, ratio=figure == "rtf"))
            )
    return tuple(rows)


def _value(distribution: Distribution, name: str) -> float:
    value: float = getattr(distribution, name)
    return value
