"""The times of a full-duplex session."""

from __future__ import annotations

import time
from dataclasses import replace

from omnieval.backends.realtime.said import Said
from omnieval.backends.rounding import rounded
from omnieval.backends.sound.spoken import Spoken
from omnieval.types import SpokenAudio, Timing


class SessionClock:
    """Seconds from the session's request on; what is reported counts from the first silence that was sent."""

    def __init__(self) -> None:
        self._wall: float | None = None
        self._request = time.monotonic()
        self._silence_s: float | None = None
        self._end_s: float | None = None

    def begin(self) -> None:
        """The session is asked for now."""
        self._wall, self._request = time.time(), time.monotonic()

    def now_s(self) -> float:
        return time.monotonic() - self._request

    def appended(self, *, is_speech: bool) -> None:
        """A piece of the input goes up now."""
        if not is_speech and self._silence_s is None:
            self._silence_s = self.now_s()

    def end(self) -> None:
        """The answer is whole now."""
        self._end_s = self.now_s()

    def timing(self, said: Said, spoken: Spoken, *, of_sound: bool, tpot_s: float | None) -> Timing:
        """of_sound: the input has one; an answer that begins before its end has no RTF. tpot_s: as the
        server tells it."""
        silence_s = self._silence_s
        if silence_s is None:
            return Timing(started=self._wall)
        rtf = None
        if spoken.first_s is not None and spoken.last_s is not None and spoken.duration_s:
            over_input = of_sound and spoken.first_s < silence_s
            rtf = None if over_input else (spoken.last_s - silence_s) / spoken.duration_s

        def since(at_s: float | None) -> float | None:
            return None if at_s is None else rounded(at_s - silence_s)

        return Timing(
            started=None if self._wall is None else self._wall + silence_s,
            ttft_s=since(said.first_s),
            tpot_s=tpot_s,
            e2e_s=since(self._end_s),
            ttfp_s=since(spoken.first_s),
            rtf=rounded(rtf),
        )

    def audio(self, spoken: Spoken) -> SpokenAudio | None:
        """The sound, its pieces' times counted like all others."""
        audio, silence_s = spoken.finish(), self._silence_s or 0.0
        if audio is None:
            return None
        return replace(audio, chunks=tuple((rounded(at_s - silence_s), s) for at_s, s in audio.chunks))
