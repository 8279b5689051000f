"""How many questions it takes to see a difference, and how large a difference a comparison could see."""

from __future__ import annotations

import math

from omnieval.stats.distributions import normal_quantile


def samples_to_see(
    points: float,
    baseline: float,
    *,
    power: float = 0.8,
    significance: float = 0.05,
    design_effect: float = 1.0,
) -> int:
    """Questions a run, for two runs over different questions, to see a change of `points` percentage points.

    baseline: the first run's accuracy as a fraction. power: the chance to see the change where it is there.
    significance: of the two-sided test. design_effect: by how much clusters raise the variance (the number of
    questions over `ClusteredFraction.effective`).
    Source: J. L. Fleiss, "Statistical Methods for Rates and Proportions" (1981), chapter 3, without
    correction for continuity.
    Raises ValueError where either accuracy lies outside 0..1, for no change at all, or for a power or
    significance that no test has.
    """
    _check(power, significance, design_effect)
    other = baseline + points / 100
    if points == 0 or not (0 <= baseline <= 1 and 0 <= other <= 1):
        raise ValueError(
            f"expected two different accuracies in 0..1, found {baseline} and {other} ({points} points apart)"
        )
    mean = (baseline + other) / 2
    by_chance = normal_quantile(1 - significance / 2) * math.sqrt(2 * mean * (1 - mean))
    for_sure = normal_quantile(power) * math.sqrt(baseline * (1 - baseline) + other * (1 - other))
    return math.ceil(design_effect * ((by_chance + for_sure) / (points / 100)) ** 2)


def paired_samples_to_see(
    points: float,
    flips: float,
    *,
    power: float = 0.8,
    significance: float = 0.05,
    design_effect: float = 1.0,
) -> int:
    """Questions, asked of both runs, to see a change of `points` percentage points.

    flips: the fraction of questions that one run answers rightly and the other wrongly. The other arguments
    are those of `samples_to_see`.
    Source: R. J. Connor, "Sample size for testing differences in proportions for the paired-sample design",
    Biometrics 43 (1987).
    Raises ValueError where so few flips cannot make such a change, and as `samples_to_see`.
    """
    _check(power, significance, design_effect)
    change = points / 100
    if change == 0 or not abs(change) <= flips <= 1:
        raise ValueError(
            f"expected a fraction of flips from the change itself to 1, found {flips} for {points} points"
        )
    by_chance = normal_quantile(1 - significance / 2) * math.sqrt(flips)
    for_sure = normal_quantile(power) * math.sqrt(flips - change**2)
    return math.ceil(design_effect * ((by_chance + for_sure) / change) ** 2)


def visible_difference(standard_error: float, *, power: float = 0.8, significance: float = 0.05) -> float:
    """The smallest difference that a comparison of this standard error sees with this power, in its unit.

    Source: E. Miller, "Adding Error Bars to Evals" (2024). An error of 0 gives 0.
    """
    return (normal_quantile(1 - significance / 2) + normal_quantile(power)) * standard_error


def _check(power: float, significance: float, design_effect: float) -> None:
    if not (0 < power < 1 and 0 < significance < 1 and 0 < design_effect < math.inf):
        raise ValueError(
            "expected a power and a significance between 0 and 1 and a positive design effect, "
            f"found {power}, {significance} and {design_effect}"
        )
