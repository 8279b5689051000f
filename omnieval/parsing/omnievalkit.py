"""The rules of OmniEvalKit's multiple-choice evaluator, without the models that it can ask next.

Known weaknesses are part of it: the reply is compared in small letters, so that "...is a woman" gives A.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from omnieval.parsing.parsed import ParsedLetter
from omnieval.parsing.unicode import place_before_folding

_DEFAULT_LETTERS = "ABCD"
# In this order; the letter goes where the @ is. The first one that occurs with any letter decides.
_TEMPLATES = (
    *("答案是@", "答案是:@", "答案是：@", "答案是 @", "答案是选项@", "答案应该是@", "答案选@", "@是正确"),
    *("选项@是最合适的", "正确答案是@", "应该选@", "选择@"),
    *("the answer is @", "the correct answer is @", "answer is @", "answer: @", "the answer is (@)"),
    *("the answer is option @", "would select @", "would choose @", "would select option @"),
    *("would choose option @", "@ is the best answer", "@ is correct", "option @ is correct"),
    *("the best answer is @", "the best option is @", 'the answer is "@"', "the answer is '@'"),
    *("answer is: @", "answer is (@)", "(@)", "option @", "**@**", "**@.", "**@)", "is @", "is: @"),
    *("would be @", "is option @", ": @", "\\boxed{@}", "\\text{@}"),
)
_AFTER_FIRST = ".,;:) "
_BRACKETS = (re.compile(r"\[([a-d])\]"), re.compile(r"（([a-d])）"))
_SHORT = 3

# What a step found: the letter, its place in the small-letter text (or None), and the step's name.
_Found = tuple[str, tuple[int, int] | None, str]


def omnievalkit(reply: str, options: Mapping[str, str]) -> ParsedLetter:
    """The letter of the first template that occurs; else any letter of a reply of up to three characters,
    a leading letter, or one in brackets; else that of the option whose text is more than half of the reply.
    Without options the letters are A to D.
    """
    letters = tuple(options) or tuple(_DEFAULT_LETTERS)
    text = " ".join(reply.lower().split())
    for step in (_by_template(text, letters), _by_pattern(text, letters), _by_content(text, options)):
        for letter, span, reason in step:
            return ParsedLetter(letter, span and _span(reply, text, span), reason)
    return ParsedLetter.none("no template, letter or option text")


def _by_template(text: str, letters: tuple[str, ...]) -> Iterator[_Found]:
    for before, after, pattern in _patterns(letters):
        if before not in text or after not in text:
            continue
        present = set(pattern.findall(text))
        for letter in letters:
            if letter.lower() in present:
                place = text.find(before + letter.lower() + after) + len(before)
                yield letter, (place, place + len(letter)), f"the phrase {before + letter + after!r}"


@lru_cache(maxsize=64)
def _patterns(letters: tuple[str, ...]) -> list[tuple[str, str, re.Pattern[str]]]:
    """For each template what stands before the letter, what after it, and what finds its letters."""
    any_letter = "|".join(re.escape(letter.lower()) for letter in letters)
    parts = [template.split("@") for template in _TEMPLATES]
    return [
        # Looked ahead, since a letter may belong to what stands before the next one: "is is c".
        (before, after, re.compile(f"{re.escape(before)}(?=({any_letter}){re.escape(after)})"))
        for before, after in parts
    ]


def _by_pattern(text: str, letters: tuple[str, ...]) -> Iterator[_Found]:
    if len(text) <= _SHORT:
        for letter in letters:
            if letter in text.upper():
                place = next((i for i, character in enumerate(text) if letter in character.upper()), None)
                yield letter, None if place is None else (place, place + 1), "a letter in a very short reply"
    for letter in letters:
        if text.startswith(letter.lower()) and (len(text) == 1 or text[1] in _AFTER_FIRST):
            yield letter, (0, 1), "leading letter"
    for bracket in _BRACKETS:
        for match in bracket.finditer(text):
            if match.group(1).upper() in letters:
                yield match.group(1).upper(), match.span(1), "a letter in brackets"


def _by_content(text: str, options: Mapping[str, str]) -> Iterator[_Found]:
    for letter, option in options.items():
        content = option.lower()
        long = len(content) > _SHORT and len(content) / max(len(text), 1) > 0.5
        if content and (content == text or (long and content in text)):
            place = text.find(content)
            yield letter, (place, place + len(content)), "the text of an option"


def _span(reply: str, text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The place in the reply of a place in its text, which has small letters and single spaces."""
    low = reply.lower()
    start, last = (
        place_before_folding(reply, _with_all_spaces(low, text, at), str.lower)
        for at in (span[0], span[1] - 1)
    )
    return start, last + 1


def _with_all_spaces(low: str, text: str, place: int) -> int:
    words = text.count(" ", 0, place)
    start_of_word = len(low) - len(low.split(maxsplit=words)[words])
    return start_of_word + place - (text.rfind(" ", 0, place) + 1)
