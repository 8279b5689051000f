"""Which letter an option goes by, and which option an answer names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.parsing import gold_letter, lettered, relabelled, split_label, well_formed

PETS = ["A. A cat", "B. Two dogs", "C. A bird", "D. Tax laws"]


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("D", "D"), ("d", "D"), (" B ", "B"), ("A.", "A"), ("(A)", "A"), ("（B）", "B"), ("C)", "C"),
        ("D. Tax laws", "D"), ("D、Tax laws", "D"), ("D：Tax laws", "D"), ("D) Tax laws", "D"),
        ("(D) Tax laws", "D"), ("Tax laws", "D"), ("Two dogs", "B"), ("B. Two dogs", "B"),
        ("E", None), ("", None), ("Dogs", None), ("About Tax", None), ("A bird in C", None), ("AB", None),
    ],
)  # fmt: skip
def test_an_answer_names_its_option_or_none(answer: str, letter: str | None) -> None:
    assert gold_letter(answer, PETS) == letter


def test_text_equal_to_an_option_beats_a_label_that_only_looks_like_one() -> None:
    options = ["night shift", "A.M. shift", "P.M. shift", "none"]
    assert gold_letter("A.M. shift", options) == "B"
    assert lettered(options)["B"] == "A.M. shift"


def test_labels_count_only_when_every_option_has_its_own() -> None:
    assert lettered(["B. x", "A. y"]) == {"A": "B. x", "B": "A. y"}
    assert gold_letter("A", ["B. x", "A. y"]) is None  # the label, or the place?
    assert gold_letter("A. y", ["B. x", "A. y"]) == "B"
    assert gold_letter("P.M.", ["A.M.", "P.M."]) == "B"
    assert lettered(["A. x", "y"]) == {"A": "A. x", "B": "y"}
    assert lettered(["A. x", "A. y"]) == {"A": "A. x", "B": "A. y"}
    assert relabelled(["x", "y"]) == ["A. x", "B. y"]
    assert relabelled(["A. x", "B. y"]) == ["A. x", "B. y"]
    assert relabelled(["B. x", "A. y"]) == ["A. B. x", "B. A. y"]
    assert split_label("A man walks") == (None, "A man walks")


@given(answer=st.text(), options=st.lists(st.text(min_size=1), min_size=2, max_size=8))
def test_a_gold_letter_is_always_one_of_the_options(answer: str, options: list[str]) -> None:
    letter = gold_letter(answer, options)
    assert letter is None or letter in lettered(options)


@given(
    st.lists(
        st.sampled_from(["red car", "blue sky", "no one", "left turn"]), min_size=4, max_size=4, unique=True
    )
)
def test_every_labelled_form_of_an_option_is_recognised(texts: list[str]) -> None:
    for letter, text in zip("ABCD", texts, strict=True):
        for form in (
            f"{letter}. {text}",
            f"({letter}) {text}",
            f"{letter}、{text}",
            f"{letter}：{text}",
            text,
            letter,
        ):
            assert gold_letter(form, [f"{x}. {t}" for x, t in zip("ABCD", texts, strict=True)]) == letter
            assert gold_letter(form, texts) == letter


@given(st.text(alphabet=st.characters(min_codepoint=0, max_codepoint=0x1FFFF)))
def test_any_text_can_be_made_fit_for_a_file(text: str) -> None:
    made = well_formed(text)
    made.encode("utf-8")
    assert well_formed(made) == made
    if not any(0xD800 <= ord(character) < 0xE000 for character in text):
        assert made == text
