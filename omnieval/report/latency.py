"""How long answers took, over the samples that have each figure: what is missing is missing, not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from omnieval.types import Response, Timing


@dataclass(frozen=True, slots=True)
class Distribution:
    """Over `count` values; seconds, but for RTF, which is a ratio. median is the 50th percentile."""

    count: int
    mean: float
    median: float
    p90: float
    p95: float
    p99: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Distribution:
        """Of at least one value; percentiles are interpolated."""
        import numpy as np

        median, p90, p95, p99 = (float(value) for value in np.percentile(values, [50, 90, 95, 99]))
        return cls(len(values), float(np.mean(values)), median, p90, p95, p99)


# The figures in reading order; definitions in `omnieval.types.Timing`.
FIGURES: Mapping[str, Callable[[Timing], Iterable[float | None]]] = {
    "ttft_s": lambda timing: [timing.ttft_s],
    "ttfp_s": lambda timing: [timing.ttfp_s],
    "itl_s": lambda timing: timing.itl_s,
    "tpot_s": lambda timing: [timing.tpot_s],
    "e2e_s": lambda timing: [timing.e2e_s],
    "rtf": lambda timing: [timing.rtf],
}
# What a report calls them.
LABELS: Mapping[str, str] = {
    "ttft_s": "TTFT (s)",
    "ttfp_s": "TTFP (s)",
    "itl_s": "ITL (s)",
    "tpot_s": "TPOT (s)",
    "e2e_s": "E2EL (s)",
    "rtf": "RTF",
    "audio_s": "audio (s)",
}


def latency(timings: Iterable[Timing]) -> dict[str, Distribution]:
    """The distribution of every figure that any of the timings has."""
    known = list(timings)
    figures = {}
    for name, figure in FIGURES.items():
        values = [value for timing in known for value in figure(timing) if value is not None]
        if values:
            figures[name] = Distribution.of(values)
    return figures


def answered_latency(responses: Iterable[Response]) -> dict[str, Distribution]:
    """`latency` of the tries that gave an answer, and how long their sounds are."""
    answered = [response for response in responses if response.answered]
    figures = latency(response.timing for response in answered)
    durations = [r.audio.duration_s for r in answered if r.audio is not None and r.audio.frames]
    return figures | ({"audio_s": Distribution.of(durations)} if durations else {})
