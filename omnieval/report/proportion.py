"""A count of a total with its interval."""

from __future__ import annotations

from dataclasses import dataclass

from omnieval.stats import wilson_interval


@dataclass(frozen=True, slots=True)
class Proportion:
    """correct of total, with its 95 % Wilson interval; value, low and high are None for a total of 0."""

    correct: int
    total: int
    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, correct: int, total: int) -> Proportion:
        interval = wilson_interval(correct, total)
        if interval is None:
            return cls(correct, total, None, None, None)
        return cls(correct, total, correct / total, *interval)
