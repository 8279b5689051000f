"""One answer of `/v1/audio/speech`: raw samples, a WAV, events, JSON, or an error in disguise."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from omnieval.backends import faults
from omnieval.backends.failed import FailedTry
from omnieval.backends.http.finish_reasons import worst_reason
from omnieval.backends.rounding import rounded
from omnieval.backends.sound.kinds import KIND_BYTES, TEXT_BYTES, is_text
from omnieval.backends.sound.piece import add_base64
from omnieval.backends.sound.spoken import Spoken
from omnieval.backends.sound.wav_stream import WavStream
from omnieval.backends.speech.sound_headers import said_in_headers
from omnieval.types import Failure, Response, Timing, Usage

_MOST_TEXT_BYTES = 64 * 1024
_AUDIO_FIELDS = ("audio", "data", "audio_data", "delta")
_SURE_AUDIO_FIELDS = ("audio", "audio_data")
_SOUND_EVENTS = ("audio.delta", "audio", "chunk")
_PAGE = re.compile(r"<(!doctype|!--|html|head|body|\?xml)", re.IGNORECASE)
_HINT = "look at the server's log; check --base-url and that the model speaks"
_LATE = "sound came after speech.audio.done; it was taken too"


class SpeechAnswer:
    """Collects the body of an answer as it comes.

    in_pieces: the sound was asked for as it is made, so that the times of its pieces tell something.
    """

    def __init__(self, sample_id: str, spoken: Spoken, *, in_pieces: bool) -> None:
        self._sample_id = sample_id
        self._spoken = spoken
        self._in_pieces = in_pieces
        self._stream = WavStream(spoken)
        self._held: list[tuple[bytes, float]] | None = []  # until it is known to be sound
        self._held_bytes = bytearray()
        self._usage: Usage | None = None
        self._reasons: list[str] = []
        self._started_wall: float | None = None
        self._started = 0.0
        self._done_s: float | None = None
        self._end_s: float | None = None
        self.began = False
        self.finished = False

    def begin(self) -> None:
        """The request goes out now."""
        self._started_wall, self._started = time.time(), time.monotonic()

    def note(self, sentence: str) -> None:
        """Keep what a reader must know."""
        self._spoken.note(sentence)

    def take_headers(self, content_type: str, headers: Mapping[str, str]) -> None:
        """What the headers say of raw samples."""
        self._spoken.say(said_in_headers(content_type, headers))

    def add(self, data: bytes) -> None:
        """The next bytes of a raw body. Raises FailedTry."""
        at_s = self._now_s()
        self.began = True
        if self._held is None:
            self._stream.add(data, at_s)
            return
        known = len(self._held_bytes)
        self._held.append((data, at_s))
        self._held_bytes += data
        if len(self._held_bytes) < KIND_BYTES:
            return
        if known < TEXT_BYTES and not self._may_be_text():
            self._is_sound()
        elif len(self._held_bytes) > _MOST_TEXT_BYTES:
            begin = bytes(self._held_bytes[:_MOST_TEXT_BYTES])
            raise FailedTry(text_failure(begin) or _text(begin))

    def end(self) -> None:
        """The body is over. Raises FailedTry where it was an error or a page that claims to be sound, and
        where a WAV lacks some of its samples."""
        if self._held_bytes and self._may_be_text():
            failure = text_failure(bytes(self._held_bytes))
            if failure is not None:
                raise FailedTry(failure)
        self._is_sound()
        self._stream.finish(self._now_s())
        self._finish(self._now_s())

    def add_event(self, event: Mapping[str, Any]) -> None:
        """One server-sent event. Raises FailedTry where its sound cannot be used."""
        at_s = self._now_s()
        self.began = True
        self._take_reason(event)
        kind = str(event.get("type") or "")
        if kind.endswith("audio.done"):
            self._take_usage(event.get("usage"))
            self._done_s = at_s
        names = _AUDIO_FIELDS if kind.endswith("audio.delta") else _SURE_AUDIO_FIELDS
        sound, fields = _sound_in(event, names)
        self._spoken.say(fields)
        if not sound:
            return
        if kind and not kind.endswith(_SOUND_EVENTS):
            self.note(f"events of the type {kind[:40]!r} carry sound, which was left out")
            return
        if self._done_s is not None:
            self.note(_LATE)
            self._done_s = None
        add_base64(self._spoken, sound, at_s)

    def end_events(self, *, marked: bool) -> None:
        """The events are over. marked: by `[DONE]`. Raises FailedTry where a WAV lacks some samples."""
        if marked or self._done_s is not None:
            self._finish(self._now_s() if self._done_s is None else self._done_s)

    def add_whole(self, body: bytes) -> bool:
        """Take the sound of a JSON object; False where the body is none or has none. Raises FailedTry."""
        try:
            content = faults.decoded(body.decode("utf-8", "replace"))
        except ValueError:
            return False
        if not isinstance(content, Mapping) or _is_error(content):
            return False
        sound, fields = _sound_in(content, _AUDIO_FIELDS)
        if not sound:
            return False
        at_s = self._now_s()
        self.began, self._in_pieces = True, False
        self._take_reason(content)
        self._take_usage(content.get("usage"))
        self._spoken.say(fields)
        add_base64(self._spoken, sound, at_s)
        self._finish(at_s)
        return True

    def problem(self) -> Failure | None:
        """Why the answer is not complete, or None when it is."""
        if self.finished:
            return None
        message = "the sound ended without speech.audio.done, so it is cut short"
        return Failure("server", message, retryable=True, hint="the server died or was stopped; see its log")

    def response(self, error: Failure | None) -> Response:
        """The end of the try. No sound in a complete answer is no failure here, but for the scorer to count.

        The whole latency, up to the end of the answer, is that of the sound too: nothing else is sent.
        """
        audio = self._spoken.finish(in_pieces=self._in_pieces)
        whole_s, length_s = self._end_s, self._spoken.duration_s
        ended = "stop" if self.finished and error is None else None
        return Response(
            sample_id=self._sample_id,
            finish_reason=worst_reason(self._reasons) or ended,
            usage=self._usage,
            timing=Timing(
                started=self._started_wall,
                ttfp_s=rounded(self._spoken.first_s) if self._in_pieces else None,
                e2e_s=rounded(whole_s),
                rtf=rounded(whole_s / length_s) if whole_s is not None and length_s else None,
            ),
            error=error,
            audio=audio,
            notes=self._spoken.notes,
        )

    def _now_s(self) -> float:
        return time.monotonic() - self._started

    def _finish(self, end_s: float) -> None:
        problem = self._spoken.problem()
        if problem is not None:
            raise FailedTry(problem)
        self.finished = True
        self._end_s = end_s

    def _may_be_text(self) -> bool:
        begin = bytes(self._held_bytes[:TEXT_BYTES])
        return not begin.startswith(b"RIFF") and is_text(begin)

    def _is_sound(self) -> None:
        held, self._held = self._held or [], None
        self._spoken.refuse_compressed(bytes(self._held_bytes[:KIND_BYTES]))
        self._held_bytes.clear()
        for data, at_s in held:
            self._stream.add(data, at_s)

    def _take_reason(self, fields: Mapping[str, Any]) -> None:
        reason = fields.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._reasons.append(reason)

    def _take_usage(self, usage: Any) -> None:
        if isinstance(usage, Mapping):
            numbers = [usage.get(name) for name in ("input_tokens", "output_tokens")]
            prompt, completion = (number if isinstance(number, int) else None for number in numbers)
            self._usage = Usage(prompt_tokens=prompt, completion_tokens=completion)


def text_failure(body: bytes) -> Failure | None:
    """What a body says that is no sound but JSON, a page or a text; None for anything else."""
    text = body.decode("utf-8", "replace").strip()
    try:
        content = faults.decoded(text)
    except ValueError:
        content = None
    if isinstance(content, Mapping | list):
        if isinstance(content, Mapping) and _is_error(content):
            return faults.classify(None, faults.message_in(content))
        message = f"expected sound, found JSON: {faults.shorten(text)}"
    elif _PAGE.match(text):
        message = f"expected sound, found {faults.shorten(faults.message_of(text))}"
    elif is_text(body[:TEXT_BYTES]):
        return _text(body)
    else:
        return None
    return Failure("protocol", message, hint=_HINT)


def _text(body: bytes) -> Failure:
    found = faults.shorten(body.decode("utf-8", "replace")) or "(empty)"
    return Failure("protocol", f"expected sound, found a text: {found}", hint=_HINT)


def _is_error(content: Mapping[str, Any]) -> bool:
    return bool(content.get("error") or content.get("detail") or content.get("object") == "error")


def _sound_in(content: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, Mapping[str, Any]]:
    """The base64 of an object, bare or as the `data` of an object inside, and what stands beside it."""
    for name in names:
        value = content.get(name)
        if isinstance(value, str) and value:
            return value, content
        if isinstance(value, Mapping) and isinstance(value.get("data"), str):
            return value["data"], {**content, **value}
    return "", content
