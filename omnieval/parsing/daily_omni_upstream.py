"""The rule of the Qwen2.5-Omni test script in the Daily-Omni repository: does the reply begin with A to D?

The script for Qwen3-Omni there has another rule. Known weaknesses are part of this one: any word will do that
begins with one of these letters, so that "Correct: A" gives C and "Based on the audio, B" gives B by luck.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnieval.parsing.parsed import ParsedLetter

_ROLE = "assistant"
_LETTER = re.compile(r"\s*([A-D])", re.IGNORECASE)


def daily_omni_upstream(reply: str, _options: Mapping[str, str]) -> ParsedLetter:
    """The first character, in any case, of what follows the first "assistant", or of the whole reply."""
    role = reply.find(_ROLE)
    match = _LETTER.match(reply, role + len(_ROLE) if role >= 0 else 0)
    if match is None:
        return ParsedLetter.none("does not begin with A-D")
    return ParsedLetter.at(reply, match.span(1), "first character")
