"""Recordings as answers: `ground-truth` of the data set's own people, `recorded` of any other system.

Nothing is made, so nothing is measured: there are no times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from omnieval.backends.base import BackendContext
from omnieval.config import RunConfig
from omnieval.errors import BackendError, ConfigError, MediaError
from omnieval.media.recording import Recording, read_recording
from omnieval.types import Capabilities, Failure, Request, Response, ServerFacts, SpokenAudio

SUFFIXES = (".wav", ".flac", ".mp3", ".ogg", ".m4a")
# Of a file this size at most three copies are in memory.
_READ_AT_ONCE = 4

Find = Callable[[Request], Path]


def create_ground_truth(config: RunConfig, context: BackendContext) -> Recorded:
    """The backend `ground-truth`: the recordings that the data set names."""
    del context
    return Recorded("ground-truth", config.model or "ground-truth", _named_by_data_set)


def create_recorded(config: RunConfig, context: BackendContext) -> Recorded:
    """The backend `recorded`: `{sample id}.wav` (or .flac, .mp3, .ogg, .m4a) in a folder.

    Raises ConfigError without the folder.
    """
    del context
    folder = config.recordings
    if folder is None:
        raise ConfigError(
            "the backend recorded needs the folder of the recordings, one file a sample: "
            "--set recordings=FOLDER"
        )
    return Recorded(
        "recorded", config.model or "recorded", lambda request: _in_folder(folder, request), folder
    )


class Recorded:
    """Follows `omnieval.types.Backend`. folder: where the recordings must lie, if all lie in one."""

    capabilities = Capabilities()

    def __init__(self, name: str, model: str, find: Find, folder: Path | None = None) -> None:
        self._name = name
        self._model = model
        self._find = find
        self._folder = folder
        self._reading = asyncio.Semaphore(_READ_AT_ONCE)

    async def check(self) -> ServerFacts:
        """Raises BackendError when the folder is missing or holds no recording."""
        if self._folder is None:
            return ServerFacts(self._name, model=self._model)
        try:
            count = sum(path.suffix.lower() in SUFFIXES for path in self._folder.iterdir())
        except OSError as error:
            raise BackendError(
                f"{self._folder}: the folder of the recordings cannot be read ({error.strerror or error}); "
                "name another with --set recordings=FOLDER"
            ) from error
        if not count:
            kinds = ", ".join(SUFFIXES)
            raise BackendError(
                f"{self._folder}: no recording in it; expected one file a sample, {{sample id}} with {kinds}"
            )
        details = {"recordings": str(self._folder), "files": count}
        return ServerFacts(self._name, model=self._model, details=details)

    async def generate(self, request: Request) -> Response:
        try:
            async with self._reading:
                found = await asyncio.to_thread(lambda: read_recording(self._find(request)))
        except MediaError as error:
            kind = error.kind if error.kind == "media_missing" else "audio"
            failure = Failure(kind, f"sample {request.sample_id}: {error}")
            return Response(request.sample_id, error=failure)
        return Response(
            request.sample_id,
            finish_reason="stop",
            audio=_spoken(found),
            notes=found.notes,
        )

    async def close(self) -> None:
        return


def _spoken(found: Recording) -> SpokenAudio:
    form = found.pcm.format
    return SpokenAudio(form.rate_hz, form.channels, found.pcm.frames, found.wav)


def _named_by_data_set(request: Request) -> Path:
    recording = request.speech.recording if request.speech else None
    if recording is None:
        raise MediaError(
            "the data set names no recording of it; use a list with ground-truth wavs, or another backend",
            kind="media_missing",
        )
    return recording


def _in_folder(folder: Path, request: Request) -> Path:
    name = Path(request.sample_id)
    if name.is_absolute() or ".." in name.parts:
        raise MediaError("its id is no file name, so that it can have no recording", kind="media_missing")
    paths = [folder / f"{request.sample_id}{suffix}" for suffix in SUFFIXES]
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        kinds = ", ".join(SUFFIXES[1:])
        raise MediaError(
            f"{paths[0]}: no such file (nor with {kinds}); put the recording there", kind="media_missing"
        )
    return found
