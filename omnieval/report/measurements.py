"""Measurements beside a run, as `telemetry.jsonl` holds them.

One JSON object a line: `{"t": SECONDS_SINCE_THE_EPOCH, "device": "npu:0", "power_w": 310.5, ...}`; every key
with a number but `t` is a metric of that device.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MOST = 1e15


@dataclass(frozen=True, slots=True)
class Measurement:
    """time_s: seconds since the epoch. values: by metric."""

    time_s: float
    device: str
    values: dict[str, float]


def measurements(path: Path) -> Iterator[Measurement | None]:
    """One a line, None for a line that is none (the last one may be torn). Nothing without a file."""
    try:
        with path.open("rb") as file:
            yield from map(_measurement, file)
    except OSError:
        return


def _measurement(line: bytes) -> Measurement | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not _is_number(found.get("t")):
        return None
    values = {key: float(value) for key, value in found.items() if key != "t" and _is_number(value)}
    return Measurement(float(found["t"]), str(found.get("device", "")) or "all", values)


def _is_number(value: object) -> bool:
    # A whole number may be beyond any float.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_MOST < value < _MOST
