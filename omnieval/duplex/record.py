"""The files of one conversation, written while it goes on, so that a killed process leaves what there was."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from omnieval.backends.faults import redact
from omnieval.backends.realtime_answer import DuplexAnswer
from omnieval.errors import ConfigError
from omnieval.media.wav import write_wav
from omnieval.runlog.files import LineLog, replace_file, replace_json, storage_error
from omnieval.types import JsonDict, Response

_SOUNDS = ("audio", "delta", "ref_audio")
_LONG = 500  # characters; sound is longer, text is not


class Recorder:
    """`events.jsonl`, `audio_chunks/0001.wav` ..., and at the end `output.wav` and `result.json`.

    Raises ConfigError where the folder holds something already, StorageError where it cannot be written.
    """

    def __init__(self, directory: Path, secret: str | None = None) -> None:
        self.directory = directory
        self._secret = secret
        self._chunks = directory / "audio_chunks"
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise ConfigError(f"{directory}: holds something already; give another --out")
        try:
            self._chunks.mkdir(parents=True)
        except OSError as error:
            raise storage_error(directory, error) from error
        self._events = LineLog(directory / "events.jsonl")
        self._began = time.monotonic()
        self._frames = 0
        self.chunk_count = 0

    def event(self, direction: str, event: JsonDict, answer: DuplexAnswer) -> None:
        """One event, sound in it replaced by its length, and the sound that has come with it."""
        at_ms = round(1000 * (time.monotonic() - self._began))
        line = json.dumps({"at_ms": at_ms, "direction": direction, "event": _shown(event)})
        self._events.append(redact(line, self._secret).encode() + b"\n")
        pcm = answer.sound_since(self._frames) if direction == "received" else None
        if pcm is not None and pcm.frames:
            self._frames += pcm.frames
            self.chunk_count += 1
            replace_file(self._chunks / f"{self.chunk_count:04}.wav", [write_wav(pcm)])

    def finish(self, response: Response, asked: JsonDict) -> JsonDict:
        """Write the result, also of a failed session. asked: what was sent, for the reader."""
        self._events.close()
        if response.audio is not None and response.audio.frames:
            replace_file(self.directory / "output.wav", [response.audio.wav])
        found = _result(response, self.chunk_count) | {"asked": asked}
        replace_json(self.directory / "result.json", found)
        return found


def _result(response: Response, chunks: int) -> JsonDict:
    error, timing, audio = response.error, response.timing, response.audio
    errors = [] if error is None else [{"kind": error.kind, "message": error.message, "hint": error.hint}]
    session = {
        key: response.session[key] for key in ("id", "responses", "resumed", "input_ms", "late_ms", "stalls")
    }
    return {
        "ok": error is None,
        "model_decision": response.session["decision"],
        "transcript": response.text,
        "audio_chunk_count": chunks,
        "output_sample_rate_hz": audio.rate_hz if audio else None,
        "output_duration_s": audio.duration_s if audio else 0.0,
        "latency": {
            "ttft_ms": _ms(timing.ttft_s),
            "ttfp_ms": _ms(timing.ttfp_s),
            "rtf": timing.rtf,
            "measurement_origin": "first_silence_append",
        },
        "session": session,
        "notes": list(response.notes),
        "errors": errors,
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 3)


def _shown(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _shown(child, name) for name, child in value.items()}
    if key in _SOUNDS and isinstance(value, str) and len(value) > _LONG:
        return f"{len(value)} characters of sound"
    return value
