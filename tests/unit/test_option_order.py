"""Options in another order: the right one stays the right one, whatever letter it goes by."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval import api
from omnieval.benchmarks.base import Dataset
from omnieval.benchmarks.option_order import arrange
from omnieval.config import OptionsConfig
from omnieval.parsing import lettered
from omnieval.runlog import PlannedSample
from omnieval.scoring.choice import score_choice
from omnieval.scoring.rotations import folded
from omnieval.types import Response, Sample, Score

TEXTS = st.lists(
    st.text(alphabet="abc xyz", min_size=1).map(str.strip).filter(bool), min_size=2, max_size=26, unique=True
)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    texts = draw(TEXTS)
    gold = chr(65 + draw(st.integers(0, len(texts) - 1)))
    if draw(st.booleans()):
        texts = [f"{chr(65 + i)}. {text}" for i, text in enumerate(texts)]
    return Sample("s", "b", "?", tuple(texts), gold, {}, "c", {}, 0)


@given(samples(), st.integers(0, 99))
def test_the_gold_option_keeps_its_text(sample: Sample, seed: int) -> None:
    text = lettered(sample.options)[str(sample.gold)]
    dataset = Dataset(Path(), (sample,))
    for order in ("shuffle", "circular"):
        arranged, asked = arrange(dataset, [sample], OptionsConfig(order=order, seed=seed))
        assert asked == list(arranged.samples)
        assert arranged.fingerprint() == dataset.fingerprint()
        for variant in asked:
            shown = lettered(variant.options)
            assert shown[str(variant.gold)] == text
            assert sorted(shown.values()) == sorted(lettered(sample.options).values())
            right = score_choice(
                variant, Response(variant.id, text=str(variant.gold)), selected=True, rule="careful"
            )
            assert right.outcome == "correct"
            assert right.details["option"] == sample.gold


@given(samples())
def test_circular_shows_the_gold_option_under_every_letter_once(sample: Sample) -> None:
    _, asked = arrange(Dataset(Path(), (sample,)), [sample], OptionsConfig(order="circular"))
    assert Counter(variant.gold for variant in asked) == Counter(list(lettered(sample.options)))
    assert len({variant.id for variant in asked}) == len(sample.options)
    assert {variant.origin for variant in asked} == {"s"}


def test_shuffling_is_fixed_by_seed_and_sample() -> None:
    many = tuple(Sample(f"s{i}", "b", "?", ("w", "x", "y", "z"), "A", {}, "c", {}, i) for i in range(200))
    first, again, other = (
        arrange(Dataset(Path(), many), many, OptionsConfig(order="shuffle", seed=seed))[1]
        for seed in (0, 0, 1)
    )
    assert first == again != other
    golds = Counter(sample.gold for sample in first)
    assert min(golds[letter] for letter in "ABCD") > 25


def test_rows_that_cannot_be_asked_stay_as_they_are() -> None:
    broken = Sample("s", "b", "?", (), None, {}, "c", {}, 0)
    no_gold = replace(broken, id="t", options=("x", "y"))
    arranged, _ = arrange(Dataset(Path(), (broken, no_gold)), [], OptionsConfig(order="circular"))
    assert [sample.id for sample in arranged.samples] == ["s", "t~1", "t~2"]
    assert [sample.gold for sample in arranged.samples] == [None, None, None]


def test_a_question_is_right_only_if_every_asking_is() -> None:
    def pair(question: str, turn: int, outcome: str) -> tuple[PlannedSample, Score]:
        sample = Sample(f"{question}~{turn}", "b", "?", ("x", "y"), "A", {}, "c", {}, 0, origin=question)
        return PlannedSample(sample, True), Score(sample.id, outcome)  # type: ignore[arg-type]

    outcomes = [
        ("p", "correct"),
        ("p", "correct"),
        ("q", "correct"),
        ("q", "wrong"),
        ("r", "failed"),
        ("r", "wrong"),
    ]
    kept = folded([pair(question, turn, outcome) for turn, (question, outcome) in enumerate(outcomes)])
    assert [score.outcome for _, score in kept] == ["correct", "wrong", "failed"]


def test_a_circular_run_counts_questions_and_keeps_every_asking(tmp_path: Path) -> None:
    run = api.run(
        "daily-omni",
        sample=True,
        backend="chance",
        options={"order": "circular"},
        limit=6,
        out=tmp_path / "run",
    )
    report = api.load_report(run)
    assert report.rows == 23
    assert sum(line.count for line in report.accounting) == 23
    assert report.official.total == 6
    assert report.each_asking is not None
    assert report.each_asking.total == 24
    assert report.official.correct <= report.each_asking.correct / 4
    assert report.chance == pytest.approx(0.25**4)
    assert len(list(run.responses())) == 24
    assert run.info["headline"]["options"] == "circular"
    assert "each order of the options by itself" in (run.directory / "report.md").read_text()


def test_the_name_of_a_rotation_is_never_that_of_another_question() -> None:
    first = Sample("q", "b", "?", ("x", "y"), "A", {}, "c", {}, 0)
    broken = replace(first, id="q~1", options=(), gold=None)
    arranged, _ = arrange(Dataset(Path(), (first, broken)), [], OptionsConfig(order="circular"))
    assert [sample.id for sample in arranged.samples] == ["q~1-2", "q~2", "q~1"]
