"""When the text tokens of an answer came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnieval.backends.rounding import rounded

# No chunk of a stream brings more tokens; a server that says so does not count them.
_MOST_A_CHUNK = 4096


class TokenTimes:
    """Counts the text tokens of each chunk by the server's running count, where it gives one.

    A chunk of k tokens counts as k gaps between tokens. Tokens of sound are no text tokens: servers count
    them in `completion_tokens` as well, or start a count of their own in the chunks of another modality.
    first_text_s, last_text_s: seconds from sending to the first and last non-empty text.
    """

    def __init__(self) -> None:
        self.first_text_s: float | None = None
        self.last_text_s: float | None = None
        self.itl_s: list[float] = []
        self.text_tokens = 0
        self._last_token_s: float | None = None
        self._text_count = 0  # the running count, as the last chunk of text gave it
        self._other_count = 0  # and as chunks of sound have raised it since then

    def count(self, usage: Any, *, is_text: bool) -> int:
        """How many text tokens a chunk brought, 1 where the server does not say.

        usage: the chunk's. is_text: its modality is text, or it has none.
        """
        completion = text_tokens_of(usage)
        if completion is None:
            return 1
        if not is_text:
            self._other_count = max(self._other_count, completion)
            return 0
        # A count that chunks of sound have raised and that goes on from there is one for all modalities.
        before = self._other_count if completion >= self._other_count else self._text_count
        new = completion - max(before, self._text_count)
        if new > _MOST_A_CHUNK:
            return 1
        self._text_count = max(self._text_count, completion)
        self._other_count = 0
        return max(1, new)

    def take(self, at_s: float, tokens: int, *, is_text: bool) -> None:
        """Tokens came at `at_s` seconds. is_text: they are part of the answer, not of its reasoning."""
        if self._last_token_s is not None:
            self.itl_s += [(at_s - self._last_token_s) / tokens] * tokens
        self._last_token_s = at_s
        if is_text:
            self.first_text_s = at_s if self.first_text_s is None else self.first_text_s
            self.last_text_s = at_s
            self.text_tokens += tokens

    def tpot_s(self, tokens: int | None = None) -> float | None:
        """(time to the last text - time to the first) / (text tokens - 1); None below two tokens.

        tokens: how many text tokens there are, where the server's final count is of them alone.
        """
        tokens = tokens or self.text_tokens
        if self.first_text_s is None or self.last_text_s is None or tokens < 2:
            return None
        return rounded((self.last_text_s - self.first_text_s) / (tokens - 1))


def text_tokens_of(usage: Any) -> int | None:
    """The server's count of completion tokens without those that it says are sound."""
    if not isinstance(usage, Mapping):
        return None
    completion = usage.get("completion_tokens")
    details = usage.get("completion_tokens_details")
    sound = details.get("audio_tokens") if isinstance(details, Mapping) else None
    if not isinstance(completion, int) or isinstance(completion, bool):
        return None
    return completion - (sound if isinstance(sound, int) else 0)
