"""Confidence intervals of a proportion of independent trials."""

from __future__ import annotations

from typing import Literal


def wilson_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of successes/trials, as fractions; None when there are no trials.

    It takes the trials as independent; for questions that share a video see `clustered_fraction`. Neither
    end leaves 0..1, and no successes, or nothing else, still give an interval of some width.
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
    (1927), as computed by `scipy.stats.binomtest`.
    Raises ValueError when successes lies outside 0..trials.
    """
    return _interval(successes, trials, confidence, "wilson")


def exact_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Clopper-Pearson interval of successes/trials, as fractions; None when there are no trials.

    It never covers less than `confidence`, and is wider than Wilson's for it. The lower end is 0 for no
    successes, the upper end 1 for nothing else.
    Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 26 (1934), as computed by `scipy.stats.binomtest`.
    Raises ValueError when successes lies outside 0..trials.
    """
    return _interval(successes, trials, confidence, "exact")


def _interval(
    successes: int, trials: int, confidence: float, method: Literal["wilson", "exact"]
) -> tuple[float, float] | None:
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0..trials, found {successes} of {trials}")
    if trials == 0:
        return None
    from scipy.stats import binomtest

    interval = binomtest(successes, trials).proportion_ci(confidence_level=confidence, method=method)
    return float(interval.low), float(interval.high)
