"""Sick replies are told from wrong ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.scoring.health import FLAGS, flag_identical, is_repetition, reply_flags
from omnieval.types import Response, Sample, Score

SAMPLE = Sample(
    "s", "b", "What does the man open?", ("A. a door", "B. the window"), "B", {}, "c", {}, 0
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "finish", "flags"),
    [
        ("B", "stop", ()),
        ("The man opens the window, so B.", "stop", ()),
        ("B B B B B B B B", "stop", ()),
        ("", "stop", ("empty",)),
        (" \n\u200b\t", "stop", ("empty",)),
        ("", "length", ("empty", "cut")),
        ("?" * 40, "stop", ("repetition",)),
        ("the dog the dog the dog the dog the dog the dog the dog the dog", "length", ("repetition", "cut")),
        ("First the window. " + "and then " * 30, "length", ("repetition", "cut")),
        ("yes no " * 40, "stop", ("repetition",)),
        ("The man walks to the", "length", ("cut",)),
        ("<think>The man opens A? No, the", "length", ("cut", "open_reasoning")),
        ("<think>hm</think>B", "stop", ()),
        ("I'm sorry, I cannot watch videos.", "stop", ("refusal",)),
        ("I can't see the video, but the answer is B.", "stop", ()),
        ("抱歉，无法判断。", "stop", ("refusal",)),
        ("这个视频里的人打开了窗户然后走出房间去花园里散步了", "stop", ("wrong_language",)),
        ("答案是B", "stop", ()),
        ("Мужчина открывает окно в комнате", "stop", ("wrong_language",)),
    ],
)
def test_flags_of_one_reply(text: str, finish: str, flags: tuple[str, ...]) -> None:
    assert reply_flags(SAMPLE, Response("s", text=text, finish_reason=finish)) == flags


@pytest.mark.parametrize(("text", "flags"), [("B", ()), (" B\n", ()), ("B.", ("unconstrained",))])
def test_a_server_that_ignores_the_constraint_is_found(text: str, flags: tuple[str, ...]) -> None:
    assert reply_flags(SAMPLE, Response("s", text=text), constrained=True) == flags


def test_one_long_reply_to_many_samples_is_flagged_and_a_letter_is_not() -> None:
    texts = {f"s{i}": "The answer depends on the video." for i in range(6)}
    texts |= {f"t{i}": "B" for i in range(50)} | {"u": "The answer is clearly B."}
    flagged = flag_identical([Score(name, "wrong") for name in texts], texts)
    assert {score.sample_id for score in flagged if score.flags} == {f"s{i}" for i in range(6)}
    answers = {f"s{i}": "The answer is A." for i in range(60)}
    scored = [Score(name, "correct", readings={"careful": "A"}) for name in answers]
    assert not any(score.flags for score in flag_identical(scored, answers))
    turns = {f"q~{i}": "The one that says so at length, which is none of the letters" for i in range(6)}
    rotations = [Score(name, "unparsed") for name in turns]
    assert not any(s.flags for s in flag_identical(rotations, turns, dict.fromkeys(turns, "q")))
    few = {f"s{i}": "The answer depends on the video." for i in range(4)}
    assert not any(score.flags for score in flag_identical([Score(name, "wrong") for name in few], few))


@given(st.text(min_size=1, max_size=60), st.integers(8, 40))
def test_a_phrase_again_and_again_is_a_collapse(phrase: str, times: int) -> None:
    text = phrase * times
    if len(text.rstrip()) >= 480 and phrase.strip() == phrase:
        assert is_repetition(text)


@given(st.text())
def test_flags_never_raise_and_keep_their_order(text: str) -> None:
    flags = reply_flags(SAMPLE, Response("s", text=text))
    assert list(flags) == [flag for flag in FLAGS if flag in flags]
