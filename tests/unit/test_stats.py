"""Statistics agree with scipy, statsmodels and their formulas, and intervals cover as often as they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap, norm
from scipy.stats import t as student
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_confint

from omnieval.stats import (
    clustered_fraction,
    clustered_mean,
    exact_interval,
    holm,
    latency_difference,
    mcnemar_exact,
    mean_interval,
    paired_bootstrap,
    paired_fraction,
    paired_samples_to_see,
    samples_to_see,
    sign_flip_exact,
    visible_difference,
    wilson_interval,
)

COUNTS = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS)
def test_the_exact_interval_is_clopper_and_pearsons(counts: tuple[int, int]) -> None:
    k, n = counts
    assert exact_interval(k, n) == pytest.approx(proportion_confint(k, n, method="beta"), abs=1e-9)


def test_the_exact_interval_at_the_ends() -> None:
    # Newcombe (1998), table I: 0 of 20 and 1 of 29.
    assert exact_interval(0, 20) == pytest.approx((0.0, 0.1684), abs=5e-5)
    assert exact_interval(1, 29) == pytest.approx((0.0009, 0.1776), abs=5e-5)
    assert exact_interval(0, 0) is None


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_the_clustered_error_is_that_of_a_regression_on_nothing(groups: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    clusters = np.concatenate([np.arange(groups), random.integers(0, groups, 60)])
    values = random.normal(size=len(clusters)) + 0.5 * clusters
    found = clustered_mean(values.tolist(), clusters.tolist())
    fit = sm.OLS(values, np.ones_like(values)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": True}, use_t=True
    )
    assert found is not None
    assert found.standard_error == pytest.approx(fit.bse[0])
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]))
    assert found.clusters == groups


def test_without_clusters_the_error_is_the_usual_one() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0]
    found = clustered_mean(values)
    assert found is not None
    assert found.standard_error == pytest.approx(np.std(values, ddof=1) / math.sqrt(5))


def test_too_little_to_tell_is_said() -> None:
    assert clustered_mean([]) is None
    assert clustered_fraction([], []) is None
    assert paired_fraction([], []) is None
    assert paired_bootstrap([], []) is None
    alone = clustered_mean([1.0, 0.0], ["v", "v"])
    assert alone is not None
    assert (alone.mean, alone.standard_error, alone.low) == (0.5, None, None)
    assert mean_interval([1.0, 2.0], ["v", "v"]) == (None, None)
    with pytest.raises(ValueError, match="2 clusters for 3"):
        clustered_mean([1.0, 2.0, 3.0], ["a", "b"])


def test_a_fraction_of_unrelated_trials_is_wilsons() -> None:
    outcomes = [True] * 700 + [False] * 300
    found = clustered_fraction(outcomes, list(range(1000)))
    assert found is not None
    assert (found.low, found.high) == pytest.approx(wilson_interval(700, 1000), abs=2e-4)


def test_videos_whose_questions_are_all_alike_count_once_each() -> None:
    outcomes = [i < 70 for i in range(100) for _ in range(3)]
    found = clustered_fraction(outcomes, [i for i in range(100) for _ in range(3)])
    assert found is not None
    assert found.effective == pytest.approx(100, rel=0.04)
    assert (found.low, found.high) == pytest.approx(wilson_interval(70, 100), abs=3e-3)


@pytest.mark.parametrize("outcome", [True, False])
def test_all_right_or_all_wrong_still_has_an_interval_of_some_width(outcome: bool) -> None:
    found = clustered_fraction([outcome] * 30, [i // 3 for i in range(30)])
    assert found is not None
    assert (found.low, found.high) == pytest.approx(wilson_interval(10 * outcome, 10), abs=1e-9)


@pytest.mark.parametrize("questions", [2, 3, 10])
def test_videos_that_are_all_half_right_make_no_fewer_questions_of_them(questions: int) -> None:
    outcomes = [i % questions == 0 for i in range(30 * questions)]
    found = clustered_fraction(outcomes, [i // questions for i in range(30 * questions)])
    assert found is not None
    few = (norm.ppf(0.975) / student.ppf(0.975, 29)) ** 2
    assert found.effective == pytest.approx(30 * questions * few)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_exact(gained: int, lost: int) -> None:
    table = [[10, gained], [lost, 10]]
    assert mcnemar_exact(gained, lost) == pytest.approx(mcnemar(table, exact=True).pvalue)
    sums = [1] * gained + [-1] * lost + [0] * 5
    assert sign_flip_exact(sums) == pytest.approx(mcnemar_exact(gained, lost))


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_flipping_signs_is_counted_in_full(sums: list[int]) -> None:
    totals = [
        sum(s * v for s, v in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=len(sums))
    ]
    share = sum(abs(total) >= abs(sum(sums)) for total in totals) / len(totals)
    assert sign_flip_exact(sums) == pytest.approx(share)


def test_many_flips_keep_a_probability() -> None:
    assert 0 <= sign_flip_exact([1] * 4000 + [-2] * 3000 + [3] * 2000) < 1e-6
    assert sign_flip_exact([1] * 20000 + [-1] * 20000) == 1
    assert sign_flip_exact([1] * 20300 + [-1] * 19700) == pytest.approx(binomtest(19700, 40000).pvalue)


def test_a_paired_difference_is_bonett_and_prices_where_nothing_is_shared() -> None:
    gained, lost, n = 40, 20, 500
    first = [False] * gained + [True] * lost + [True] * (n - gained - lost)
    second = [True] * gained + [False] * lost + [True] * (n - gained - lost)
    found = paired_fraction(first, second)
    assert found is not None
    plus, minus = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    half = norm.ppf(0.975) * math.sqrt((plus + minus - (plus - minus) ** 2) / (n + 2))
    assert (found.low, found.high) == pytest.approx((plus - minus - half, plus - minus + half), abs=2e-4)
    assert (found.gained, found.lost, found.difference) == (gained, lost, pytest.approx(0.04))


def test_runs_that_agree_everywhere_are_not_known_to_be_equal() -> None:
    found = paired_fraction([True, False] * 10, [True, False] * 10)
    assert found is not None
    assert (found.difference, found.p_value) == (0, 1)
    assert found.low < 0 < found.high


@pytest.mark.parametrize("videos", [1, 2, 4])
def test_a_few_videos_that_flip_whole_show_nothing(videos: int) -> None:
    found = paired_fraction(
        [False] * 40 * videos, [True] * 40 * videos, [i // 40 for i in range(40 * videos)]
    )
    assert found is not None
    assert (found.difference, found.p_value) == (1, pytest.approx(2 ** (1 - videos)))
    assert found.low < 0


@pytest.mark.parametrize("videos", [3, 5, 10])
def test_the_paired_interval_covers_where_few_videos_flip_whole(videos: int) -> None:
    random = np.random.default_rng(9)
    labels = np.repeat(np.arange(videos), 20)
    covered, rounds = 0, 300
    for _ in range(rounds):
        change = random.choice([1, -1, 0], videos, p=[0.2, 0.1, 0.7])[labels]
        found = paired_fraction((change < 0).tolist(), (change > 0).tolist(), labels.tolist())
        assert found is not None
        covered += found.low <= 0.1 <= found.high
    assert covered / rounds > 0.97


@pytest.mark.parametrize(("questions", "videos"), [(1197, 684), (2700, 900)])
def test_at_the_sizes_of_the_benchmarks_the_interval_covers_and_is_hardly_wider(
    questions: int, videos: int
) -> None:
    labels = np.arange(questions) % videos
    same = paired_fraction([True] * questions, [True] * questions, labels.tolist())
    assert same is not None
    assert same.high - same.low < 0.009
    random = np.random.default_rng(13)
    share, rounds = 12 / videos, 250
    covered, ratios = 0, []
    for _ in range(rounds):
        lost = (random.random(videos) < share)[labels]
        found = paired_fraction([True] * questions, (~lost).tolist(), labels.tolist())
        assert found is not None
        assert found.standard_error is not None
        covered += found.low <= -share <= found.high
        ratios.append((found.high - found.low) / (2 * 1.96 * found.standard_error))
    assert 0.91 <= covered / rounds <= 0.985
    assert np.median(ratios) < 1.15


def test_questions_that_flip_alone_lose_nothing_by_sharing_a_video() -> None:
    random = np.random.default_rng(10)
    change = random.choice([1, -1, 0], 2000, p=[0.1, 0.05, 0.85])
    first, second = (change < 0).tolist(), (change > 0).tolist()
    alone = paired_fraction(first, second)
    shared = paired_fraction(first, second, [i // 20 for i in range(2000)])
    assert alone is not None
    assert shared is not None
    assert (shared.low, shared.high) == pytest.approx((alone.low, alone.high), abs=0.004)


def test_pairs_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="found 1 and 2"):
        paired_fraction([True], [True, False])
    with pytest.raises(ValueError, match="found 1 and 2"):
        paired_bootstrap([1.0], [1.0, 2.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_holms(p_values: list[float]) -> None:
    with patch("gc.collect"):  # the reference does so at every call
        assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]) == []


def test_samples_are_as_many_as_statsmodels_says() -> None:
    # Two nearby accuracies, where the arcsine effect size of statsmodels and the formula agree.
    effect = sm.stats.proportion_effectsize(0.82, 0.78)
    expected = NormalIndPower().solve_power(effect, power=0.8, alpha=0.05)
    assert samples_to_see(4, 0.78) == pytest.approx(expected, rel=0.01)
    assert samples_to_see(4, 0.78, design_effect=1.5) == pytest.approx(1.5 * expected, rel=0.01)


def test_paired_samples_give_the_promised_power() -> None:
    points, flips = 4.0, 0.12
    n = paired_samples_to_see(points, flips)
    random = np.random.default_rng(5)
    gained, lost = (flips + points / 100) / 2, (flips - points / 100) / 2
    draws = random.multinomial(n, [gained, lost, 1 - flips], size=4000)
    b, c = draws[:, 0], draws[:, 1]
    seen = np.abs(b - c) / np.sqrt(b + c) > norm.ppf(0.975)
    assert seen.mean() == pytest.approx(0.8, abs=0.03)
    assert n < samples_to_see(points, 0.78)


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="two different accuracies"):
        samples_to_see(0, 0.5)
    with pytest.raises(ValueError, match=r"0.9 and 1\.1"):
        samples_to_see(20, 0.9)
    with pytest.raises(ValueError, match="fraction of flips"):
        paired_samples_to_see(5, 0.01)


@pytest.mark.parametrize(
    "wrong", [{"power": 1.0}, {"significance": 0.0}, {"design_effect": 0.0}, {"power": math.nan}]
)
def test_a_power_that_no_test_has_is_refused(wrong: dict[str, float]) -> None:
    for plan in (lambda: samples_to_see(2, 0.78, **wrong), lambda: paired_samples_to_see(2, 0.1, **wrong)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            plan()


def test_the_visible_difference_is_2_8_errors() -> None:
    assert visible_difference(0.01) == pytest.approx(0.02802, abs=1e-5)
    assert visible_difference(0) == 0


def test_a_paired_bootstrap_agrees_with_the_t_interval() -> None:
    random = np.random.default_rng(1)
    first = random.gamma(1.0, 0.02, 800)
    second = first + random.normal(0.003, 0.02, 800)
    found = paired_bootstrap(first.tolist(), second.tolist())
    assert found is not None
    change = second - first
    half = student.ppf(0.975, 799) * change.std(ddof=1) / math.sqrt(800)
    assert (found.low, found.high) == pytest.approx((change.mean() - half, change.mean() + half), abs=3e-4)
    assert found.p_value is not None
    assert found.p_value < 0.01
    same = paired_bootstrap(first.tolist(), first.tolist())
    assert same is not None
    assert (same.mean, same.low, same.high, same.p_value) == (0, None, None, 1)


def test_no_number_of_rounds_makes_a_difference_impossible_by_chance() -> None:
    found = paired_bootstrap([0.0] * 40, [1.0 + i for i in range(40)])
    assert found is not None
    assert found.p_value == pytest.approx(2 / 2001), "the measured mean counts as one of the drawn"


def test_a_cluster_bootstrap_is_wider_where_samples_share_a_speaker() -> None:
    random = np.random.default_rng(2)
    speakers = [i // 10 for i in range(500)]
    values = (np.repeat(random.normal(size=50), 10) + 0.2 * random.normal(size=500)).tolist()
    low, high = mean_interval(values, speakers)
    narrow_low, narrow_high = mean_interval(values)
    expected = clustered_mean(values, speakers)
    assert expected is not None
    assert expected.high is not None
    assert low is not None
    assert high is not None
    assert narrow_low is not None
    assert narrow_high is not None
    assert high - low > 2 * (narrow_high - narrow_low)
    assert high == pytest.approx(expected.high, abs=0.05)


def clustered_runs(random: np.random.Generator, videos: int, accuracy: float) -> tuple[list[bool], list[int]]:
    """Three questions a video; videos differ in difficulty (beta-binomial, correlation 1/4)."""
    easy = random.beta(3 * accuracy, 3 * (1 - accuracy), videos)
    outcomes = random.random((videos, 3)) < easy[:, None]
    return outcomes.ravel().tolist(), np.repeat(np.arange(videos), 3).tolist()


@pytest.mark.parametrize(("videos", "accuracy"), [(300, 0.78), (40, 0.9)])
def test_the_clustered_interval_covers_as_often_as_it_says(videos: int, accuracy: float) -> None:
    random = np.random.default_rng(3)
    covered = plain = 0
    rounds = 600
    for _ in range(rounds):
        outcomes, clusters = clustered_runs(random, videos, accuracy)
        found = clustered_fraction(outcomes, clusters)
        independent = wilson_interval(sum(outcomes), len(outcomes))
        assert found is not None
        assert independent is not None
        covered += found.low <= accuracy <= found.high
        plain += independent[0] <= accuracy <= independent[1]
    assert 0.93 <= covered / rounds <= 0.985
    assert plain / rounds < 0.92


def test_the_paired_interval_covers_and_its_test_does_not_cry_wolf() -> None:
    random = np.random.default_rng(4)
    rounds, videos, true = 400, 150, 0.0
    covered = alarms = 0
    for _ in range(rounds):
        easy = np.repeat(random.beta(2, 1, videos), 3)
        side = np.repeat(
            random.choice([-0.3, 0.3], videos), 3
        )  # a video favours one run in all its questions
        first, second = (random.random(3 * videos) < np.clip(easy + s * side, 0, 1) for s in (-1, 1))
        found = paired_fraction(first.tolist(), second.tolist(), np.repeat(np.arange(videos), 3).tolist())
        assert found is not None
        covered += found.low <= true <= found.high
        alarms += found.p_value < 0.05
    assert 0.925 <= covered / rounds <= 0.985
    assert alarms / rounds <= 0.075


def spoken_runs(random: np.random.Generator, voices: int, worse: float) -> tuple[Any, Any, Any]:
    """Word error rates of two runs, mostly 0; a voice has a rate of its own in each, and 1 to 8 utterances."""
    labels = np.repeat(np.arange(voices), random.integers(1, 9, voices))
    words = random.integers(6, 15, len(labels))
    first, second = (
        random.binomial(words, (random.beta(1, 15, voices) + more)[labels]) / words for more in (0, worse)
    )
    return first, second, labels


def voices_beside(random: np.random.Generator, voices: int, worse: float) -> tuple[Any, Any, Any]:
    """Cosines of two runs, which a voice favours in all its utterances."""
    labels = np.repeat(np.arange(voices), random.integers(1, 9, voices))
    first = 0.7 + 0.05 * random.normal(size=len(labels))
    favour = 0.03 * random.normal(size=voices)
    return first, first - worse + favour[labels] + 0.02 * random.normal(size=len(labels)), labels


@pytest.mark.parametrize(("draw", "worse"), [(spoken_runs, 0.02), (voices_beside, 0.01)])
def test_the_paired_bootstrap_covers_with_voices_drawn_whole_and_far_less_without(
    draw: Callable[..., tuple[Any, Any, Any]], worse: float
) -> None:
    random = np.random.default_rng(6)
    true = worse if draw is spoken_runs else -worse
    rounds = 300
    covered = plain = alarms = 0
    for number in range(rounds):
        first, second, labels = draw(random, 100, worse)
        found = paired_bootstrap(first, second, labels.tolist(), seed=number)
        alone = paired_bootstrap(first, second, seed=number)
        shifted = paired_bootstrap(first + true, second, labels.tolist(), seed=number)
        assert found is not None and found.low is not None and found.high is not None
        assert alone is not None and alone.low is not None and alone.high is not None
        assert shifted is not None and shifted.p_value is not None
        covered += found.low <= true <= found.high
        plain += alone.low <= true <= alone.high
        alarms += shifted.p_value < 0.05
    # Three standard errors of 300 rounds below 95 %, and one point that the percentile interval lacks.
    assert 0.90 <= covered / rounds <= 0.985
    assert plain / rounds < covered / rounds - 0.05
    assert alarms / rounds <= 0.10


def test_ten_voices_give_an_interval_that_covers_and_fewer_give_none() -> None:
    random = np.random.default_rng(11)
    covered, rounds = 0, 1500
    for number in range(rounds):
        low, high = mean_interval(random.normal(0.7, 0.08, 10).tolist(), seed=number)
        assert low is not None
        assert high is not None
        covered += low <= 0.7 <= high
    assert 0.925 <= covered / rounds <= 0.965, "plain percentiles cover 90 %"
    assert mean_interval(random.normal(size=9).tolist()) == (None, None)
    assert mean_interval([0.0] * 500) == (None, None)
    few = paired_bootstrap([0.0] * 9, random.random(9).tolist())
    assert few is not None
    assert (few.low, few.high, few.p_value) == (None, None, None)


def test_drawing_voices_again_gives_the_interval_that_scipy_gives() -> None:
    random = np.random.default_rng(7)
    first, second, labels = spoken_runs(random, 60, 0.02)
    found = paired_bootstrap(first, second, labels.tolist())
    assert found is not None
    change = np.array([(second - first)[labels == voice].sum() for voice in range(60)])
    sizes = np.bincount(labels)
    widened = 2 * norm.cdf(math.sqrt(60 / 59) * student.ppf(0.975, 59)) - 1
    reference = bootstrap(
        (change, sizes), lambda sums, counts, axis: sums.sum(axis) / counts.sum(axis), paired=True,
        vectorized=True, n_resamples=4000, method="BCa", random_state=8, confidence_level=widened,
    ).confidence_interval  # fmt: skip
    width = reference.high - reference.low
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high), abs=0.05 * width)


@pytest.mark.parametrize("sign", [1, -1])
def test_rare_large_values_move_the_interval_as_scipy_moves_it(sign: int) -> None:
    random = np.random.default_rng(9)
    rates = sign * random.binomial(1, 0.12, 100) * random.integers(1, 3, 100) / random.integers(6, 16, 100)
    widened = 2 * norm.cdf(math.sqrt(100 / 99) * student.ppf(0.975, 99)) - 1
    found = mean_interval(rates.tolist())
    ends = {
        method: bootstrap(
            (rates,), np.mean, n_resamples=9000, method=method, random_state=8, confidence_level=widened
        ).confidence_interval
        for method in ("BCa", "percentile")
    }
    width = ends["BCa"].high - ends["BCa"].low
    assert found == pytest.approx(tuple(ends["BCa"]), abs=0.06 * width)
    assert found != pytest.approx(tuple(ends["percentile"]), abs=0.06 * width)


def test_word_error_rates_that_are_nearly_all_zero_are_covered_on_both_sides() -> None:
    random = np.random.default_rng(12)
    true = 0.12 * 1.5 * float(np.mean(1 / np.arange(6, 16)))
    below = above = 0
    rounds = 800
    for number in range(rounds):
        rates = random.binomial(1, 0.12, 60) * random.integers(1, 3, 60) / random.integers(6, 16, 60)
        low, high = mean_interval(rates.tolist(), seed=number)
        if low is not None and high is not None:
            below, above = below + (high < true), above + (low > true)
    assert below / rounds <= 0.05, "plain percentiles end too low in 8 % of the runs"
    assert (below + above) / rounds <= 0.08


def test_rtf_differences_are_noise_real_or_neither() -> None:
    assert latency_difference([0.44], [0.46], ratio=True).verdict == "noise"
    single = latency_difference([0.44], [0.60], ratio=True)
    assert (single.verdict, single.reason) == ("undecided", "fewer than 3 runs a side")
    slower = latency_difference([0.44, 0.45, 0.43], [0.51, 0.90, 0.50], ratio=True)
    assert (slower.first, slower.second, slower.verdict) == (0.44, 0.51, "real")
    assert latency_difference([0.44] * 2, [0.60] * 3, ratio=True).verdict == "undecided", (
        "two runs are too few"
    )
    for change, verdict in ((0.029, "noise"), (0.031, "undecided"), (0.049, "undecided"), (0.051, "real")):
        for first, second in ((0.4, 0.4 + change), (0.4 + change, 0.4)):
            assert latency_difference([first] * 3, [second] * 3, ratio=True).verdict == verdict, change


def test_seconds_are_compared_with_the_spread_of_the_runs() -> None:
    assert latency_difference([0.3, 0.31, 0.32], [0.4, 0.41, 0.42], ratio=False).verdict == "real"
    assert latency_difference([0.3, 0.31, 0.39], [0.38, 0.41, 0.42], ratio=False).verdict == "noise"
    with pytest.raises(ValueError, match="at least one run a side"):
        latency_difference([], [1.0], ratio=True)
