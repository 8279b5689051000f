"""parse_letter: the answer letter that a reply commits to, by a named rule."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from omnieval.errors import ConfigError
from omnieval.parsing.daily_omni import daily_omni_official
from omnieval.parsing.daily_omni_upstream import daily_omni_upstream
from omnieval.parsing.lmms_eval import lmms_eval
from omnieval.parsing.omnievalkit import omnievalkit
from omnieval.parsing.options import lettered
from omnieval.parsing.parsed import ParsedLetter, Rule
from omnieval.parsing.video_mme import videomme_official
from omnieval.parsing.vlmevalkit import vlmevalkit
from omnieval.wording import suggest


def _careful(reply: str, options: Mapping[str, str]) -> ParsedLetter:
    # Its many patterns take longer to compile than the rest of omnieval takes to import.
    from omnieval.parsing.careful import careful

    return careful(reply, options)


RULES: Mapping[str, Rule] = {
    "careful": _careful,
    "daily-omni-official": daily_omni_official,
    "daily-omni-upstream": daily_omni_upstream,
    "lmms-eval": lmms_eval,
    "omnievalkit": omnievalkit,
    "videomme-official": videomme_official,
    "vlmevalkit": vlmevalkit,
}


# Rules that know the letters A to D only, whatever the options are.
_FOUR_LETTERS = frozenset({"daily-omni-official", "daily-omni-upstream", "videomme-official"})


def applicable(letters: Collection[str]) -> list[str]:
    """The rules that can read an answer among these letters."""
    beyond = not set(letters) <= set("ABCD")
    return [name for name in RULES if not (beyond and name in _FOUR_LETTERS)]


def parse_letter(
    reply: str, *, rule: str, options: Mapping[str, str] | Sequence[str] | None = None
) -> ParsedLetter:
    """Read the answer letter from a model's reply.

    reply: the whole text. rule: a name in `RULES`. options: letter -> text, or the texts in order; some
    rules ignore them. Pure and deterministic; never raises for any reply.
    Raises ConfigError for an unknown rule.
    """
    if rule not in RULES:
        raise ConfigError(f"unknown parser {rule!r}{suggest(rule, RULES)}")
    by_letter = options if isinstance(options, Mapping) else lettered(options or ())
    return RULES[rule](reply, by_letter)
