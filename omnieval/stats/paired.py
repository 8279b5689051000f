"""Two runs over the same questions: did right answers become more or fewer?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from omnieval.stats.clustered import clustered_mean, spread
from omnieval.stats.clusters import cluster_sums
from omnieval.stats.distributions import fair_binomial, fair_binomial_below


@dataclass(frozen=True, slots=True)
class PairedFraction:
    """Second minus first, over `count` questions in `clusters` clusters; fractions, not percent.

    gained: wrong to right; lost: right to wrong. standard_error: clustered, None for fewer than two clusters.
    low, high: 95 % interval. p_value: exact, of clusters that had no reason to favour either run.
    mcnemar: the exact p-value that takes questions as independent.
    """

    count: int
    clusters: int
    gained: int
    lost: int
    difference: float
    standard_error: float | None
    low: float
    high: float
    p_value: float
    mcnemar: float


def paired_fraction(
    first: Sequence[bool],
    second: Sequence[bool],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> PairedFraction | None:
    """Compare the fractions of right answers of two runs, question by question; None for no questions.

    first, second: n outcomes each. clusters: n labels of what questions share, or None.
    The interval is the clustered t interval of the differences (E. Miller, "Adding Error Bars to Evals",
    2024) with a cluster of gained and one of lost questions added. Each is of one question where the changes
    of a cluster have nothing to do with each other: what D. G. Bonett and R. M. Price, "Adjusted Wald
    confidence interval for a difference of binomial proportions based on paired data" (2012), do without
    clusters. It is of as many questions as clusters raise the variance by, and of a usual cluster where they
    cannot tell: for a single cluster, and where all questions change alike. So neither runs that agree
    everywhere nor a few videos that flip whole are taken for certain. The p-value is that of
    `sign_flip_exact`.
    Raises ValueError when the lengths differ.
    """
    import numpy as np

    if len(first) != len(second):
        raise ValueError(f"pairs need equal lengths, found {len(first)} and {len(second)}")
    if not len(first):
        return None
    change = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    plain = clustered_mean(change.tolist(), clusters)
    assert plain is not None
    sums, counts = cluster_sums(change, clusters)
    low, high = _interval(change, sums, counts, plain.standard_error, confidence)
    gained, lost = int((change > 0).sum()), int((change < 0).sum())
    return PairedFraction(
        count=len(change),
        clusters=plain.clusters,
        gained=gained,
        lost=lost,
        difference=plain.mean,
        standard_error=plain.standard_error,
        low=low,
        high=high,
        p_value=sign_flip_exact([round(float(value)) for value in sums]),
        mcnemar=mcnemar_exact(gained, lost),
    )


def _interval(
    change: Any, sums: Any, counts: Any, error: float | None, confidence: float
) -> tuple[float, float]:
    """error: the clustered standard error of the mean change, None for a single cluster."""
    import numpy as np

    total = len(change)
    added = total / len(sums)
    alone = float(change.var()) / (total - 1) if total > 1 else 0.0
    if error is not None and alone:
        added = min(added, max(1.0, error**2 / alone))
    mean = float(change.sum()) / (total + 2 * added)
    deviations = np.append(sums - mean * counts, [added * (1 - mean), added * (-1 - mean)])
    _, half = spread(deviations, total + 2 * added, confidence)
    return max(-1.0, mean - half), min(1.0, mean + half)


def mcnemar_exact(gained: int, lost: int) -> float:
    """Two-sided exact p-value that changes go either way equally often; 1 where nothing changed.

    Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12 (1947), with binomial instead of normal tails.
    """
    if gained + lost == 0:
        return 1.0
    return min(1.0, 2 * fair_binomial_below(min(gained, lost), gained + lost))


def sign_flip_exact(sums: Sequence[int]) -> float:
    """Two-sided exact p-value of a total whose summands might as well have had the other sign.

    sums: gained minus lost questions of each cluster. Where every cluster changes by one question at most it
    equals `mcnemar_exact`; questions of one cluster may depend on each other in any way. 1 where nothing
    changed.
    Source: the randomisation test of R. A. Fisher, "The Design of Experiments" (1935), with
    clusters flipped whole (I. A. Canay, J. P. Romano and A. M. Shaikh, "Randomization Tests under an
    Approximate Symmetry Assumption", 2017); its distribution is computed in full.
    """
    import numpy as np

    sizes, numbers = np.unique(np.abs([value for value in sums if value]), return_counts=True)
    # The distribution of the sum of positive parts; it is symmetric about half the sum of all sizes.
    chances = np.ones(1)
    for size, number in zip(sizes.astype(int), numbers, strict=True):
        summed = np.zeros(len(chances) + size * number)
        for positive, chance in enumerate(fair_binomial(int(number))):
            summed[size * positive :][: len(chances)] += chance * chances
        chances = summed
    whole, total = len(chances) - 1, abs(sum(sums))
    tail = chances[: (whole - total) // 2 + 1].sum()
    return float(min(1.0, max(0.0, 2 * tail)))
