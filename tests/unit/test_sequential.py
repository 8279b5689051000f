"""Looking after every video errs no more often than it says, and saves questions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from omnieval.stats import ERROR, sequential_interval, sequential_side

Population = tuple[np.ndarray, np.ndarray]


def population(
    rng: np.random.Generator, accuracy: float, *, videos: int = 684, questions: int = 1197
) -> Population:
    """(right, sizes) by video: unequal sizes, answers of one video alike, and exactly this accuracy."""
    sizes = 1 + rng.multinomial(questions - videos, np.full(videos, 1 / videos))
    skill = rng.beta(2 * accuracy, 2 * (1 - accuracy), videos)
    right = rng.binomial(sizes, skill)
    missing = round(accuracy * questions) - right.sum()
    while missing:
        i = rng.integers(videos)
        step = int(np.sign(missing))
        if 0 <= right[i] + step <= sizes[i]:
            right[i] += step
            missing -= step
    return right, sizes


def first_side(rng: np.random.Generator, drawn: Population, line: float) -> str | None:
    """What a run would say that looks after every video, until all but the last ten are asked."""
    order = rng.permutation(len(drawn[1]))
    right, sizes = drawn[0][order], drawn[1][order]
    seen = len(sizes) - 10
    return sequential_side(right[:seen], sizes[:seen], sizes, line)


def most_errors(runs: int) -> int:
    """So many are seen in one of a thousand simulations where the error is ERROR."""
    return int(binom.ppf(0.999, runs, ERROR))


@pytest.mark.parametrize(
    ("accuracy", "line"), [(0.7744, 0.775), (0.7752, 0.775), (11 / 1197, 0.01), (12 / 1197, 0.01)]
)
def test_it_errs_no_more_often_than_it_says_right_beside_the_line(accuracy: float, line: float) -> None:
    rng, runs = np.random.default_rng(7), 400
    drawn = population(rng, accuracy)
    wrong = "above" if drawn[0].sum() / drawn[1].sum() < line else "below"
    errors = sum(first_side(rng, drawn, line) == wrong for _ in range(runs))
    assert errors <= most_errors(runs)


def test_a_test_that_looks_after_every_video_with_a_usual_interval_errs_far_more_often() -> None:
    """The check above can fail: this is what it would catch."""
    rng, runs, line = np.random.default_rng(7), 200, 0.775
    right, sizes = population(rng, 0.7752)
    errors = 0
    for _ in range(runs):
        order = rng.permutation(len(sizes))
        seen, count = np.cumsum(right[order])[30:-10], np.cumsum(sizes[order])[30:-10]
        value = seen / count
        errors += bool(np.any(value + 1.96 * np.sqrt(value * (1 - value) / count) < line))
    assert errors > 2 * most_errors(runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accuracy", "line", "videos", "questions"),
    [
        (0.7744, 0.775, 684, 1197),
        (0.7752, 0.775, 684, 1197),
        (0.67, 0.67, 300, 900),
        (0.9, 0.9, 40, 200),
        (0.5, 0.5, 30, 30),
        (0.0092, 0.01, 684, 1197),
        (0.0100251, 0.01, 684, 1197),
    ],
)
def test_the_error_in_a_large_simulation(accuracy: float, line: float, videos: int, questions: int) -> None:
    rng, runs = np.random.default_rng(11), 4000
    drawn = population(rng, accuracy, videos=videos, questions=questions)
    fraction = drawn[0].sum() / drawn[1].sum()
    sides = [first_side(rng, drawn, line) for _ in range(runs)]
    for side, false in (("above", fraction <= line), ("below", fraction >= line)):
        if false:
            assert sides.count(side) <= most_errors(runs)


def test_failed_questions_are_left_out_of_the_official_accuracy_and_still_err_no_more_often() -> None:
    rng, runs, line = np.random.default_rng(3), 300, 0.8
    right, sizes = population(rng, 0.7)
    counted = np.minimum(sizes, np.maximum(right, sizes - (rng.random(len(sizes)) < 0.3)))
    line = right.sum() / counted.sum() + 1e-4
    errors = 0
    for _ in range(runs):
        order = rng.permutation(len(sizes))[:-10]
        full = np.concatenate([order, np.setdiff1d(np.arange(len(sizes)), order)])
        errors += sequential_side(right[order], counted[order], sizes[full], line) == "above"
    assert errors <= most_errors(runs)


def test_the_sequence_covers_at_all_moments_together() -> None:
    rng, runs = np.random.default_rng(5), 60
    drawn = population(rng, 0.775, videos=120, questions=240)
    accuracy = drawn[0].sum() / drawn[1].sum()
    left_out = 0
    for _ in range(runs):
        order = rng.permutation(120)
        right, sizes = drawn[0][order], drawn[1][order]
        ends = [sequential_interval(right[:t], sizes[:t], sizes) for t in (5, 30, 60, 90, 115)]
        left_out += any(not low - 1e-9 <= accuracy <= high + 1e-9 for low, high in ends)
        assert ends[-1][1] - ends[-1][0] < ends[1][1] - ends[1][0]
    assert left_out <= binom.ppf(0.999, runs, 2 * ERROR)


@pytest.mark.parametrize(("points", "most"), [(10, 350), (-10, 350), (5, 800), (-5, 800), (3, 1000)])
def test_fewer_questions_are_needed_the_farther_the_truth_is_from_the_line(points: int, most: int) -> None:
    rng = np.random.default_rng(points % 100)
    drawn = population(rng, 0.775 + points / 100)
    used = []
    for _ in range(10):
        order = rng.permutation(684)
        right, sizes = drawn[0][order], drawn[1][order]
        stops = [
            t for t in range(4, 684, 8) if sequential_side(right[:t], sizes[:t], sizes, 0.775) is not None
        ]
        used.append(sizes[: stops[0]].sum())
        assert sequential_side(right, sizes, sizes, 0.775) == ("above" if points > 0 else "below")
    assert np.median(used) < most


def test_the_line_is_decided_for_certain_where_the_rest_cannot_change_it() -> None:
    sizes = np.array([5, 1, 1, 1])
    assert sequential_side([5], [5], sizes, 0.6) == "above"
    assert sequential_side([4], [5], sizes, 0.6) is None
    assert sequential_side([0], [5], sizes, 0.4) == "below"
    assert sequential_interval([5, 1, 1, 1], sizes, sizes) == pytest.approx((1, 1))
    assert sequential_interval([4, 1, 1, 0], sizes, sizes) == pytest.approx((0.75, 0.75), abs=1e-6)
    assert sequential_side([4, 1, 1, 0], sizes, sizes, 0.75) is None, "on the line it is on neither side"
    assert sequential_interval([], [], sizes) == pytest.approx((0, 1), abs=1e-6)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30),
    st.data(),
)
def test_any_outcomes_give_an_interval_that_holds_what_is_possible(
    rows: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    sizes = np.array([size for size, _, _ in rows])
    counted = np.array([min(size, count) for size, count, _ in rows])
    right = np.minimum(counted, [hit for _, _, hit in rows])
    seen = data.draw(st.integers(0, len(rows)))
    low, high = sequential_interval(right[:seen], counted[:seen], sizes)
    assert 0 <= low <= high <= 1
    line = data.draw(st.floats(0, 1))
    side = sequential_side(right[:seen], counted[:seen], sizes, line)
    if side == "above":
        assert line <= low + 1e-6
    elif side == "below":
        assert line >= high - 1e-6


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="as many right as counted"):
        sequential_side([1], [1, 1], [1, 1], 0.5)
    with pytest.raises(ValueError, match="0 <= right <= counted"):
        sequential_side([2], [1], [2], 0.5)
    with pytest.raises(ValueError, match="a line and an error"):
        sequential_side([1], [1], [2], 1.5)
