"""What the deployment was doing at a moment of a run, as far as its answers tell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal

from omnieval.types import Timing

Phase = Literal["decode", "prefill", "answer", "idle"]
PHASES: tuple[Phase, ...] = ("decode", "prefill", "answer", "idle")


class Phases:
    """decode: at least one answer was between its first token (or sound) and its end. prefill: none was, but
    a request waited for its first token. answer: requests were out of which that is not known, since their
    answers came as a whole. idle: no request was out."""

    def __init__(self, timings: Iterable[Timing]) -> None:
        spans: dict[Phase, list[tuple[float, float]]] = {"decode": [], "prefill": [], "answer": []}
        for timing in timings:
            if timing.started is None or timing.e2e_s is None:
                continue
            began, end = timing.started, timing.started + timing.e2e_s
            first_s = timing.ttft_s if timing.ttft_s is not None else timing.ttfp_s
            if first_s is None:
                spans["answer"].append((began, end))
            else:
                spans["prefill"].append((began, began + first_s))
                spans["decode"].append((began + first_s, end))
        self._spans: list[tuple[Phase, list[float]]] = [
            (phase, _edges(spans[phase])) for phase in PHASES if phase in spans
        ]

    def at(self, time_s: float) -> Phase:
        """time_s: seconds since the epoch."""
        for phase, edges in self._spans:
            if bisect_right(edges, time_s) % 2:
                return phase
        return "idle"


def _edges(spans: list[tuple[float, float]]) -> list[float]:
    """Begin, end, begin, end ... of the union of spans."""
    edges: list[float] = []
    for begin, end in sorted(spans):
        if not edges or begin > edges[-1]:
            edges += [begin, end]
        else:
            edges[-1] = max(edges[-1], end)
    return edges
