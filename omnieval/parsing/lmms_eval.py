"""The shared multiple-choice rule of lmms-eval: the best-formatted letter, the last one of its kind.

It is the rule that ranks formats; later versions of lmms-eval have a stricter one in its place. Known
weaknesses are part of it: any capital counts where nothing else is found ("Cat" gives C), and options that
are ruled out count like the chosen one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from omnieval.parsing.parsed import ParsedLetter

_DEFAULT_LETTERS = "ABCDEFGH"
_STRIPPED = ",.!?;:'\""
# Formats by rank, after a letter at the start, at the end, and after one of the phrases.
_START, _END, _PHRASE = 10, 9, 7
_FORMATS = ((6, "({})"), (5, "{}."), (4, "{}:"), (3, "{})"), (2, "{} "))
_KINDS = (
    "answer",
    "correct answer",
    "best answer",
    "correct option",
    "best option",
    "choice",
    "correct choice",
)
_PHRASES = (
    *(f"{article}{kind} is" for article in ("the ", "") for kind in _KINDS),
    *("i choose", "i select", "i pick", "my answer is", "my choice is"),
    *("옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは"),
)
_REASONS = {
    10: "letter at the start", 9: "letter at the end", 7: "after an answer phrase", 6: "in brackets",
    5: "before a full stop", 4: "before a colon", 3: "before a bracket", 2: "before a space", 0: "any letter",
}  # fmt: skip


def lmms_eval(reply: str, options: Mapping[str, str]) -> ParsedLetter:
    """The letter of the highest-ranking format; of several, the last.

    Formats from the highest: the reply begins with a letter, ends with one, has one after a phrase such
    as "the answer is" (anywhere after its first occurrence), then `(A)`, `A.`, `A:`, `A)`, `A ` and last
    any capital. Without options the letters are A to H.
    """
    letters = tuple(options) or tuple(_DEFAULT_LETTERS)
    core = reply.strip()
    for mark in _STRIPPED:
        core = core.strip(mark)
    text = f" {core} "
    found = list(_candidates(text, letters))
    if not found:
        found = [(0, text.rfind(letter), letter) for letter in letters if letter in text]
    if not found:
        return ParsedLetter.none("none of the letters")
    rank, position, letter = max(found, key=lambda candidate: candidate[:2])
    offset = reply.find(core) - 1
    place = text.find(letter, position) + offset
    return ParsedLetter(letter, (place, place + 1) if 0 <= place < len(reply) else None, _REASONS[rank])


@lru_cache(maxsize=64)
def _formatted(letters: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """(rank, the letter in its format, letter)."""
    return [(rank, form.format(letter), letter) for rank, form in _FORMATS for letter in letters]


def _candidates(text: str, letters: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
    """(rank, position, letter) in the order in which ties are decided."""
    for rank, form, letter in _formatted(letters):
        position = text.rfind(form)
        if position >= 0:
            yield rank, position, letter
    low = text.lower()
    for phrase in _PHRASES:
        after = low.find(phrase)
        for letter in letters if after >= 0 else ():
            position = text.find(letter, after + len(phrase))
            if position >= 0:
                yield _PHRASE, position, letter
    bare = text.strip()
    for letter in letters:
        if bare.startswith(letter) and not bare[1:2].isalpha():
            yield _START, 0, letter
        if bare.endswith(letter) and not bare[-2:-1].isalpha():
            yield _END, text.rfind(letter), letter
