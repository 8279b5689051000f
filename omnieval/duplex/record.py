"""The files of one conversation, written while it goes on, so that a killed process leaves what there was."""

from __future__ import annotations

import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from omnieval.backends.faults import redact
from omnieval.backends.realtime.answer import DuplexAnswer
from omnieval.duplex.conversation import Conversation, Latency, Trouble
from omnieval.errors import ConfigError, StorageError
from omnieval.media.wav import Pcm, write_wav
from omnieval.runlog.files import LineLog, replace_file, replace_json, storage_error
from omnieval.types import JsonDict, Response, SpokenAudio

_SOUNDS = ("audio", "delta", "ref_audio")
_LONG = 500  # characters; sound is longer, text is not


def refuse_used(directory: Path) -> None:
    """Raises ConfigError for anything but a new or an empty folder."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ConfigError(f"{directory}: holds something already; give another --out")


class Recorder:
    """`events.jsonl`, `audio_chunks/0001.wav` ..., and at the end `output.wav` and `result.json`.

    A thread of its own writes, so that a slow disk delays no event. A disk that fills up ends no session:
    what comes then is kept in memory for the end. Raises ConfigError where the folder holds something
    already, StorageError where it cannot be written from the start.
    """

    def __init__(self, directory: Path, secret: str | None = None) -> None:
        self.directory = directory
        self._secret = secret
        self._chunks = directory / "audio_chunks"
        refuse_used(directory)
        try:
            self._chunks.mkdir(parents=True)
        except OSError as error:
            raise storage_error(directory, error) from error
        self._events = LineLog(directory / "events.jsonl")
        self._began = time.monotonic()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="omnieval-duplex")
        self._frames = 0
        self._chunk_count = 0
        self._trouble: StorageError | None = None

    def event(self, direction: str, event: JsonDict, answer: DuplexAnswer) -> None:
        """One event, sound in it replaced by its length, and the sound that has come with it."""
        if self._trouble is not None:
            return
        at_ms = round(1000 * (time.monotonic() - self._began))
        line = json.dumps({"at_ms": at_ms, "direction": direction, "event": _shown(event)})
        pcm = answer.sound_since(self._frames) if direction == "received" else None
        self._frames += pcm.frames if pcm else 0
        self._writer.submit(self._write, redact(line, self._secret).encode() + b"\n", pcm)

    def finish(self, response: Response, asked: JsonDict) -> Conversation:
        """Write the sound and the result, also of a failed session. asked: what was sent, for the reader.

        Where the folder takes them no longer they go to a new temporary one, which the result names. Raises
        StorageError where that cannot be written either.
        """
        self._writer.shutdown()
        try:
            self._events.close()
        except OSError as error:
            self._trouble = self._trouble or storage_error(self.directory, error)
        try:
            return self._save(self.directory, response, asked)
        except StorageError as error:
            self._trouble = error
        try:
            return self._save(Path(tempfile.mkdtemp(prefix="omnieval-duplex-")), response, asked)
        except (OSError, StorageError) as error:
            raise StorageError(
                f"{self._trouble}; nor can {tempfile.gettempdir()} be written; of "
                f"{_duration_s(response.audio):.1f} s of sound, {self._chunk_count} pieces are left in "
                f"{self._chunks}"
            ) from error

    def _write(self, line: bytes, pcm: Pcm | None) -> None:
        """In the writing thread."""
        if self._trouble is not None:
            return
        try:
            self._events.append(line)
            if pcm is not None and pcm.frames:
                replace_file(self._chunks / f"{self._chunk_count + 1:04}.wav", [write_wav(pcm)])
                self._chunk_count += 1
        except StorageError as error:
            self._trouble = error
        except OSError as error:
            self._trouble = storage_error(self.directory, error)

    def _save(self, place: Path, response: Response, asked: JsonDict) -> Conversation:
        sound = place / "output.wav"
        if response.audio is not None and response.audio.frames:
            replace_file(sound, [response.audio.wav])
        errors = [] if self._trouble is None else [self._incomplete(sound)]
        if response.error is not None:
            errors.insert(0, Trouble(response.error.kind, response.error.message, response.error.hint))
        found = _conversation(response, tuple(errors), self._chunk_count, asked, place)
        content = TypeAdapter(Conversation).dump_python(found, mode="json", exclude={"directory"})
        replace_json(place / "result.json", content)
        return found

    def _incomplete(self, sound: Path) -> Trouble:
        return Trouble(
            "storage",
            f"{self._trouble}; events.jsonl and audio_chunks end there after {self._chunk_count} pieces",
            f"all of the sound is in {sound}",
        )


def _conversation(
    response: Response, errors: tuple[Trouble, ...], chunks: int, asked: JsonDict, place: Path
) -> Conversation:
    timing, audio = response.timing, response.audio
    names = ("id", "responses", "resumed", "input_ms", "late_ms", "stalls")
    return Conversation(
        ok=not errors,
        model_decision=response.session["decision"],
        transcript=response.text,
        audio_chunk_count=chunks,
        output_sample_rate_hz=audio.rate_hz if audio else None,
        output_duration_s=_duration_s(audio),
        latency=Latency(_ms(timing.ttft_s), _ms(timing.ttfp_s), timing.rtf),
        session={name: response.session[name] for name in names},
        notes=response.notes,
        errors=errors,
        asked=asked,
        directory=place,
    )


def _duration_s(audio: SpokenAudio | None) -> float:
    return audio.duration_s if audio else 0.0


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 3)


def _shown(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _shown(child, name) for name, child in value.items()}
    if isinstance(value, list):
        return [_shown(child, key) for child in value]
    if key in _SOUNDS and isinstance(value, str) and len(value) > _LONG:
        return f"{len(value)} characters of sound"
    return value
