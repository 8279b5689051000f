"""Sums over clusters: samples that share a video or a speaker."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any


def cluster_sums(values: Any, clusters: Sequence[Hashable] | None) -> tuple[Any, Any]:
    """(sum of the values of each cluster, number of values in each), as arrays in order of first occurrence.

    values: array of shape (n,). clusters: n labels, or None where every value stands alone.
    Raises ValueError when the lengths differ.
    """
    import numpy as np

    if clusters is None:
        return values, np.ones(len(values))
    if len(clusters) != len(values):
        raise ValueError(f"one cluster a value: found {len(clusters)} clusters for {len(values)} values")
    numbers: dict[Hashable, int] = {}
    for label in clusters:
        numbers.setdefault(label, len(numbers))
    codes = np.fromiter(map(numbers.__getitem__, clusters), int, len(values))
    return np.bincount(codes, weights=values, minlength=1), np.bincount(codes, minlength=1)
