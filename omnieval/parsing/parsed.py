"""What a rule makes of a reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParsedLetter:
    """letter: the option's letter, or None where the reply commits to none.

    span: (start, end) of the words in the reply that decided, or None. reason: which step of the rule
    decided.
    """

    letter: str | None
    span: tuple[int, int] | None
    reason: str

    @classmethod
    def at(cls, reply: str, span: tuple[int, int], reason: str) -> ParsedLetter:
        """The letter that stands at a place of the reply."""
        return cls(reply[span[0] : span[1]].upper()[:1], span, reason)

    @classmethod
    def none(cls, reason: str) -> ParsedLetter:
        """The reply commits to no letter."""
        return cls(None, None, reason)


# (reply, letter -> option text without its label) -> what it commits to. Pure, and never raises.
Rule = Callable[[str, Mapping[str, str]], ParsedLetter]
