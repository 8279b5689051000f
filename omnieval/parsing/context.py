"""A letter in its sentence: what stands before it and after it, and in which clause."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Context:
    """A letter, or several at once, in its sentence, in small letters.

    near: what stands before the letter, across lines. after: what stands after it; long gaps, as of what was
    left out, are shortened. before, rest: the sentence up to the letter, and from it on. main: what stands
    before the letter after the sentence's last `but`, `so` or the like. clause: its own clause up to it.
    """

    text: str
    start: int
    end: int
    sentence: tuple[int, int]
    clause_ends: bool
    near: str
    after: str
    before: str
    rest: str
    main: str
    clause: str

    @classmethod
    def of(
        cls, text: str, start: int, end: int, sentence: tuple[int, int], floor: int, clause_ends: bool
    ) -> Context:
        """floor: where what was said of the letter before ends."""
        before = text[max(sentence[0], floor, start - 110) : start]
        main = after_last(_BREAK, before)
        return cls(
            text,
            start,
            end,
            sentence,
            clause_ends,
            near=text[max(0, start - 100) : start],
            after=_LONG_GAP.sub("   ", text[end : end + 100]),
            before=before,
            rest=text[end : min(sentence[1], end + 120)],
            main=main,
            clause=after_last(_SOFT_BREAK, main),
        )


def after_last(pattern: re.Pattern[str], text: str) -> str:
    last = 0
    for match in pattern.finditer(text):
        last = match.end()
    return text[last:]
