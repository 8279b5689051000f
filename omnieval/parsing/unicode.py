"""Text that can be written to a file and shown on a terminal, whatever came in."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable


def well_formed(text: str) -> str:
    """Join surrogate halves that belong together and replace lone ones by U+FFFD.

    JSON may carry halves of a character as two escapes, even in two chunks of a stream; Python keeps
    them apart, and such text cannot be written to a file.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def visible(text: str) -> str:
    """The text with control characters, which could steer a terminal or turn its direction, as U+FFFD.

    Line ends stay, and so do spaces of any width and the joiners that some scripts and emoji need.
    """
    return "".join(c if c.isprintable() or _harmless(c) else "\ufffd" for c in text)


def _harmless(character: str) -> bool:
    return character in "\n\u200c\u200d" or unicodedata.category(character) == "Zs"


def place_before_folding(text: str, place: int, fold: Callable[[str], str]) -> int:
    """The place in a text of a place in its folded form (`str.lower`, `str.upper`), which can be longer."""
    return bisect_right(range(len(text)), place, key=lambda end: len(fold(text[:end]))) - 1
