"""How sure a mean is when samples come in clusters, as questions about one video do."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from omnieval.stats.clusters import cluster_sums
from omnieval.stats.distributions import normal_quantile, t_quantile


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """A mean of `count` values in `clusters` clusters. standard_error, low, high: None for fewer than two
    clusters, since nothing then says how clusters differ."""

    count: int
    clusters: int
    mean: float
    standard_error: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ClusteredFraction:
    """The interval of a fraction over clustered trials. standard_error: None for fewer than two clusters.
    effective: how many independent trials would tell as much."""

    clusters: int
    standard_error: float | None
    effective: float
    low: float
    high: float


def clustered_mean(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, confidence: float = 0.95
) -> ClusteredMean | None:
    """The mean with its cluster-robust standard error and t interval; None for no values.

    values: n numbers. clusters: n labels; None where every value stands alone.
    The error is sqrt(G/(G-1) * sum over clusters of (sum of deviations)^2) / n for G clusters: that of
    E. Miller, "Adding Error Bars to Evals" (2024), with the usual correction for finitely many clusters; the
    interval takes G - 1 degrees of freedom (A. C. Cameron and D. L. Miller, "A Practitioner's Guide to
    Cluster-Robust Inference", 2015). Equal values give an error of 0: for fractions near 0 or 1 use
    `clustered_fraction`.
    """
    import numpy as np

    if not len(values):
        return None
    array = np.asarray(values, dtype=float)
    mean = float(array.mean())
    sums, _ = cluster_sums(array - mean, clusters)
    if len(sums) < 2:
        return ClusteredMean(len(array), len(sums), mean, None, None, None)
    error, half = spread(sums, len(array), confidence)
    return ClusteredMean(len(array), len(sums), mean, error, mean - half, mean + half)


def spread(deviations: Any, count: float, confidence: float) -> tuple[float, float]:
    """(standard error, half the width of the interval) of a mean over `count` values; see `clustered_mean`.

    deviations: array of shape (G,), G > 1: the sum of the deviations from the mean in each cluster.
    """
    groups = len(deviations)
    error = math.sqrt(groups / (groups - 1) * float((deviations**2).sum())) / count
    return error, t_quantile(0.5 + confidence / 2, groups - 1) * error


def clustered_fraction(
    outcomes: Sequence[bool], clusters: Sequence[Hashable], confidence: float = 0.95
) -> ClusteredFraction | None:
    """Wilson's interval of a fraction at the effective number of trials; None for no trials.

    outcomes: n trials. clusters: n labels.
    The effective number is n / (variance of `clustered_mean` / variance of independent trials), never more
    than n, less what few clusters leave unsure (the squared ratio of the normal to the t quantile), as
    E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data" (1998), do it for the exact interval, and N. Dean and
    M. Pagano (2015) for Wilson's.
    All outcomes alike tell nothing of how clusters differ: each cluster then counts as one trial, and so does
    a single cluster.
    """
    mean = clustered_mean([float(outcome) for outcome in outcomes], clusters, confidence)
    if mean is None:
        return None
    fraction, count, z = mean.mean, mean.count, normal_quantile(0.5 + confidence / 2)
    effective = float(mean.clusters)
    if mean.standard_error is not None and 0 < fraction < 1:
        independent, found = fraction * (1 - fraction) / (count - 1), mean.standard_error**2
        effective = count * min(1.0, independent / found) if found else float(count)
        effective *= (z / t_quantile(0.5 + confidence / 2, mean.clusters - 1)) ** 2
    low, high = wilson(fraction, effective, z)
    return ClusteredFraction(mean.clusters, mean.standard_error, effective, low, high)


def wilson(fraction: float, trials: float, z: float) -> tuple[float, float]:
    """Wilson's interval for a number of trials that need not be whole; it holds the fraction, also where
    rounding would leave 0 or 1 just outside."""
    centre = fraction + z**2 / (2 * trials)
    half = z * math.sqrt(fraction * (1 - fraction) / trials + z**2 / (4 * trials**2))
    scale = 1 + z**2 / trials
    return min(fraction, max(0.0, (centre - half) / scale)), max(fraction, min(1.0, (centre + half) / scale))
