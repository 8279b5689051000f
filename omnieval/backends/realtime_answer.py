"""What comes down a full-duplex session, by both spellings of its events, put together to a Response."""

from __future__ import annotations

import json
import time
from typing import Any

from omnieval.backends import faults
from omnieval.backends.failed import FailedTry
from omnieval.backends.rounding import rounded
from omnieval.backends.sound_piece import add_base64
from omnieval.backends.spoken import Spoken
from omnieval.backends.token_times import TokenTimes
from omnieval.config import PcmConfig
from omnieval.types import Failure, JsonDict, Response, Timing

_AUDIO = ("response.audio.delta", "response.output_audio.delta")
_TRANSCRIPT = ("response.audio_transcript.delta", "response.output_audio_transcript.delta")
_TEXT = ("response.text.delta", "response.output_text.delta")
_ASKED_HZ = 24_000
_LOST_MS = 2.0  # what rounding may make of the server's running length of its sound


class DuplexAnswer:
    """Collects the events of one session.

    pcm: the format of the sound where its events do not say it. finished: `response.done` came. began:
    anything of a response did. session_id: as the server names it.
    """

    def __init__(self, sample_id: str, pcm: PcmConfig, secret: str | None = None) -> None:
        self._sample_id, self._secret = sample_id, secret
        self._spoken = Spoken(pcm.model_copy(update={"rate_hz": pcm.rate_hz or _ASKED_HZ}))
        self._times = TokenTimes()
        self._transcript: list[str] = []
        self._text: list[str] = []
        self._seen: set[str] = set()
        self._wall: float | None = None
        self._request = self._origin = time.monotonic()
        self._end_s: float | None = None
        self._promised_ms = 0.0
        self.session_id: str | None = None
        self.created = self.began = self.finished = self.listened = self.spoke = False
        self.response_id: str | None = None
        self.item_id: str | None = None
        self.last_event = "nothing"

    def begin(self) -> None:
        """The session is asked for now."""
        self._wall, self._request = time.time(), time.monotonic()
        self._origin = self._request

    def first_piece(self) -> None:
        """The first silence goes out now: TTFT and TTFP count from here."""
        self._origin = time.monotonic()

    def note(self, sentence: str) -> None:
        """Keep what a reader must know."""
        self._spoken.note(sentence)

    def played_ms(self) -> int:
        """How much of the sound has been played by now, if it is played as it comes."""
        if self._spoken.first_s is None:
            return 0
        return round(1000 * min(self._spoken.duration_s, self._now_s() - self._spoken.first_s))

    def add(self, frame: str | bytes) -> None:
        """One frame. Raises FailedTry for an error, an end before the answer's, and for damaged frames."""
        event = _object(frame)
        kind = str(event.get("type") or "")
        name = event.get("event_id")
        if isinstance(name, str):
            if name in self._seen:
                self.note("the server sent events twice; each was taken once")
                return
            self._seen.add(name)
        self.last_event = faults.shorten(kind) or "an event without a type"
        if kind == "error":
            raise self._refused(event)
        if kind in ("session.closed", "session.expired") and not self.finished:
            message = f"the session ended with {kind} before response.done"
            raise FailedTry(Failure("server", message, retryable=True, hint="look at the server's log"))
        if kind == "session.created":
            self.created = True
            session = event.get("session")
            found = session.get("id") if isinstance(session, dict) else event.get("session_id")
            self.session_id = found if isinstance(found, str) else self.session_id
        elif kind.startswith("response.") and not self.finished:
            if not self.created:
                message = f"{self.last_event} came before session.created"
                hint = "is it a full-duplex server? Look at its version and its log"
                raise FailedTry(Failure("protocol", message, retryable=True, hint=hint))
            self._take(kind, event)

    def _take(self, kind: str, event: JsonDict) -> None:
        at_s, delta = self._now_s(), event.get("delta")
        self.began = True
        for key in ("response_id", "item_id"):
            if isinstance(event.get(key), str):
                setattr(self, key, event[key])
        if kind == "response.listen":
            self.listened = True
        elif kind == "response.speak":
            self.spoke = True
        elif kind in _AUDIO and isinstance(delta, str) and delta:
            self.spoke = True
            self._spoken.say({"sample_rate_hz": event.get("sample_rate_hz")})
            add_base64(self._spoken, delta, at_s)
            details = event.get("metadata")
            length = details.get("audio_duration_ms") if isinstance(details, dict) else None
            if isinstance(length, int | float):
                self._promised_ms = max(self._promised_ms, float(length))
        elif kind in _TRANSCRIPT + _TEXT and isinstance(delta, str) and delta:
            (self._transcript if kind in _TRANSCRIPT else self._text).append(delta)
            self._times.take(at_s, 1, is_text=True)
        elif kind == "response.done":
            self._finish(event, at_s)

    def _finish(self, event: JsonDict, at_s: float) -> None:
        response = event.get("response")
        status = response.get("status") if isinstance(response, dict) else None
        if status in ("failed", "cancelled", "incomplete"):
            message = f"the response ended as {status}: {faults.shorten(json.dumps(response))}"
            raise FailedTry(Failure("server", message, retryable=True, hint="look at the server's log"))
        missing_ms = self._promised_ms - 1000 * self._spoken.duration_s
        if missing_ms > _LOST_MS:
            message = f"{missing_ms:.0f} ms of the sound never came, by the server's own count of its length"
            raise FailedTry(Failure("server", message, retryable=True, hint="look at the connection"))
        self.finished, self._end_s = True, at_s

    def end_listening(self) -> None:
        """All of the silence was sent, and the model chose to listen: that is its answer."""
        self.finished, self._end_s = True, self._now_s()

    def response(self, error: Failure | None) -> Response:
        """The end of the try. To listen is an answer without sound, with `listen` as its finish reason."""
        last_s, length_s = self._spoken.last_s, self._spoken.duration_s
        before_s = self._origin - self._request
        spoke = self.spoke or not self.listened
        return Response(
            sample_id=self._sample_id,
            text="".join(self._transcript or self._text),
            finish_reason=None if error is not None else "stop" if spoke else "listen",
            timing=Timing(
                started=self._wall,
                ttft_s=rounded(self._times.first_text_s),
                itl_s=tuple(rounded(gap) for gap in self._times.itl_s),
                tpot_s=self._times.tpot_s(),
                e2e_s=rounded(self._end_s),
                ttfp_s=rounded(self._spoken.first_s),
                rtf=rounded((before_s + last_s) / length_s) if last_s is not None and length_s else None,
            ),
            error=error,
            audio=self._spoken.finish(),
            notes=self._spoken.notes,
        )

    def _refused(self, event: JsonDict) -> FailedTry:
        error: Any = event.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        message = faults.message_in(error or event)
        return FailedTry(
            faults.classify(None, f"{code}: {message}" if code else message, secret=self._secret)
        )

    def _now_s(self) -> float:
        return time.monotonic() - self._origin


def _object(frame: str | bytes) -> JsonDict:
    try:
        event = json.loads(frame)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        shown = faults.shorten(frame if isinstance(frame, str) else repr(frame[:200]))
        hint = "the server or a proxy sent a damaged frame; look at their logs"
        raise FailedTry(Failure("protocol", f"expected an event, found: {shown}", retryable=True, hint=hint))
    return event
