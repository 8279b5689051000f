"""Intervals by drawing again from what was measured."""

from __future__ import annotations

from collections.abc import Sequence

_ROUNDS = 2_000


def mean_interval(values: Sequence[float], *, seed: int = 0) -> tuple[float | None, float | None]:
    """The 95 % percentile bootstrap interval of a mean (Efron 1979); (None, None) for fewer than 2 values."""
    import numpy as np

    if len(values) < 2:
        return None, None
    array = np.asarray(values, dtype=float)
    random = np.random.default_rng(seed)
    means = [array[random.integers(0, len(array), len(array))].mean() for _ in range(_ROUNDS)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
