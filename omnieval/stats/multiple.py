"""Several comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, each raised so that all may be judged at one level, in their own order; [] for none.

    One p-value stays as it is. Source: S. Holm, "A simple sequentially rejective multiple test procedure",
    Scandinavian Journal of Statistics 6 (1979); it holds however the comparisons depend on each other.
    """
    count = len(p_values)
    adjusted = [0.0] * count
    least = 0.0
    for rank, position in enumerate(sorted(range(count), key=p_values.__getitem__)):
        least = max(least, min(1.0, (count - rank) * p_values[position]))
        adjusted[position] = least
    return adjusted
