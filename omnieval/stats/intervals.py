"""Confidence intervals of a proportion of independent trials."""

from __future__ import annotations

from omnieval.stats.clustered import wilson
from omnieval.stats.distributions import beta_quantile, normal_quantile


def wilson_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of successes/trials, as fractions; None when there are no trials.

    It takes the trials as independent; for questions that share a video see `clustered_fraction`. Neither
    end leaves 0..1, and no successes, or nothing else, still give an interval of some width.
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
    (1927).
    Raises ValueError when successes lies outside 0..trials.
    """
    _check(successes, trials)
    if trials == 0:
        return None
    return wilson(successes / trials, trials, normal_quantile(0.5 + confidence / 2))


def exact_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Clopper-Pearson interval of successes/trials, as fractions; None when there are no trials.

    It never covers less than `confidence`, and is wider than Wilson's for it. The lower end is 0 for no
    successes, the upper end 1 for nothing else.
    Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 26 (1934), by quantiles of the beta distribution.
    Raises ValueError when successes lies outside 0..trials.
    """
    _check(successes, trials)
    if trials == 0:
        return None
    below, failures = 0.5 - confidence / 2, trials - successes
    low = beta_quantile(below, successes, failures + 1) if successes else 0.0
    high = beta_quantile(1 - below, successes + 1, failures) if failures else 1.0
    return low, high


def _check(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0..trials, found {successes} of {trials}")
