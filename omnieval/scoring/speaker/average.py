"""The mean similarity of a set, tied to the encoder that measured it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnieval.errors import ScoringError
from omnieval.stats import mean_interval


@dataclass(frozen=True, slots=True)
class SimilarityAverage:
    """encoder: whose cosines these are. mean: over `utterances`, unweighted, as the official script takes it.
    low, high: 95 % bootstrap interval over utterances, None where `mean_interval` gives none."""

    encoder: str
    utterances: int
    mean: float
    low: float | None
    high: float | None

    def minus(self, other: SimilarityAverage) -> float:
        """The difference of two means. Raises ScoringError where the encoders differ: their cosines lie on
        different scales."""
        if self.encoder != other.encoder:
            raise ScoringError(
                f"similarities by {self.encoder} and by {other.encoder} cannot be compared; score both runs "
                "with one encoder"
            )
        return self.mean - other.mean


def average_similarity(
    encoder: str, cosines: Sequence[float], clusters: Sequence[str] | None = None, *, seed: int = 0
) -> SimilarityAverage | None:
    """The mean of cosines by one encoder; None for none. clusters: the reference voice of each, where the
    interval is to allow for utterances that share one. seed: of the bootstrap."""
    if not cosines:
        return None
    low, high = mean_interval(cosines, clusters, seed=seed)
    return SimilarityAverage(encoder, len(cosines), sum(cosines) / len(cosines), low, high)
