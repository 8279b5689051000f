"""Many files to transcripts: in batches of like length, each file once, remembered between runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.errors import MediaError, ScoringError, StorageError
from omnieval.media.audio import read_audio
from omnieval.media.probe import probe
from omnieval.runlog.files import replace_json, storage_error
from omnieval.scoring.asr.base import Language, Recogniser

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Sound = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was heard in a file, or why nothing could be. problem: `media` (the file cannot be read) or `asr`
    (the recogniser failed), with its message; text is None then. duration_s: of the sound."""

    path: Path
    text: str | None
    duration_s: float | None = None
    problem: str | None = None
    message: str | None = None


class TranscriptCache:
    """Transcripts in a folder, by the file's content, the recogniser with its details, and the language.

    A damaged entry counts as none. Safe in several processes.
    """

    def __init__(self, folder: Path, recogniser: Recogniser, language: Language) -> None:
        identity = [recogniser.name, dict(recogniser.details), recogniser.weights, language]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        self._folder = folder / f"{recogniser.name}-{language}-{digest}"

    def get(self, content: str) -> tuple[str, float] | None:
        """(text, duration in seconds) by the hash of a file's content."""
        try:
            entry = json.loads(self._place(content).read_text(encoding="utf-8"))
            return str(entry["text"]), float(entry["duration_s"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, content: str, text: str, duration_s: float) -> None:
        """Keep a transcript. Raises StorageError."""
        place = self._place(content)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(place.parent, error) from error
        replace_json(place, {"text": text, "duration_s": duration_s})

    def _place(self, content: str) -> Path:
        return self._folder / content[:2] / f"{content}.json"


def transcribe(
    recogniser: Recogniser,
    paths: Sequence[Path],
    language: Language,
    *,
    cache: TranscriptCache | None = None,
) -> Iterator[Transcript]:
    """One transcript a path, in no certain order, as they are ready.

    Sounds of like length share a batch, and only one batch is in memory. A file that cannot be read, or that
    the recogniser fails on by itself, is a transcript with a problem; the others are not touched by it.
    """
    lengths: list[tuple[float, Path, str]] = []
    for path in dict.fromkeys(paths):
        try:
            content = _content_hash(path)
            known = cache.get(content) if cache is not None else None
            if known is not None:
                yield Transcript(path, *known)
                continue
            facts = probe(path).audio
            lengths.append((facts.duration_s or 0.0 if facts else 0.0, path, content))
        except MediaError as error:
            yield Transcript(path, None, problem="media", message=str(error))
    lengths.sort(key=lambda entry: (entry[0], str(entry[1])))
    for start in range(0, len(lengths), recogniser.batch_size):
        batch = [(path, content) for _, path, content in lengths[start : start + recogniser.batch_size]]
        yield from _batch(recogniser, batch, language, cache)


def _batch(
    recogniser: Recogniser,
    files: Sequence[tuple[Path, str]],
    language: Language,
    cache: TranscriptCache | None,
) -> Iterator[Transcript]:
    sounds: list[tuple[Path, str, Sound]] = []
    for path, content in files:
        try:
            sounds.append((path, content, read_audio(path, first_channel=True)))
        except MediaError as error:
            yield Transcript(path, None, problem="media", message=str(error))
    for (path, content, sound), (text, message) in zip(
        sounds, _texts(recogniser, [sound for _, _, sound in sounds], language), strict=True
    ):
        duration_s = len(sound) / 16_000
        if text is None:
            yield Transcript(path, None, duration_s, "asr", f"{path}: {recogniser.name} failed: {message}")
            continue
        if cache is not None:
            with contextlib.suppress(StorageError):  # what was heard counts more than remembering it
                cache.put(content, text, duration_s)
        yield Transcript(path, text, duration_s)


def _texts(
    recogniser: Recogniser, sounds: Sequence[Sound], language: Language
) -> list[tuple[str | None, str]]:
    """(text or None, message) a sound; a batch that fails is tried one by one."""
    if not sounds:
        return []
    try:
        texts = recogniser.transcribe(sounds, language)
        if len(texts) != len(sounds):
            raise ScoringError(f"{len(sounds)} sounds gave {len(texts)} texts")
        return [(text.strip(), "") for text in texts]
    except Exception as error:  # noqa: BLE001 - a recogniser may fail in any way; it costs one file
        if len(sounds) > 1:
            return [pair for sound in sounds for pair in _texts(recogniser, [sound], language)]
        return [(None, f"{type(error).__name__}: {error}")]


def _content_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise MediaError(f"{path}: no such file", kind="media_missing") from None
    except OSError as error:
        raise MediaError(f"{path}: cannot be read: {error.strerror or error}") from error
