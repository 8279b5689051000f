"""One answer of `/v1/audio/speech`: raw samples, a WAV, events, or an error in disguise."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from omnieval.backends import faults
from omnieval.backends.failed import FailedTry
from omnieval.backends.rounding import rounded
from omnieval.backends.spoken import Spoken
from omnieval.backends.wav_stream import WavStream
from omnieval.types import Failure, Response, Timing, Usage

_RAW_TYPES = frozenset({"pcm", "l16", "raw", "x-raw", "wav", "wave", "x-wav", "vnd.wave", "x-pcm"})
_HEADER_PREFIX = re.compile(r"^(x-)?(audio-)?")
_HEADER_FIELDS = frozenset({"sample_rate", "sample_rate_hz", "sampling_rate", "channels", "num_channels"})
_MOST_TEXT_BYTES = 64 * 1024
_TEXT_BEGINS = (b"{", b"<")
_AUDIO_FIELDS = ("audio", "data", "audio_data", "delta")
_HINT = "look at the server's log; check --base-url and that the model speaks"


class SpeechAnswer:
    """Collects the body of an answer as it comes.

    in_pieces: the sound was asked for as it is made, so that the times of its pieces tell something.
    """

    def __init__(self, sample_id: str, spoken: Spoken, *, in_pieces: bool) -> None:
        self._sample_id = sample_id
        self._spoken = spoken
        self._in_pieces = in_pieces
        self._stream = WavStream(spoken)
        self._maybe_text: list[tuple[bytes, float]] | None = []
        self._usage: Usage | None = None
        self._started_wall: float | None = None
        self._started = 0.0
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
        """What the headers say of raw samples: parameters of the type, `x-sample-rate` and its like."""
        kind, *parameters = content_type.lower().split(";")
        fields: dict[str, Any] = {}
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            fields[name.strip()] = value.strip().strip('"')
        for name, value in headers.items():
            bare = _HEADER_PREFIX.sub("", name.lower()).replace("-", "_")
            if bare in _HEADER_FIELDS:
                fields[bare] = value
            elif bare == "bit_depth" and value.strip() != "16":
                fields["format"] = f"{value}-bit PCM"
        family, _, form = kind.strip().partition("/")
        if family == "audio" and form not in _RAW_TYPES:
            fields["format"] = form
        self._spoken.say(fields)

    def add(self, data: bytes) -> None:
        """The next bytes of a raw body. Raises FailedTry."""
        at_s = self._now_s()
        self.began = True
        if self._maybe_text is None:
            self._stream.add(data, at_s)
            return
        self._maybe_text.append((data, at_s))
        so_far = b"".join(piece for piece, _ in self._maybe_text)
        if len(so_far) > _MOST_TEXT_BYTES or not so_far.lstrip().startswith(_TEXT_BEGINS):
            self._is_sound()

    def end(self) -> None:
        """The body is over. Raises FailedTry where it was an error or a page that claims to be sound."""
        if self._maybe_text:
            body = b"".join(piece for piece, _ in self._maybe_text)
            failure = text_failure(body)
            if failure is not None:
                raise FailedTry(failure)
            self._is_sound()
        self._stream.finish(self._now_s())
        self._finish()

    def add_event(self, event: Mapping[str, Any]) -> None:
        """One server-sent event. Raises FailedTry where its sound cannot be used."""
        at_s = self._now_s()
        self.began = True
        kind = str(event.get("type", ""))
        if kind.endswith("audio.done"):
            self._take_usage(event.get("usage"))
            self._finish()
            return
        self._spoken.say(event)
        sound = next((event[name] for name in _AUDIO_FIELDS if isinstance(event.get(name), str)), "")
        if kind.endswith("audio.delta") and sound:
            self._spoken.add_base64(sound, at_s)

    def end_events(self) -> None:
        """`[DONE]`."""
        self._finish()

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
        return Response(
            sample_id=self._sample_id,
            finish_reason="stop" if self.finished and error is None else None,
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

    def _finish(self) -> None:
        self.finished = True
        self._end_s = self._now_s()

    def _is_sound(self) -> None:
        held, self._maybe_text = self._maybe_text or [], None
        for data, at_s in held:
            self._stream.add(data, at_s)

    def _take_usage(self, usage: Any) -> None:
        if isinstance(usage, Mapping):
            numbers = [usage.get(name) for name in ("input_tokens", "output_tokens")]
            prompt, completion = (number if isinstance(number, int) else None for number in numbers)
            self._usage = Usage(prompt_tokens=prompt, completion_tokens=completion)


def text_failure(body: bytes) -> Failure | None:
    """What a body says that is no sound but a JSON object or a page; None for anything else."""
    text = body.decode("utf-8", "replace").strip()
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    if isinstance(content, Mapping):
        if content.get("error") or content.get("detail") or content.get("object") == "error":
            return faults.classify(None, faults.message_in(content))
        message = f"expected sound, found JSON: {faults.shorten(text)}"
    elif re.match(r"<(!doctype|html|head|body|\?xml)", text, re.IGNORECASE):
        message = f"expected sound, found {faults.shorten(faults.message_of(text))}"
    else:
        return None
    return Failure("protocol", message, hint=_HINT)
