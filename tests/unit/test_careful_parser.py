"""The careful rule reads what a reply commits to, however it is phrased."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.parsing import RULES, parse_letter
from tests.unit.careful_cases import CASES, VIDEO
from tests.unit.careful_traps import TRAPS

SHARED = json.loads((Path(__file__).parents[1] / "contract" / "data" / "answer_letter.json").read_text())[
    "cases"
]

# By options: replies as models write them, and what a reader takes from each.
REPLIES = [
    (reply, group["options"], letter)
    for group in json.loads((Path(__file__).parent / "careful_replies.json").read_text())
    for reply, letter in group["replies"]
]
ALL = [*CASES, *TRAPS, *REPLIES]


@pytest.mark.parametrize(("reply", "options", "letter"), ALL, ids=range(len(ALL)))
def test_the_letter_that_a_reader_takes(reply: str, options: dict[str, str], letter: str | None) -> None:
    parsed = parse_letter(reply, rule="careful", options=options)
    assert parsed.letter == letter, parsed.reason
    if parsed.span is not None:
        start, end = parsed.span
        assert 0 <= start < end <= len(reply)


def test_it_agrees_with_the_readers_of_the_shared_cases() -> None:
    parsed = [parse_letter(case["reply"], rule="careful", options=case["options"]).letter for case in SHARED]
    agree = sum(letter == case["human"] for letter, case in zip(parsed, SHARED, strict=True))
    invented = sum(
        letter is not None and case["human"] is None for letter, case in zip(parsed, SHARED, strict=True)
    )
    assert agree >= 0.97 * len(SHARED)
    assert invented <= 0.01 * len(SHARED)


def test_no_reference_rule_agrees_as_often() -> None:
    def agreement(rule: str) -> int:
        letters = [parse_letter(case["reply"], rule=rule, options=case["options"]).letter for case in SHARED]
        return sum(letter == case["human"] for letter, case in zip(letters, SHARED, strict=True))

    best = max(agreement(rule) for rule in RULES if rule != "careful")
    assert best + 10 < agreement("careful")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("I think A. No: the answer is B.", "B"),
        ("<think>A</think> so C", "C"),
        ("Ｄ．Nothing changes", "Ｄ"),
        ("🅱", "🅱"),
    ],
)
def test_the_span_is_where_the_letter_stands_in_the_reply(reply: str, said: str) -> None:
    parsed = parse_letter(reply, rule="careful", options=VIDEO)
    assert parsed.span is not None
    assert reply[slice(*parsed.span)] == said


def test_only_the_ends_of_a_very_long_reply_are_read() -> None:
    filler = "the dogs bark and the man walks on " * 3_000
    late = parse_letter(filler + "so the answer is C.", rule="careful", options=VIDEO)
    assert late.letter == "C"
    assert late.span is not None
    assert (filler + "so the answer is C.")[slice(*late.span)] == "C"
    assert parse_letter("B\n" + filler, rule="careful", options=VIDEO).letter == "B"


PIECES = st.sampled_from(
    ["A", "B", "b", " ", "\n", ".", ":", "(", ")", "the answer is ", "not ", "Team ", "<think>", "</think>", "<|",
     "|>", "assistant\n", "**", "\\boxed{", "}", "答案", "选", "A man", "A or B", "Two dogs are barking", "?", "I",
     "'", "’", "ß", "İ", "\u200b", "🅰", "Ａ", "<answer>", "</answer>", "{", '"', "%", "1"]
)  # fmt: skip


@given(
    reply=st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)),
    rule=st.sampled_from(sorted(RULES)),
    options=st.one_of(
        st.none(),
        st.just(VIDEO),
        st.lists(st.text(), max_size=26),
        st.dictionaries(st.sampled_from("ABCDEFGHIJ"), st.text(max_size=8)),
    ),
)
def test_no_rule_ever_raises_and_each_gives_the_same_again(
    reply: str, rule: str, options: dict[str, str] | list[str] | None
) -> None:
    parsed = parse_letter(reply, rule=rule, options=options)
    assert parsed == parse_letter(reply, rule=rule, options=options)
    assert parsed.reason
    if parsed.span is not None:
        assert 0 <= parsed.span[0] < parsed.span[1] <= len(reply)
    if parsed.letter is None:
        assert parsed.span is None
    else:
        assert len(parsed.letter) == 1
