"""A letter in its sentence: what stands before it and after it, and in which clause."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from omnieval.parsing.doubt_words import BREAK, SOFT_BREAK

_SENTENCE_END = re.compile(
    r"\.(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bans\.)(?<!\bmr\.)(?<!\bdr\.)(?=[\s*\"'”’)\]]|$)"
    r"|[!?。！？؟।\n]"
)
_LONG_GAP = re.compile(r"\s{4,}")
_BREAK = re.compile(BREAK)
_SOFT_BREAK = re.compile(SOFT_BREAK)
ANY_BREAK = re.compile(rf"{BREAK}|{SOFT_BREAK}")


class Sentences:
    """Where the sentences of a text begin and end."""

    def __init__(self, text: str) -> None:
        self._ends = [match.end() for match in _SENTENCE_END.finditer(text)]
        self._length = len(text)

    def around(self, position: int) -> tuple[int, int]:
        """Begin and end of the sentence that holds a position; its mark belongs to it."""
        at = bisect_right(self._ends, position)
        begin = self._ends[at - 1] if at else 0
        return begin, self._ends[at] if at < len(self._ends) else self._length


@dataclass(frozen=True)
class Context:
    """A letter, or several at once, in its sentence, in small letters.

    floor: where what was said of the letter before ends.
    """

    text: str
    start: int
    end: int
    sentence: tuple[int, int]
    floor: int
    clause_ends: bool

    @cached_property
    def near(self) -> str:
        """What stands before the letter, across lines."""
        return self.text[max(0, self.start - 100) : self.start]

    @cached_property
    def after(self) -> str:
        """What stands after the letter; long gaps, as of what was left out, are shortened."""
        return _LONG_GAP.sub("   ", self.text[self.end : self.end + 100])

    @cached_property
    def before(self) -> str:
        """The sentence up to the letter."""
        return self.text[max(self.sentence[0], self.floor, self.start - 110) : self.start]

    @cached_property
    def rest(self) -> str:
        """The sentence from the letter on."""
        return self.text[self.end : min(self.sentence[1], self.end + 120)]

    @cached_property
    def clause(self) -> str:
        """The letter's own clause up to it."""
        return after_last(_SOFT_BREAK, self.main)

    @cached_property
    def main(self) -> str:
        """The sentence up to the letter, after its last `but`, `so` or the like."""
        return after_last(_BREAK, self.before)


def after_last(pattern: re.Pattern[str], text: str) -> str:
    last = 0
    for match in pattern.finditer(text):
        last = match.end()
    return text[last:]
