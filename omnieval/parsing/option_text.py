"""The option whose text a reply repeats without its letter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from omnieval.parsing.doubt_words import NEGATION, NO_NEGATION, SUPPOSED

_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})
_UNSURE = re.compile(
    rf"{NEGATION}|{SUPPOSED}|\b(?:unable|unsure|unclear|unknown|absent|missing|lacks?|without|rather"
    rf"|would)\b|不确定|もし",
    re.IGNORECASE,
)
_NO_NEGATION = re.compile(NO_NEGATION, re.IGNORECASE)
# What a writer says of himself and not of the question: `I'm happy to help`, `No, I can't determine this`.
_OF_ONESELF = re.compile(
    r"\b(?:i['’]?\s?a?m|i\s+would\s+be|i['’]d\s+be|we['’]re|what\s+an?|i\s+hope)\s+(?:\w+ly\s+|so\s+|very\s+"
    r"|not\s+)?\w+",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"(?:can(?:no|['’])?t|cannot|unable\s+to|not\s+able\s+to|impossible\s+to|difficult\s+to|hard\s+to"
    r"|don['’]t|do\s+not|didn['’]t)\s+(?:\w+ly\s+)?"
    r"(?:determine|tell|say|answer|know|assist|help|identify|confirm|be\s+(?:sure|certain|determined)|view"
    r"|watch|access|receive|process|have\s+(?:enough|access|the))"
    r"|(?:can(?:no|['’])?t|cannot)\s+(?:see|hear)\s+(?:the|any|your)\s+(?:video|audio|clip|file)"
    r"|\b(?:video|audio|clip|file|link)\s+(?:won['’]t|doesn['’]t|does\s+not|isn['’]t|is\s+not|didn['’]t"
    r"|failed|is\s+missing)"
    r"|\bsorry\b|\bi\s+understand\b|\bi\s+have\s+no\b|\bquestion\b|\bi\s+(?:was|am|have)\s+not\b"
    r"|\bi\s+(?:wasn|haven)['’]t\b|\bi\s+(?:have|need|must)\s+to\b|\bi(?:\s+would|['’]d)?\s+need\b"
    r"|\bi\s+(?:can(?:no|['’])t|am\s+not"
    r"|don['’]t|do\s+not)\s+(?!hear|see|think|believe|notice)\w+|\bi\s+can(?:no|['’])t\s*(?:[.!]|$)"
    r"|\blet\s+me\b(?!\s+know)|\bplease\b|\bhelp\b|\b(?:no|not)\s+(?:idea|sure|clear|certain|enough)\b|\?"
    r"|无法|不能确定|不知道|不确定|わかりません|모르",
    re.IGNORECASE,
)
_ASKS_FOR = re.compile(
    r"\b(?:please|could\s+you|can\s+you)\s+(?:\w+\s+)?(?:share|upload|provide|send|give|paste|describe)"
    r"|\blet\s+me\s+(?:watch|see|check|listen|look|take)\b|\b(?:send|tell)\s+me\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;.!。，；！\n]|\bbut\b|而是|(?=\brather\s+than\b|\binstead\s+of\b|(?<=\s)not\b)")
# What may stand before an option's text when the reply is nothing else.
_INTRODUCTION = re.compile(
    r"^\W*(?:(?:i['’]d|i|say|think|believe|guess|the|my|final|correct|right|best|answer|option|choice|is|it"
    r"|that"
    r"|would|be|should|答案|正确|是"
    r"|为"
    r"|选)\b\W*)+",
    re.IGNORECASE,
)
# What is said to be the answer at the end of a text.
_DECLARED = re.compile(
    r"\b(?:the|my)\s+(?:\w+\s+)?answer\s+(?:is|would\s+be"
    r"|must\s+be)\W{1,4}(?P<said>[^\W_][^.!?\n]{0,200})[\W_]*\Z",
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
    wanted = {letter: _option_words(option) for letter, option in options.items()}
    wanted = {letter: words for letter, words in wanted.items() if words}
    if len(text) > _LONGEST_REPLY * 8 or not wanted:
        return None
    said = _words(text)
    equal = _equal(text, said, wanted)
    if len(equal) == 1:
        question = text.rstrip().endswith("?") and len(said) > len(wanted[equal[0]])
        return None if question else (equal[0], _place(text, options[equal[0]]))
    if whole or equal:
        return None
    leading = [letter for letter in wanted if _leads(text, options[letter])]
    if len(leading) == 1:
        return leading[0], _place(text, options[leading[0]])
    if leading or len(text) > _LONGEST_REPLY:
        return None
    letter = _contained(_OF_ONESELF.sub(" ", text), wanted, options)
    return None if letter is None else (letter, _place(text, options[letter]))


def _equal(text: str, said: list[str], wanted: Mapping[str, list[str]]) -> list[str]:
    """The options that are all that the text says, with or without an introduction."""
    equal = [letter for letter, words in wanted.items() if words == said]
    introduction = None if equal else _INTRODUCTION.match(text)
    if introduction is not None:
        rest = _words(text[introduction.end() :])
        equal = [letter for letter, words in wanted.items() if words == rest]
    declared = None if equal else _DECLARED.search(text)
    if declared is not None:
        rest = _words(declared.group("said"))
        equal = [letter for letter, words in wanted.items() if words == rest]
    return equal


def _contained(text: str, wanted: Mapping[str, list[str]], options: Mapping[str, str]) -> str | None:
    """The one option that the text contains and does not deny or doubt."""
    said = _words(text)
    contained = {letter: words for letter, words in wanted.items() if _contains(said, words)}
    longest = [
        letter
        for letter, words in contained.items()
        if not any(other != words and _contains(other, words) for other in contained.values())
    ]
    if not longest or "?" in text or "？" in text or _NO_ANSWER.search(text) or _ASKS_FOR.search(text):
        return None
    affirmed = [letter for letter in longest if not _denied(text, wanted[letter], options[letter])]
    return affirmed[0] if len(affirmed) == 1 else None


def _denied(text: str, words: list[str], option: str) -> bool:
    """Whether an option's clause denies or doubts it."""
    plain = re.compile(re.escape(option.strip(" .。")), re.IGNORECASE)
    holding = [part for part in _CLAUSE.split(text) if _contains(_words(part), words)] or [text]
    around = [_NO_NEGATION.sub(" ", plain.sub(" ", part)) for part in holding]
    return any(_UNSURE.search(part) for part in around)


def _words(text: str) -> list[str]:
    """Its words, small, without articles; text without spaces between words is one word a run."""
    words = _WORD.findall(text)
    folded = [word.casefold() for word in words]
    return [
        small for i, small in enumerate(folded) if small not in _ARTICLES or (i and words[i] == "A")
    ] or folded


# A question's options are looked for again and again.
_option_words = lru_cache(maxsize=1_000)(_words)


def _contains(words: list[str], part: list[str]) -> bool:
    joined, wanted = " ".join(words), " ".join(part)
    if not wanted.isascii():
        return len(wanted) > 1 and wanted in joined
    return (len(wanted) > 2 or wanted.isdigit()) and f" {wanted} " in f" {joined} "


def _leads(text: str, option: str) -> bool:
    """Whether the text begins with the option as a phrase of its own: `No, it does not`."""
    said = text.lstrip(" \n*_`\"'").casefold()
    phrase = option.strip(" .。").casefold()
    rest = said[len(phrase) :].lstrip("*_`\"'")
    if not said.startswith(phrase) or not re.match(r"[,.;:!\n。，；：！]|\s*[—–]|\s-\s", rest):
        return False
    if _ASKS_FOR.search(rest):
        return False
    sentence = re.match(r"\s*[,.;:!\n。，；：！—–-]\s*[^.!\n。！]*.", rest, re.DOTALL)
    return sentence is None or not _NO_ANSWER.search(sentence.group())


def _place(text: str, option: str) -> tuple[int, int] | None:
    start = text.lower().find(option.lower().strip(" .。"))
    length = len(option.strip(" .。"))
    return (start, start + length) if start >= 0 and len(text.lower()) == len(text) else None
