"""The rules of OmniEvalKit's multiple-choice evaluator, without the language model that it can ask next.

Known weaknesses are part of it: the reply is compared in small letters, so that "...is a woman" gives A.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnieval.parsing.parsed import ParsedLetter

_DEFAULT_LETTERS = "ABCD"
# In this order; the letter goes where the braces are. The first one that occurs with any letter decides.
_TEMPLATES = (
    *(
        "答案是{}",
        "答案是:{}",
        "答案是：{}",
        "答案是 {}",
        "答案是选项{}",
        "答案应该是{}",
        "答案选{}",
        "{}是正确",
    ),
    *("选项{}是最合适的", "正确答案是{}", "应该选{}", "选择{}"),
    *("the answer is {}", "the correct answer is {}", "answer is {}", "answer: {}", "the answer is ({})"),
    *("the answer is option {}", "would select {}", "would choose {}", "would select option {}"),
    *("would choose option {}", "{} is the best answer", "{} is correct", "option {} is correct"),
    *("the best answer is {}", "the best option is {}", 'the answer is "{}"', "the answer is '{}'"),
    *("answer is: {}", "answer is ({})", "({})", "option {}", "**{}**", "**{}.", "**{})", "is {}", "is: {}"),
    *("would be {}", "is option {}", ": {}", "\\boxed{{{}}}", "\\text{{{}}}"),
)
_AFTER_FIRST = ".,;:) "
_BRACKETS = (re.compile(r"\(([A-D])\)"), re.compile(r"\[([A-D])\]"), re.compile(r"（([A-D])）"))
_SHORT = 3


def omnievalkit(reply: str, options: Mapping[str, str]) -> ParsedLetter:
    """The letter of the first template that occurs; else of a very short reply, a leading letter or one in
    brackets; else that of the option whose text is more than half of the reply."""
    letters = tuple(options) or tuple(_DEFAULT_LETTERS)
    text = " ".join(reply.lower().split())
    for template in _TEMPLATES:
        for letter in letters:
            if template.format(letter.lower()) in text:
                return _found(reply, letter, f"the phrase {template.format(letter)!r}")
    by_pattern = _by_pattern(text, letters)
    if by_pattern is not None:
        return _found(reply, *by_pattern)
    for letter, option in options.items():
        content = option.lower()
        if content and (content == text or (len(content) > _SHORT and _is_most(content, text))):
            return ParsedLetter(letter, None, "the text of an option")
    return ParsedLetter.none("no template, letter or option text")


def _by_pattern(text: str, letters: tuple[str, ...]) -> tuple[str, str] | None:
    upper = text.upper()
    if len(text) <= _SHORT:
        short = next((letter for letter in letters if letter in upper), None)
        if short is not None:
            return short, "a letter in a very short reply"
    for letter in letters:
        if text.startswith(letter.lower()) and (len(text) == 1 or text[1] in _AFTER_FIRST):
            return letter, "leading letter"
    for bracket in _BRACKETS:
        inside = next((match for match in bracket.findall(upper) if match in letters), None)
        if inside is not None:
            return inside, "a letter in brackets"
    return None


def _is_most(content: str, text: str) -> bool:
    return content in text and len(content) / len(text) > 0.5


def _found(reply: str, letter: str, reason: str) -> ParsedLetter:
    """The place is that of the letter where it stands alone for the first time, if it does."""
    alone = re.search(rf"(?<![^\W_]){letter}(?![^\W_])", reply, re.IGNORECASE)
    return ParsedLetter(letter, alone.span() if alone else None, reason)
