"""Text tokens are counted by the server's running count, and tokens of sound never among them."""

from __future__ import annotations

from typing import Any

import pytest

from omnieval.backends.token_times import TokenTimes


def usage(tokens: int, **details: int) -> dict[str, Any]:
    return {"completion_tokens": tokens, "completion_tokens_details": details}


def counted(*chunks: tuple[Any, bool]) -> list[int]:
    times = TokenTimes()
    return [times.count(count, is_text=is_text) for count, is_text in chunks]


def test_a_running_count_tells_how_many_tokens_a_chunk_brings() -> None:
    assert counted((usage(1), True), (usage(4), True), (usage(5), True)) == [1, 3, 1]


def test_without_a_count_a_chunk_is_one_token() -> None:
    assert counted((None, True), ({}, True), ({"completion_tokens": "9"}, True)) == [1, 1, 1]


def test_a_count_of_its_own_for_sound_adds_no_text() -> None:
    text_then_sound = [(usage(3), True), (usage(0), False), (usage(200), False), (usage(5), True)]
    assert counted(*text_then_sound) == [3, 0, 0, 2]


def test_one_count_for_all_modalities_adds_no_text_either() -> None:
    assert counted((usage(3), True), (usage(60), False), (usage(62), True), (usage(63), True)) == [3, 0, 2, 1]


def test_what_the_server_counts_as_sound_is_taken_off() -> None:
    assert counted((usage(10, audio_tokens=8), True), (usage(60, audio_tokens=55), True)) == [2, 3]


def test_itl_has_one_gap_a_token_and_tpot_the_mean_after_the_first() -> None:
    times = TokenTimes()
    for at_s, tokens in ((1.0, 1), (1.6, 3), (2.0, 1)):
        times.take(at_s, tokens, is_text=True)
    assert times.itl_s == pytest.approx([0.2, 0.2, 0.2, 0.4])
    assert (times.first_text_s, times.last_text_s, times.text_tokens) == (1.0, 2.0, 5)
    assert times.tpot_s() == 0.25
    assert times.tpot_s(tokens=11) == 0.1


def test_reasoning_is_no_text_but_its_tokens_have_gaps() -> None:
    times = TokenTimes()
    times.take(1.0, 1, is_text=False)
    times.take(2.0, 1, is_text=True)
    assert (times.first_text_s, times.itl_s, times.tpot_s()) == (2.0, [1.0], None)


def test_nothing_measured_is_none() -> None:
    assert TokenTimes().tpot_s() is None
    assert TokenTimes().tpot_s(tokens=7) is None
