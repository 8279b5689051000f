"""Intervals by drawing again from what was measured."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from omnieval.stats.clusters import cluster_sums
from omnieval.stats.distributions import normal_probability, t_quantile

# Fewer than these say too little of the others: by simulation, an interval of 5 cosines covers 90 %.
LEAST_CLUSTERS = 10
_ROUNDS = 2_000
_DRAWN_AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class BootstrapDifference:
    """The mean of second - first over `count` pairs in `clusters` clusters. low, high: None for fewer than 10
    clusters, and where all pairs differ alike. p_value: None for fewer than 10 clusters."""

    count: int
    clusters: int
    mean: float
    low: float | None
    high: float | None
    p_value: float | None


def mean_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, seed: int = 0
) -> tuple[float | None, float | None]:
    """The 95 % bootstrap interval of a mean, whose percentiles are moved by the skewness of the values
    (B. Efron, "Better Bootstrap Confidence Intervals", 1987, with the acceleration and the bias of a mean)
    and widened as few clusters ask for (T. C. Hesterberg, "What Teachers Should Know About the Bootstrap",
    2015).

    clusters: labels of what values share, one a value; whole clusters are then drawn (A. C. Davison and
    D. V. Hinkley, "Bootstrap Methods and their Application", 1997). None: every value stands alone.
    (None, None) for fewer than 10 clusters, and for equal values, which do not tell how others may differ.
    By simulation it covers 95 % for cosines from 10 values on, and for word error rates that are nearly all
    0 some 92 % with 50 values and 95 % with 1,000; less where what is too rare to be seen makes up much of
    the mean.
    """
    import numpy as np

    array = np.asarray(values, dtype=float)
    sums, counts = cluster_sums(array, clusters)
    if len(sums) < LEAST_CLUSTERS or (array == array[0]).all():
        return None, None
    return _ends(sums, counts, _means(sums, counts, seed))


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> BootstrapDifference | None:
    """The mean of second - first over the same samples, with its 95 % interval; None for no samples.

    first, second: n figures each (word error rates, cosines), sample by sample. clusters and the interval are
    as for `mean_interval`. The p-value is twice the smaller share of drawn means on either side of 0,
    counting the measured one (B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993; the
    addition of one after Davison and Hinkley). Pairs that do not differ give a p-value of 1.
    Raises ValueError when the lengths differ.
    """
    import numpy as np

    if len(first) != len(second):
        raise ValueError(f"pairs need equal lengths, found {len(first)} and {len(second)}")
    if not len(first):
        return None
    differences = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    sums, counts = cluster_sums(differences, clusters)
    mean = float(differences.mean())
    if len(sums) < LEAST_CLUSTERS:
        return BootstrapDifference(len(differences), len(sums), mean, None, None, None)
    means = _means(sums, counts, seed)
    alike = bool((differences == differences[0]).all())
    low, high = (None, None) if alike else _ends(sums, counts, means)
    beyond = 1 + min(int((means <= 0).sum()), int((means >= 0).sum()))
    p_value = min(1.0, 2 * beyond / (_ROUNDS + 1))
    return BootstrapDifference(len(differences), len(sums), mean, low, high, p_value)


def _ends(sums: Any, counts: Any, means: Any) -> tuple[float, float]:
    """Where 95 % of the drawn means lie, widened by what the quantile of t and the bias of a drawn variance
    add for so many clusters, and moved towards the side of rare, large values."""
    import numpy as np

    clusters = len(sums)
    deviations = sums - counts * sums.sum() / counts.sum()
    length = math.sqrt(float((deviations**2).sum()))
    skew = float(((deviations / length) ** 3).sum()) / 6 if length else 0.0
    widened = math.sqrt(clusters / (clusters - 1)) * t_quantile(0.975, clusters - 1)
    moved = ((skew + end) / (1 - skew * (skew + end)) + skew for end in (-widened, widened))
    low, high = np.percentile(means, [100 * normal_probability(end) for end in moved])
    return float(low), float(high)


def _means(sums: Any, counts: Any, seed: int) -> Any:
    """The mean of every round: as many clusters as there are, drawn with replacement."""
    import numpy as np

    random = np.random.default_rng(seed)
    clusters = len(sums)
    equal = bool((counts == counts[0]).all())
    means = np.empty(_ROUNDS)
    at_once = max(1, _DRAWN_AT_ONCE // clusters)
    for start in range(0, _ROUNDS, at_once):
        part = means[start : start + at_once]
        drawn = random.integers(0, clusters, (len(part), clusters))
        part[:] = sums[drawn].sum(axis=1) / (clusters * counts[0] if equal else counts[drawn].sum(axis=1))
    return means
