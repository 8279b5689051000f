"""Reply text to answer letter: one pure function a named rule."""

from omnieval.parsing.letter import RULES, parse_letter
from omnieval.parsing.options import gold_letter, lettered, relabelled, split_label
from omnieval.parsing.parsed import ParsedLetter
from omnieval.parsing.unicode import visible, well_formed

__all__ = [
    "RULES",
    "ParsedLetter",
    "gold_letter",
    "lettered",
    "parse_letter",
    "relabelled",
    "split_label",
    "visible",
    "well_formed",
]
