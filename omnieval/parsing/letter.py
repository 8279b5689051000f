"""parse_letter: the answer letter that a reply commits to, by a named rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnieval.config import suggest
from omnieval.errors import ConfigError
from omnieval.parsing.daily_omni import daily_omni_official
from omnieval.parsing.options import lettered
from omnieval.parsing.parsed import ParsedLetter, Rule

RULES: Mapping[str, Rule] = {
    "daily-omni-official": daily_omni_official,
}


def parse_letter(
    reply: str, *, rule: str, options: Mapping[str, str] | Sequence[str] | None = None
) -> ParsedLetter:
    """Read the answer letter from a model's reply.

    reply: the whole text. rule: a name in `RULES`. options: letter -> text, or the texts in order;
    rules of the references ignore them. Pure and deterministic; never raises for any reply.
    Raises ConfigError for an unknown rule.
    """
    if rule not in RULES:
        raise ConfigError(f"unknown parser {rule!r}{suggest(rule, RULES)}")
    by_letter = options if isinstance(options, Mapping) else lettered(options or ())
    return RULES[rule](reply, by_letter)
