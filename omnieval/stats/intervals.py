"""Confidence intervals of a proportion."""

from __future__ import annotations


def wilson_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of successes/trials, as fractions; None when there are no trials.

    It takes the trials as independent; questions about one video are not quite, so the true interval
    is somewhat wider. Source: E. B. Wilson, "Probable inference, the law of succession, and statistical
    inference", JASA 22 (1927), as computed by `scipy.stats.binomtest`.
    Raises ValueError when successes lies outside 0..trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0..trials, found {successes} of {trials}")
    if trials == 0:
        return None
    from scipy.stats import binomtest

    interval = binomtest(successes, trials).proportion_ci(confidence_level=confidence, method="wilson")
    return float(interval.low), float(interval.high)
