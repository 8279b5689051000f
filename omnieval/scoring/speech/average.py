"""The word error rate of a set: the official mean, and what stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnieval.scoring.speech.wer import WordErrors
from omnieval.stats import mean_interval

_HALF = 0.5


@dataclass(frozen=True, slots=True)
class WerAverage:
    """official_percent: mean over utterances, in percent, rounded to 3 digits as the official script does.
    below_50_percent: the mean of those at or below one half; above_50: how many are above. corpus_percent:
    all errors over all words. low, high: 95 % bootstrap interval of the mean over utterances, in percent.
    utterances: the denominator of the mean. Values are None where there is no utterance."""

    utterances: int
    official_percent: float | None
    below_50_percent: float | None
    above_50: int
    corpus_percent: float | None
    low: float | None
    high: float | None


def average_wer(
    utterances: Sequence[WordErrors], clusters: Sequence[str] | None = None, *, seed: int = 0
) -> WerAverage:
    """Averages over scored utterances. clusters: the reference voice of each, where the interval is to allow
    for utterances that share one. seed: of the bootstrap."""
    rates = [errors.wer for errors in utterances]
    words = sum(errors.words for errors in utterances)
    low, high = mean_interval(rates, clusters, seed=seed)
    return WerAverage(
        utterances=len(rates),
        official_percent=official_percent(rates),
        below_50_percent=official_percent([rate for rate in rates if rate <= _HALF]),
        above_50=sum(rate > _HALF for rate in rates),
        corpus_percent=100 * sum(errors.errors for errors in utterances) / words if words else None,
        low=None if low is None else 100 * low,
        high=None if high is None else 100 * high,
    )


def official_percent(rates: Sequence[float]) -> float | None:
    """The unweighted mean in percent, rounded to 3 digits; None for no rates."""
    import numpy as np

    return round(float(np.mean(rates)) * 100, 3) if len(rates) else None
