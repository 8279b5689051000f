"""Reply text to answer letter: one pure function a named rule."""

from omnieval.parsing.answer_text import answer_text, is_open_reasoning
from omnieval.parsing.letter import RULES, applicable, parse_letter
from omnieval.parsing.options import (
    gold_letter,
    lettered,
    option_letters,
    relabelled,
    split_label,
    unlabelled,
)
from omnieval.parsing.parsed import ParsedLetter
from omnieval.parsing.unicode import visible, well_formed

__all__ = [
    "RULES",
    "ParsedLetter",
    "answer_text",
    "applicable",
    "gold_letter",
    "is_open_reasoning",
    "lettered",
    "option_letters",
    "parse_letter",
    "relabelled",
    "split_label",
    "unlabelled",
    "visible",
    "well_formed",
]
