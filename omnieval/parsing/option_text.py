"""The option whose text a reply repeats without its letter."""

from __future__ import annotations

import re
from collections.abc import Mapping

_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})
_UNSURE = re.compile(
    r"\b(?:not|never|cannot|unable|unsure|unclear|whether|if|unknown|none|neither|difficult|impossible)\b|n['’]t\b"
    r"|不是|无法|無法|不能|不确定|没有",
    re.IGNORECASE,
)
# What may stand before an option's text when the reply is nothing else.
_INTRODUCTION = re.compile(
    r"^\W*(?:(?:the|my|final|correct|right|best|answer|option|choice|is|it|that|would|be|should|答案|正确|是|为|选)\b\W*)+",
    re.IGNORECASE,
)
_LONGEST_REPLY = 600


def named_option(
    text: str, options: Mapping[str, str], *, whole: bool = False
) -> tuple[str, tuple[int, int] | None] | None:
    """(letter, place in the text) of the one option whose words the text contains, or None.

    whole: the text must be nothing else, but for an introduction such as `The answer is`. Otherwise a
    text that negates or doubts, is long, or contains several options' words names none.
    """
    wanted = {letter: _words(option) for letter, option in options.items()}
    wanted = {letter: words for letter, words in wanted.items() if words}
    if len(text) > _LONGEST_REPLY * 8 or not wanted:
        return None
    said = _words(text)
    equal = [letter for letter, words in wanted.items() if words == said]
    if not equal:
        introduction = _INTRODUCTION.match(text)
        if introduction is not None:
            rest = _words(text[introduction.end() :])
            equal = [letter for letter, words in wanted.items() if words == rest]
    if len(equal) == 1:
        return equal[0], _place(text, options[equal[0]])
    leading = [] if whole else [x for x in wanted if _leads(text, options[x])]
    if len(leading) == 1:
        return leading[0], _place(text, options[leading[0]])
    if whole or equal or len(text) > _LONGEST_REPLY or _UNSURE.search(text):
        return None
    contained = {letter: words for letter, words in wanted.items() if _contains(said, words)}
    longest = {
        letter
        for letter, words in contained.items()
        if not any(other != words and _contains(other, words) for other in contained.values())
    }
    if len(longest) != 1:
        return None
    letter = longest.pop()
    return letter, _place(text, options[letter])


def _words(text: str) -> list[str]:
    """Its words, small, without articles; text without spaces between words is one word a run."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return [word for word in words if word not in _ARTICLES] or words


def _contains(words: list[str], part: list[str]) -> bool:
    joined, wanted = " ".join(words), " ".join(part)
    if not wanted.isascii():
        return len(wanted) > 1 and wanted in joined
    return (len(wanted) > 2 or wanted.isdigit()) and f" {wanted} " in f" {joined} "


def _leads(text: str, option: str) -> bool:
    """Whether the text begins with the option as a phrase of its own: `No, it does not`."""
    said = text.lstrip(" \n*_`\"'").casefold()
    phrase = option.strip(" .。").casefold()
    return said.startswith(phrase) and said[len(phrase) :].lstrip("*_`\"'")[:1] in tuple(",.;:!\n。，；：！")


def _place(text: str, option: str) -> tuple[int, int] | None:
    start = text.lower().find(option.lower().strip(" .。"))
    length = len(option.strip(" .。"))
    return (start, start + length) if start >= 0 and len(text.lower()) == len(text) else None
