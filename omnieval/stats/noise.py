"""Whether a difference of latencies is more than noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

# Differences of RTF below the first are noise, above the second real.
RTF_NOISE, RTF_REAL = 0.03, 0.05
LEAST_RUNS = 3


@dataclass(frozen=True, slots=True)
class LatencyDifference:
    """first, second: medians over the runs of either side. difference: second - first, in their unit.
    reason: why the verdict is what it is."""

    first: float
    second: float
    difference: float
    first_runs: int
    second_runs: int
    verdict: Literal["noise", "real", "undecided"]
    reason: str


def latency_difference(first: Sequence[float], second: Sequence[float], *, ratio: bool) -> LatencyDifference:
    """Compare one latency figure of repeated runs; the first run after a cold start must not be among them.

    first, second: one figure a run (its median over the samples, say), at least one each. ratio: an RTF, for
    which differences below 0.03 are noise and above 0.05 real; for seconds a difference is real where no run
    of one side comes near the other side's. Nothing is called real with fewer than 3 runs a side.
    Source: no publication, but repetitions of equal runs on one machine, from which the rules were read off.
    Raises ValueError for a side without runs.
    """
    if not first or not second:
        raise ValueError("a latency needs at least one run a side")
    a, b = median(first), median(second)
    verdict, reason = _verdict(first, second, abs(b - a), ratio)
    return LatencyDifference(a, b, b - a, len(first), len(second), verdict, reason)


def _verdict(
    first: Sequence[float], second: Sequence[float], size: float, ratio: bool
) -> tuple[Literal["noise", "real", "undecided"], str]:
    if ratio and size < RTF_NOISE:
        return "noise", f"below {RTF_NOISE}"
    if min(len(first), len(second)) < LEAST_RUNS:
        return "undecided", f"fewer than {LEAST_RUNS} runs a side"
    if ratio:
        if size > RTF_REAL:
            return "real", f"above {RTF_REAL}"
        return "undecided", f"between {RTF_NOISE} and {RTF_REAL}"
    if max(first) < min(second) or max(second) < min(first):
        return "real", "no run of one side reaches the other's"
    return "noise", "the sides' runs overlap"
