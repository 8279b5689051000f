"""Word errors beyond the official figure: alignment, averages, and the lenient rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.scoring.speech import aligned_words, average_wer, lenient_wer, official_wer
from omnieval.stats import mean_interval

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "mat", "a"]), max_size=8).map(" ".join)


def test_an_empty_answer_is_all_deletions_and_not_dropped() -> None:
    errors = official_wer("one two three", "", language="en")
    assert (errors.wer, errors.deletions, errors.words) == (1.0, 3, 3)


@given(WORDS.filter(bool), WORDS)
def test_the_alignment_holds_both_texts_and_every_error(reference: str, hypothesis: str) -> None:
    errors = official_wer(reference, hypothesis, language="en")
    steps = aligned_words(errors)
    assert " ".join(s.reference for s in steps if s.reference is not None) == reference
    assert " ".join(s.hypothesis for s in steps if s.hypothesis is not None) == hypothesis
    kinds = [step.kind for step in steps]
    assert kinds.count("substitute") == errors.substitutions
    assert kinds.count("delete") == errors.deletions
    assert kinds.count("insert") == errors.insertions
    assert errors.words == len(reference.split())
    assert errors.wer == pytest.approx(errors.errors / errors.words)


@pytest.mark.parametrize(
    ("language", "reference", "hypothesis"),
    [
        ("en", "It costs fifty dollars", "it costs $50"),
        ("en", "The colour of Mr. Smith's car", "the color of mister smith's car"),
        ("en", "Twenty-one people", "21 people"),
        ("zh", "百分之五的人", "5%的人"),
        ("zh", "他有5个苹果", "他有五个苹果"),
        ("zh", "臺灣", "台湾"),
        ("zh", "我喜欢 Python 编程", "我喜欢python编程"),
        ("zh", "Ａ股上涨", "A股上涨"),
    ],
)
def test_another_way_to_write_it_is_an_official_error_and_no_lenient_one(
    language: str, reference: str, hypothesis: str
) -> None:
    assert official_wer(reference, hypothesis, language=language).wer > 0  # type: ignore[arg-type]
    assert lenient_wer(reference, hypothesis, language=language).wer == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "reference", "hypothesis"), [("en", "fifty", "sixty"), ("zh", "五", "六")]
)
def test_a_wrong_word_stays_an_error(language: str, reference: str, hypothesis: str) -> None:
    assert lenient_wer(reference, hypothesis, language=language).wer == 1  # type: ignore[arg-type]


def test_the_average_says_what_stands_behind_it() -> None:
    scored = [
        official_wer("one two three four", "one two three four", language="en"),
        official_wer("yes", "no no", language="en"),
        official_wer("one two", "one", language="en"),
    ]
    average = average_wer(scored)
    assert average.utterances == 3
    assert average.official_percent == pytest.approx(100 * (0 + 2 + 0.5) / 3, abs=1e-3)
    assert average.below_50_percent == 25.0
    assert average.above_50 == 1
    assert average.corpus_percent == pytest.approx(100 * 3 / 7)
    assert (average.low, average.high) == (None, None), "three utterances tell nothing of others"
    many = average_wer(scored * 10)
    assert many.official_percent == average.official_percent
    assert many.low is not None
    assert many.high is not None
    assert many.low < average.official_percent < many.high


def test_no_utterance_is_no_average_and_not_zero() -> None:
    average = average_wer([])
    assert (average.utterances, average.official_percent, average.corpus_percent, average.low) == (
        0,
        None,
        None,
        None,
    )


def test_the_interval_of_a_mean_covers_it_as_often_as_it_says() -> None:
    import numpy as np

    drawn = np.random.default_rng(1)
    covered = 0
    for seed in range(200):
        low, high = mean_interval(drawn.exponential(1.0, 80).tolist(), seed=seed)
        assert low is not None
        assert high is not None
        covered += low <= 1.0 <= high
    assert covered / 200 == pytest.approx(0.93, abs=0.05)
