"""What comes down a full-duplex session, by both spellings of its events, put together to a Response."""

from __future__ import annotations

import json

from omnieval.backends import faults
from omnieval.backends.failed import FailedTry
from omnieval.backends.realtime.clock import SessionClock
from omnieval.backends.realtime.events import AUDIO, ECHOES, TEXT, TRANSCRIPT, delta_of, told_of
from omnieval.backends.realtime.fields import OUTPUT_RATE_HZ
from omnieval.backends.realtime.log import SessionLog
from omnieval.backends.realtime.pace import PIECE_MS, DuplexInput
from omnieval.backends.realtime.played import Played
from omnieval.backends.realtime.promised import PromisedSound
from omnieval.backends.realtime.recent import RecentEvents
from omnieval.backends.realtime.refusals import is_harmless, refusal_of
from omnieval.backends.realtime.said import Said
from omnieval.backends.realtime.ticket import Ticket
from omnieval.backends.sound.piece import add_base64
from omnieval.backends.sound.spoken import Spoken
from omnieval.backends.stages import thinker_s
from omnieval.config import PcmConfig
from omnieval.media.wav import Pcm
from omnieval.types import Failure, JsonDict, Response

_LOOK = "look at the server's log"
_DECIDES_S = 3.0  # a model that decides every second, and a server that is a little behind


class DuplexAnswer:
    """Collects the events of one session; a sound as input may bring several responses, silence one.

    heard: what the model hears. pcm: the format of the sound where its events do not say it. speed: how many
    times as fast as real time it all goes. created: the session is there. finished: the answer is whole.
    speaking: a response has begun to speak and is not done. ticket: what it takes to resume the session.
    """

    def __init__(
        self,
        sample_id: str,
        heard: DuplexInput,
        pcm: PcmConfig,
        *,
        speed: float = 1.0,
        secret: str | None = None,
    ) -> None:
        self._sample_id, self._heard, self._secret = sample_id, heard, secret
        self._spoken = Spoken(pcm.model_copy(update={"rate_hz": pcm.rate_hz or OUTPUT_RATE_HZ}))
        self._said = Said()
        self._clock = SessionClock()
        self._played = Played(speed)
        self._promised = PromisedSound()
        self._log = SessionLog()
        self._recent = RecentEvents()
        self._patience_s = _DECIDES_S / speed
        self._told_s = 0.0
        self._all_heard_s: float | None = None
        self._ids: dict[str, str] = {}
        self._stages: JsonDict = {}
        self._server_times: JsonDict = {}
        self._responses = self._resumed = 0
        self._listened = self._spoke = False
        self.ticket = Ticket()
        self.created = self.finished = self.speaking = False
        self.last_event = "nothing"
        self.late_s = 0.0
        if speed != 1.0:
            self.note(f"the input was sent {speed:g} times as fast as real time")

    def begin(self) -> None:
        """The session is asked for now."""
        self._clock.begin()

    def note(self, sentence: str) -> None:
        """Keep what a reader must know."""
        self._spoken.note(sentence)

    def sent(self, event: JsonDict) -> None:
        """An event goes up now. TTFT and TTFP count from the first silence."""
        self._log.sent(event["type"])
        if event["type"] == "input_audio_buffer.append":
            self._clock.appended(is_speech=event["is_speech"])

    def acknowledgement(self) -> JsonDict | None:
        """How much has been played by now, if it is played as it comes; None where nothing more has been."""
        return self._played.acknowledgement(self._clock.now_s())

    def add(self, event: JsonDict) -> None:
        """One event. Raises FailedTry for an error, an end before the answer's, and for unusable sound."""
        kind = event["type"] if isinstance(event.get("type"), str) else ""
        shown = faults.shorten(kind) or "an event without a type"
        self.last_event = self.last_event if kind in ECHOES else shown
        self._log.received(shown, self._clock.now_s())
        if self._recent.again(event):
            self.note("the server sent events twice; each was taken once")
            return
        self.ticket.take(event)
        if kind == "error":
            if not is_harmless(event):
                raise FailedTry(refusal_of(event, self._secret))
            self.note("the server had no use for an acknowledgement of what was played")
        if kind in ("session.closed", "session.expired") and not self.finished:
            reason = f" ({faults.shorten(json.dumps(event['reason']))})" if event.get("reason") else ""
            message = f"the session ended with {kind}{reason} before response.done"
            raise FailedTry(Failure("server", message, retryable=True, hint=_LOOK))
        if kind in ("session.created", "session.resumed"):
            self._begun(event)
        elif kind.startswith("response.") and not self.finished:
            if not self.created:
                message = f"{self.last_event} came before session.created"
                hint = f"is it a full-duplex server? {_LOOK}"
                raise FailedTry(Failure("protocol", message, retryable=True, hint=hint))
            self._take(kind, event)

    def _begun(self, event: JsonDict) -> None:
        """Raises FailedTry for another session than the one that was there."""
        session = event.get("session")
        found = session.get("id") if isinstance(session, dict) else event.get("session_id")
        if isinstance(found, str):
            if self.ticket.session_id not in (None, found):
                was, now = faults.shorten(str(self.ticket.session_id)), faults.shorten(found)
                message = f"the session {was} became {now}, which knows nothing of what was heard before"
                raise FailedTry(Failure("server", message, retryable=True, hint=_LOOK))
            self.ticket.session_id = found
        if self.created:
            self._resumed += 1
            self.note("the connection broke, and the session was resumed")
        self.created = True

    def _take(self, kind: str, event: JsonDict) -> None:
        self._told_s = self._clock.now_s()
        self._ids |= {
            key: event[key] for key in ("response_id", "item_id") if isinstance(event.get(key), str)
        }
        if kind == "response.listen":
            self._listened = True
        elif kind == "response.speak":
            self._spoke = self.speaking = True
        elif kind in AUDIO:
            if delta := delta_of(event):
                self._spoke = self.speaking = True
                self._take_sound(event, delta)
        elif kind in TRANSCRIPT + TEXT and event.get("delta") is not None:
            if delta := delta_of(event):
                self._said.add(kind, delta, self._clock.now_s())
        elif kind == "response.done":
            self._done(event)
        told = told_of(event)
        self._stages |= told.get("stage_metrics", {})
        times = told.get("response_request_metrics", {})
        self._server_times |= {key: times[key] for key in ("ttft_ms", "ttfp_ms") if key in times}

    def _take_sound(self, event: JsonDict, delta: str) -> None:
        at_s, before_s = self._clock.now_s(), self._spoken.duration_s
        self._spoken.say({"sample_rate_hz": event.get("sample_rate_hz")})
        add_base64(self._spoken, delta, at_s)
        sound_s = self._spoken.duration_s
        self._played.add(at_s, sound_s - before_s, self._ids)
        details = event.get("metadata")
        length_ms = details.get("audio_duration_ms") if isinstance(details, dict) else None
        self._promised.piece(length_ms, sound_s)

    def _done(self, event: JsonDict) -> None:
        response = event.get("response")
        status = response.get("status") if isinstance(response, dict) else None
        if status == "cancelled" and not self._heard.sounded:
            self.note("a response was cancelled while the input went on")
        elif status in ("failed", "cancelled", "incomplete"):
            message = f"the response ended as {status}: {faults.shorten(json.dumps(response))}"
            raise FailedTry(Failure("server", message, retryable=True, hint=_LOOK))
        sound_s = self._spoken.duration_s
        if missing_ms := self._promised.missing_ms(sound_s):
            message = f"{missing_ms:.0f} ms of the sound never came, by the server's own count of its length"
            raise FailedTry(Failure("server", message, retryable=True, hint="look at the connection"))
        if surplus := self._promised.surplus(sound_s):
            self.note(surplus)
        self._responses += 1
        self.speaking = False
        self._promised.done(sound_s)
        self._played.done()
        if self._heard.sounded:
            self._finish()

    def end_of_input(self) -> None:
        """All of the silence was sent. To listen to it is an answer once no further decision comes, since a
        server may be behind; nothing at all is still waited for."""
        if not (self._listened or self._responses) or self.speaking:
            return
        self._all_heard_s = self._clock.now_s() if self._all_heard_s is None else self._all_heard_s
        if self._clock.now_s() - max(self._told_s, self._all_heard_s) >= self._patience_s:
            self._finish()

    @property
    def decision(self) -> str | None:
        """What the model chose: `speak`, `listen`, or None as long as it has not."""
        return "speak" if self._spoke else "listen" if self._listened else None

    @property
    def got(self) -> str:
        """How far the session is, for a reader who asks where it stalls."""
        sent_s = self._heard.sent_ms / 1000
        return (
            f"the last one was {self.last_event}, after {sent_s:.1f} s of input, "
            f"{self._spoken.duration_s:.1f} s of sound and {self._responses} whole responses"
        )

    def sound_since(self, frame: int) -> Pcm | None:
        """The sound from that frame on, as far as it has come."""
        return self._spoken.since(frame)

    def response(self, error: Failure | None) -> Response:
        """The end of the try. To listen is an answer without sound, with `listen` as its finish reason."""
        if self.late_s > PIECE_MS / 1000:
            self.note(f"the input fell up to {self.late_s:.1f} s behind its time, as on a slow link")
        return Response(
            sample_id=self._sample_id,
            text=self._said.text,
            finish_reason=None if error is not None else "listen" if self.decision == "listen" else "stop",
            timing=self._clock.timing(
                self._said,
                self._spoken,
                of_sound=self._heard.duration_s > 0,
                tpot_s=thinker_s(self._stages, "vllm_tpot_ms"),
            ),
            error=error,
            audio=self._clock.audio(self._spoken),
            notes=self._spoken.notes,
            server_metrics=self._stages,
            session={
                "id": self.ticket.session_id,
                "decision": self.decision,
                "responses": self._responses,
                "resumed": self._resumed,
                "input_ms": self._heard.sent_ms,
                "late_ms": round(1000 * self.late_s),
                "stalls": self._played.stalls,
                **({"server_times": self._server_times} if self._server_times else {}),
                **self._log.counts(),
            },
        )

    def _finish(self) -> None:
        self.finished = True
        self._clock.end()
