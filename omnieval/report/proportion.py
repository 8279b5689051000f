"""A count of a total with its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from omnieval.stats import ClusteredFraction, clustered_fraction, wilson_interval


@dataclass(frozen=True, slots=True)
class Proportion:
    """correct of total; value, low and high are None for a total of 0.

    low, high: the 95 % Wilson interval, which takes all as independent. clustered: the one that does not,
    where some share a video (see `omnieval.stats.clustered_fraction`).
    """

    correct: int
    total: int
    value: float | None
    low: float | None
    high: float | None
    clustered: ClusteredFraction | None = None

    @classmethod
    def of(cls, correct: int, total: int) -> Proportion:
        interval = wilson_interval(correct, total)
        if interval is None:
            return cls(correct, total, None, None, None)
        return cls(correct, total, correct / total, *interval)

    @classmethod
    def over(cls, outcomes: Sequence[bool], clusters: Sequence[str]) -> Proportion:
        """Of single outcomes and what each shares with others."""
        counted = cls.of(sum(outcomes), len(outcomes))
        if len(set(clusters)) == len(clusters):
            return counted
        return replace(counted, clustered=clustered_fraction(outcomes, clusters))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The one to go by: clustered where anything is shared, else Wilson's; None for a total of 0."""
        if self.clustered is not None:
            return self.clustered.low, self.clustered.high
        return None if self.low is None or self.high is None else (self.low, self.high)
