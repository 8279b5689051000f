"""Option letters: which letter an option goes by, and which option an answer names."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

LETTERS = string.ascii_uppercase

# A label in front of an option: "A. x", "(A) x", "A) x", "A、x", "A：x", full-width forms alike.
_LABEL = re.compile(r"\s*[(（]?([A-Z])\s*[.．、:：)）]\s*(?=\S)")


def split_label(option: str) -> tuple[str | None, str]:
    """(letter, text without its label), or (None, the stripped text) where no label leads."""
    match = _LABEL.match(option)
    if match is None:
        return None, option.strip()
    return match.group(1), option[match.end() :].strip()


def lettered(options: Sequence[str]) -> dict[str, str]:
    """Letter -> option text without its label, as a prompt shows them.

    Labels are dropped only when every option carries its own right one (see `unlabelled`), so that `A.M.` and
    `P.M.` stay whole. Letters go by position.
    """
    return dict(zip(LETTERS, unlabelled(options), strict=False))


def option_letters(options: Sequence[str]) -> str:
    """The letters that options go by."""
    return LETTERS[: len(options)]


def has_other_labels(options: Sequence[str]) -> bool:
    """Whether the options carry labels that are not A, B, C ... in order: a bare letter is ambiguous then."""
    labels = [split_label(option)[0] for option in options]
    return None not in labels and labels != list(LETTERS[: len(labels)])


def unlabelled(options: Sequence[str]) -> list[str]:
    """The options' texts. Labels are dropped only when every option carries its own right one."""
    split = [split_label(option) for option in options]
    right = all(label == LETTERS[i] for i, (label, _) in enumerate(split[: len(LETTERS)]))
    return [text if right else option.strip() for (_, text), option in zip(split, options, strict=True)]


def relabelled(options: Sequence[str]) -> list[str]:
    """`A. text` for every option by position; see `unlabelled` for labels that are there already."""
    return [f"{letter}. {text}" for letter, text in zip(LETTERS, unlabelled(options), strict=False)]


def gold_letter(answer: str, options: Sequence[str]) -> str | None:
    """The letter of the option that a data set's answer field names, or None.

    Accepts a bare letter, an option repeated with or without its label, and a leading label; never a
    capital that merely occurs inside a word.
    """
    by_letter = lettered(options)
    answer = answer.strip()
    ambiguous = has_other_labels(options)
    if answer.upper() in by_letter and not ambiguous:
        return answer.upper()
    for letter, option in zip(by_letter, options, strict=False):
        if answer and answer in (option.strip(), by_letter[letter]):
            return letter
    if ambiguous:
        return None
    label, text = split_label(answer)
    if label in by_letter and (not text or text == by_letter[label] or text not in by_letter.values()):
        return label
    bare = re.fullmatch(r"[(（]?\s*([A-Za-z])\s*[.．、:：)）]?", answer)
    named = bare.group(1).upper() if bare else None
    return named if named in by_letter else None
