"""Deciding a fraction of a finite data set before all of it was asked, with a bounded chance of error."""

from __future__ import annotations

from typing import Any, Literal

# Bets as fractions of the largest that cannot lose everything; their mean is a test that suits any distance.
_BETS = (0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95)
_STEPS = 30
# Of one side: that of the usual 95 % interval.
ERROR = 0.025


def sequential_side(
    right: Any, counted: Any, sizes: Any, line: float, *, error: float = ERROR
) -> Literal["above", "below"] | None:
    """On which side of a line sum(right) / sum(counted) over all N clusters surely lies; None while open.

    right, counted: arrays of shape (t,), the right and the counted questions of the first t clusters, in an
    order that was drawn uniformly among all orders before any was asked. sizes: shape (N,), how many
    questions each cluster has, in that order; counted <= sizes, and less where failures do not count. line:
    in 0..1. error: the largest chance of a wrong answer, over all the moments at which one may look
    together. What was once sure stays so: the answer is that of the first moment at which there was one.

    With K = max(sizes), x = (right - line * counted) / K + line lies in [0, 1], and its mean over all
    clusters exceeds the line just where the fraction does, however large each cluster is and whatever its
    questions have in common. That mean is tested by betting without replacement: the capital is a product
    of 1 + bet * (x / m - 1), with m the mean that the clusters not yet seen would have if the mean of all
    were the line. It is a supermartingale under the hypothesis, so by Ville's inequality it reaches 1 /
    error with at most the chance `error`. Besides, the line is decided for certain where the questions not
    yet seen could not change it.

    Source: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B
    86 (2024): betting without replacement, with the mean of the capitals of several bets. Raises ValueError
    where the shapes or values do not fit.
    """
    right, counted, sizes = _checked(right, counted, sizes)
    if not 0 <= line <= 1 or not 0 < error < 1:
        raise ValueError(f"expected a line and an error in 0..1, found {line} and {error}")
    above = _surely_above(right, counted, sizes, line, error)
    below = _surely_above(counted - right, counted, sizes, 1 - line, error)
    if above is None and below is None:
        return None
    return "above" if below is None or (above is not None and above < below) else "below"


def sequential_interval(right: Any, counted: Any, sizes: Any, *, error: float = ERROR) -> tuple[float, float]:
    """The confidence sequence of that fraction after the clusters seen: the lines on neither side of which it
    surely lies. It covers the fraction at all moments together with a chance of 1 - 2 * error.

    Arguments and source as for `sequential_side`.
    """
    right, counted, sizes = _checked(right, counted, sizes)
    low = _largest_line_below(right, counted, sizes, error)
    high = 1 - _largest_line_below(counted - right, counted, sizes, error)
    return min(low, high), max(low, high)


def _checked(right: Any, counted: Any, sizes: Any) -> tuple[Any, Any, Any]:
    import numpy as np

    right, counted, sizes = (np.asarray(values, dtype=float) for values in (right, counted, sizes))
    if not len(right) == len(counted) <= len(sizes):
        raise ValueError("expected as many right as counted values, and no more than there are clusters")
    if np.any(right < 0) or np.any(right > counted) or np.any(counted > sizes[: len(counted)]):
        raise ValueError("expected 0 <= right <= counted <= size in every cluster")
    return right, counted, sizes


def _surely_above(right: Any, counted: Any, sizes: Any, line: float, error: float) -> int | None:
    """After how many clusters the fraction is surely above the line."""
    import numpy as np

    if not len(right):
        return None
    largest, clusters = float(sizes.max()), len(sizes)
    if not largest:
        return None
    gains = right - line * counted
    unseen = sizes.sum() - np.cumsum(sizes[: len(right)])
    certain = np.cumsum(gains) - line * unseen > 1e-9
    values = gains / largest + line
    before = np.cumsum(values) - values
    means = (clusters * line - before) / (clusters - np.arange(len(values)))
    # A mean of 0 leaves nothing to bet on: any gain that remains is then seen by `certain`.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(means > 1e-12, values / means, 1.0)
    capital = np.cumsum(np.log1p(np.outer(_BETS, ratios - 1)), axis=1)
    peak = capital.max(axis=0)
    wealth = peak + np.log(np.exp(capital - peak).mean(axis=0))
    sure = certain | (wealth >= -np.log(error))
    return int(np.argmax(sure)) + 1 if sure.any() else None


def _largest_line_below(right: Any, counted: Any, sizes: Any, error: float) -> float:
    """The largest line that the fraction surely lies above, by bisection; 0 where there is none."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _surely_above(right, counted, sizes, middle, error) is None:
            high = middle
        else:
            low = middle
    return low
