"""A server's own running count of the sound that it sends, held against what came."""

from __future__ import annotations

_LONGEST_MS = 1e9
_ROUNDING_MS = 2.0
_SURPLUS = 0.05


class PromisedSound:
    """Counts for each response, or for the whole session; the first piece of a response tells which."""

    def __init__(self) -> None:
        self._before_s = 0.0  # sound of earlier responses
        self._from_s: float | None = None  # where the present count begins
        self._promised_ms = 0.0

    def piece(self, length_ms: object, sound_s: float) -> None:
        """A piece came. length_ms: the count, if it is one. sound_s: all sound of the session, with it."""
        if not isinstance(length_ms, int | float) or not 0 <= length_ms < _LONGEST_MS:
            return
        if self._from_s is None:
            of_session = abs(length_ms - 1000 * sound_s) < abs(length_ms - 1000 * (sound_s - self._before_s))
            self._from_s = 0.0 if of_session else self._before_s
        self._promised_ms = max(self._promised_ms, float(length_ms))

    def missing_ms(self, sound_s: float) -> float:
        """What never came of the present response; 0 where nothing is missing or nothing was counted."""
        missing_ms = self._promised_ms - self._came_ms(sound_s)
        return missing_ms if missing_ms > _ROUNDING_MS else 0.0

    def surplus(self, sound_s: float) -> str | None:
        """What to say where much more came of the present response than was counted."""
        came_ms = self._came_ms(sound_s)
        if self._from_s is None or came_ms <= (1 + _SURPLUS) * self._promised_ms + _ROUNDING_MS:
            return None
        return (
            f"the server counts {self._promised_ms:.0f} ms of sound, but {came_ms:.0f} ms came: it says a "
            "wrong sample rate, or sends pieces twice"
        )

    def done(self, sound_s: float) -> None:
        """The response has ended."""
        self._before_s, self._from_s, self._promised_ms = sound_s, None, 0.0

    def _came_ms(self, sound_s: float) -> float:
        return 1000 * (sound_s - (self._before_s if self._from_s is None else self._from_s))
