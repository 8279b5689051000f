"""Text from anywhere can be shown on a terminal: nothing steers it, and what people write stays."""

from __future__ import annotations

import pytest

from omnieval.parsing import visible


@pytest.mark.parametrize(
    "text", ["答案　B", "50\u00a0%", "👩\u200d🔬", "می\u200cخواهم", "a\nb", "naïve — “A”"]
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    "character", ["\x1b", "\x07", "\r", "\u202e", "\u2066", "\x9b", "\u2028", "\ud800", "\x00"]
)
def test_what_steers_a_terminal_is_shown_as_unknown(character: str) -> None:
    assert visible(f"a{character}b") == "a\ufffdb"
