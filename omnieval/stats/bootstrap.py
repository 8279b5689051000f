"""Intervals by drawing again from what was measured."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from omnieval.stats.clusters import cluster_sums

_ROUNDS = 2_000
_DRAWN_AT_ONCE = 200_000


@dataclass(frozen=True, slots=True)
class BootstrapDifference:
    """The mean of second - first over `count` pairs in `clusters` clusters. low, high, p_value: None for
    fewer than two clusters."""

    count: int
    clusters: int
    mean: float
    low: float | None
    high: float | None
    p_value: float | None


def mean_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, seed: int = 0
) -> tuple[float | None, float | None]:
    """The 95 % percentile bootstrap interval of a mean (Efron 1979); (None, None) for fewer than 2 values.

    clusters: labels of what values share, one a value; whole clusters are then drawn (A. C. Davison and
    D. V. Hinkley, "Bootstrap Methods and their Application", 1997), and fewer than 2 of them
    give no interval. None: every value stands alone. Equal values give an interval of no width.
    """
    import numpy as np

    sums, counts = cluster_sums(np.asarray(values, dtype=float), clusters)
    if len(values) < 2 or len(sums) < 2:
        return None, None
    low, high = np.percentile(_means(sums, counts, seed), [2.5, 97.5])
    return float(low), float(high)


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> BootstrapDifference | None:
    """The mean of second - first over the same samples, with a 95 % percentile interval; None for no samples.

    first, second: n figures each (word error rates, cosines), sample by sample. clusters: n labels, as for
    `mean_interval`. The p-value is twice the smaller share of drawn means on either side of 0, counting the
    measured one (B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993; the
    addition of one after Davison and Hinkley). Pairs that do not differ give 0, no width, and a
    p-value of 1.
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
    if len(sums) < 2:
        return BootstrapDifference(len(differences), len(sums), mean, None, None, None)
    means = _means(sums, counts, seed)
    low, high = np.percentile(means, [2.5, 97.5])
    beyond = 1 + min(int((means <= 0).sum()), int((means >= 0).sum()))
    p_value = min(1.0, 2 * beyond / (_ROUNDS + 1))
    return BootstrapDifference(len(differences), len(sums), mean, float(low), float(high), p_value)


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
