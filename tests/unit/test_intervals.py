"""Intervals agree with the formula and with a published example."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.stats import wilson_interval

Z = 1.959963984540054


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_it_is_the_wilson_score_interval(counts: tuple[int, int]) -> None:
    k, n = counts
    p = k / n
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    assert wilson_interval(k, n) == pytest.approx((max(0, centre - half), min(1, centre + half)), abs=1e-9)


@pytest.mark.parametrize("n", [1, 3, 10, 25, 49, 1197])
def test_an_interval_holds_its_value_and_ends_at_none_and_all(n: int) -> None:
    nothing, everything = wilson_interval(0, n), wilson_interval(n, n)
    assert nothing is not None and nothing[0] == 0
    assert everything is not None and everything[1] == 1


def test_a_published_example() -> None:
    # Newcombe (1998), table I: 81 of 263, Wilson without continuity correction.
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_no_trials_have_no_interval_and_impossible_counts_are_refused() -> None:
    assert wilson_interval(0, 0) is None
    for k, n in ((1, 0), (-1, 5), (6, 5)):
        with pytest.raises(ValueError, match="successes"):
            wilson_interval(k, n)
