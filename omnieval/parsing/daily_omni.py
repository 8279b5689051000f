"""The rule of the Daily-Omni benchmark's own scorer, as vLLM-Omni's bench applies it.

Known weaknesses are part of it: "A man walks in, so C" gives A, and reasoning is read like an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnieval.parsing.parsed import ParsedLetter
from omnieval.parsing.unicode import place_before_folding

_AFTER_ASSISTANT = re.compile(r"assistant\s*", re.IGNORECASE)
_LEADING = re.compile(r"([A-D])(?:[\s.):：]|$)", re.IGNORECASE)
_WORD = re.compile(r"\b([A-D])\b")
_BETWEEN_NON_LATIN = re.compile(r"(?:[^A-Za-z]|^)([A-D])(?:[^A-Za-z]|$)", re.IGNORECASE)


def daily_omni_official(reply: str, _options: Mapping[str, str]) -> ParsedLetter:
    """What follows the first word "assistant" counts, or the whole reply. In that text: a leading A-D
    before a space, full stop, bracket, colon or the end; else the first A-D that stands as a word;
    else the last A-D between characters that are not Latin letters (for text without spaces).
    """
    marker = _AFTER_ASSISTANT.search(reply)
    start = marker.end() if marker else 0
    start += len(reply[start:]) - len(reply[start:].lstrip())
    text = reply[start:].rstrip()
    leading = _LEADING.match(text)
    if leading:
        return ParsedLetter.at(reply, _span(start, leading), "leading letter")
    word = _WORD.search(text.upper())
    if word:
        position = start + place_before_folding(text, word.start(1), str.upper)
        span = (position, position + 1)
        return ParsedLetter.at(reply, span, "first letter that stands as a word")
    between = list(_BETWEEN_NON_LATIN.finditer(text))
    if between:
        return ParsedLetter.at(reply, _span(start, between[-1]), "last letter between non-Latin characters")
    return ParsedLetter.none("no letter A-D found")


def _span(start: int, match: re.Match[str]) -> tuple[int, int]:
    return start + match.start(1), start + match.end(1)
