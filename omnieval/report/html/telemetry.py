"""The measurements beside a run as series to draw."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from omnieval.report.measurements import measurements
from omnieval.wording import counted

_POINTS = 240
_METRICS, _DEVICES = 24, 16


@dataclass(frozen=True, slots=True)
class Telemetry:
    """metrics: metric -> device -> (seconds from the first line, value), thinned out. seconds: from the first
    to the last line. notes: what was left out."""

    metrics: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]
    seconds: float
    notes: tuple[str, ...]


def read_telemetry(path: Path) -> Telemetry | None:
    """None where there is no such file, or nothing in it. Lines that are none are counted, not fatal."""
    known: dict[tuple[str, str], tuple[array[float], array[float]]] = {}
    bad = 0
    for measurement in measurements(path):
        if measurement is None:
            bad += 1
            continue
        for metric, value in measurement.values.items():
            times, found = known.setdefault((metric, measurement.device), (array("d"), array("d")))
            times.append(measurement.time_s)
            found.append(value)
    if not known:
        return None
    start = min(min(times) for times, _ in known.values())
    end = max(max(times) for times, _ in known.values())
    metrics: dict[str, dict[str, Sequence[tuple[float, float]]]] = {}
    left_out = 0
    for (metric, device), (times, measured) in sorted(known.items()):
        if (metric not in metrics and len(metrics) == _METRICS) or len(metrics.get(metric, ())) == _DEVICES:
            left_out += 1
            continue
        points = sorted(zip((t - start for t in times), measured, strict=True))
        metrics.setdefault(metric, {})[device] = _thinned(points)
    notes = (
        [f"telemetry.jsonl: {counted(bad, 'line is', 'lines are')} no measurement; left out"] if bad else []
    )
    notes += (
        [f"telemetry.jsonl: {left_out} more series of metrics and devices are not drawn"] if left_out else []
    )
    return Telemetry(metrics, end - start, tuple(notes))


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """The lowest and the highest point of each stretch, so that peaks stay."""
    if len(points) <= _POINTS:
        return points
    kept = []
    stretch = 2 * len(points) / _POINTS
    for i in range(_POINTS // 2):
        part = points[int(i * stretch) : int((i + 1) * stretch)]
        ends = min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])
        kept += sorted(set(ends))
    return kept
