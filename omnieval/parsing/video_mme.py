"""The rule of Video-MME's own scorer, which other benches share: the first capital A-D that is left.

Known weaknesses are part of it: any capital counts, also inside a word, so that "ANSWER: D" gives A.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from omnieval.parsing.parsed import ParsedLetter

# Removed in this order, each wherever it occurs. The scorer's list lacks two commas, hence the two long ones;
# the last two are in VLMEvalKit's copy of it.
_PREFIXES = (
    "The best answer is",
    "The correct answer is",
    "The answer is",
    "The answer",
    "The best option isThe correct option is",
    "Best answer:Best option:",
    "Answer:",
    "Option:",
)
_LETTER = re.compile(r"[ABCD]")


def videomme_official(reply: str, _options: Mapping[str, str]) -> ParsedLetter:
    """The first capital A-D after all known prefixes are taken out."""
    text = reply
    origin: Sequence[int] = range(len(reply))
    for prefix in _PREFIXES:
        text, origin = _without(text, origin, prefix)
    match = _LETTER.search(text)
    if match is None:
        return ParsedLetter.none("no capital A-D")
    place = origin[match.start()]
    return ParsedLetter.at(reply, (place, place + 1), "first capital A-D")


def _without(text: str, origin: Sequence[int], part: str) -> tuple[str, Sequence[int]]:
    """The text without a part, and for each character that is left its place in the reply."""
    if part not in text:
        return text, origin
    pieces = text.split(part)
    places: list[int] = []
    start = 0
    for piece in pieces:
        places.extend(origin[start : start + len(piece)])
        start += len(piece) + len(part)
    return "".join(pieces), places
