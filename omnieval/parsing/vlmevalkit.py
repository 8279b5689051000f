"""VLMEvalKit's inference of an option without a judge: a lone letter near the end, else the option's text.

Known weaknesses are part of it: letters glued to other marks are not seen ("`A`"), one that stands early in
a long reply does not count, and "the answer is a dog" gives A.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnieval.parsing.parsed import ParsedLetter
from omnieval.parsing.unicode import place_before_folding

_DEFAULT_LETTERS = "ABCD"
_MARKS = ".()[],:;!*#{}"
_NEAR_END = 5
# The reference also allows "correct" before it, which changes nothing.
_PHRASE = re.compile(r"[Aa](?i:nswer\s+is\s+\**([ABCD]))")
_FAILED = "Failed to obtain answer via API"
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)


def vlmevalkit(reply: str, options: Mapping[str, str]) -> ParsedLetter:
    """The only option letter among the words, when it first stands among the last four; else the letter after
    the first "answer is"; else the only option whose text occurs in a reply that is at most twice as long as
    the options together. Without options the letters are A to D.
    """
    letters = tuple(options) or tuple(_DEFAULT_LETTERS)
    failed = _FAILED in reply
    if not failed and any(refusal in reply for refusal in _REFUSALS):
        return ParsedLetter.none("a known refusal")
    by_letter = None if failed else _by_letter(reply, letters)
    return by_letter or _by_text(reply, options)


def _by_letter(reply: str, letters: tuple[str, ...]) -> ParsedLetter | None:
    spaced = reply
    for mark in _MARKS:
        spaced = spaced.replace(mark, " ")
    words = spaced.split()
    known = set(words)
    named = [letter for letter in letters if letter in known]
    if len(named) == 1 and words.index(named[0]) > len(words) - _NEAR_END:
        place = re.search(rf"(?<!\S){re.escape(named[0])}(?!\S)", spaced)
        return ParsedLetter(named[0], place and place.span(), "the only letter, near the end")
    if not named and "Z" in known:
        return ParsedLetter.none("Z, which stands for none")
    phrase = _PHRASE.search(reply)
    if phrase is not None and phrase.group(1).upper() in letters:
        return ParsedLetter.at(reply, phrase.span(1), 'after "answer is"')
    return None


def _by_text(reply: str, options: Mapping[str, str]) -> ParsedLetter:
    low = reply.lower()
    if len(low) > 2 * sum(len(option) for option in options.values()):
        return ParsedLetter.none("no letter, and too long for an option's text")
    named = [letter for letter, option in options.items() if option.lower() in low]
    if len(named) != 1:
        return ParsedLetter.none("no letter and no option's text, or several")
    content = options[named[0]].lower()
    start = low.find(content)
    # An empty text, which the reference finds in every reply, has no place.
    span = _span(reply, start, len(content)) if content else None
    return ParsedLetter(named[0], span, "the text of an option")


def _span(reply: str, start: int, length: int) -> tuple[int, int]:
    last = place_before_folding(reply, start + length - 1, str.lower)
    return place_before_folding(reply, start, str.lower), last + 1
