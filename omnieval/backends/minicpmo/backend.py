"""MiniCPM-o in transformers, by its own `chat()`: the reference that servers are measured against.

The model lives in a process of its own for each device, so that a hang, a crash or a lack of memory costs a
try, never the run. Pictures and sounds reach it as arrays.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from omnieval import own_process
from omnieval.backends.base import BackendContext, Need
from omnieval.backends.engines.backed import EngineBacked
from omnieval.backends.engines.devices import visible
from omnieval.backends.engines.engine import Launch
from omnieval.backends.engines.log import EngineLog, new_log_folder
from omnieval.backends.engines.model_folder import model_name
from omnieval.backends.failed import FailedTry
from omnieval.backends.minicpmo.chat import chat_message
from omnieval.backends.minicpmo.needs import WORKER, needs
from omnieval.backends.minicpmo.trouble import room_is_gone
from omnieval.backends.replicas import Replicas
from omnieval.backends.rounding import rounded
from omnieval.config import RunConfig
from omnieval.errors import ConfigError, MediaError
from omnieval.media.cache import default_cache_dir
from omnieval.media.recording import read_recording
from omnieval.types import (
    Backend,
    Capabilities,
    Failure,
    JsonDict,
    Request,
    Response,
    ServerFacts,
    SpokenAudio,
    Timing,
)

NAME = "transformers-minicpmo"
_MAKE_ROOM = "free some space, or set TMPDIR"


def create(config: RunConfig, context: BackendContext) -> Backend:
    """The backend `transformers-minicpmo`, one process for each of `engine.devices`.

    Raises ConfigError for what `chat()` cannot do.
    """
    del context
    if config.model is None:
        raise ConfigError(f"{NAME} needs the model's folder: --model DIR")
    if config.decode.constrain is not None:
        raise ConfigError(f"{NAME} cannot constrain an answer; set decode.constrain=null")
    devices = config.engine.devices
    shared = [device for device in devices if "+" in device]
    if shared:
        raise ConfigError(f"{NAME} puts a model on one card; give {shared[0]} as several engines.devices")
    logs = new_log_folder(config.cache_dir or default_cache_dir())
    if len(devices) < 2:
        return MiniCPMO(config, config.model, devices[0] if devices else None, logs)
    return Replicas([(device, MiniCPMO(config, config.model, device, logs)) for device in devices])


class MiniCPMO(EngineBacked):
    """One model on one device. Follows `omnieval.types.Backend`, `TellsLife`, `TellsNeeds` and `GivesUp`.

    model: its folder, or its name on the hub. device: as `engine.devices` names it; None for the first that
    torch sees. logs: folder.
    """

    capabilities = Capabilities(max_concurrency=1)

    def __init__(self, config: RunConfig, model: str, device: str | None, logs: Path) -> None:
        self._config = config
        self._model = model
        settings = config.transformers
        place = Path(model).expanduser()
        super().__init__(
            Launch(
                name=f"{place.name} on {device or 'this machine'}",
                command=WORKER,
                env=own_process.environment() | visible(device),
                log=EngineLog(logs / f"{(device or 'engine').replace(':', '-')}.log"),
                start_s=config.engine.start_s,
                restarts=config.engine.restarts,
                greeting={
                    "type": "load",
                    "model": str(place) if place.exists() else model,
                    "device": device,
                    "dtype": settings.dtype,
                    "attention": settings.attention,
                    "speaks": "audio" in config.modalities,
                    "trust_remote_code": config.engine.trust_remote_code,
                },
            )
        )

    def needs(self) -> Sequence[Need]:
        """See `TellsNeeds`: for all devices of the run."""
        engine = self._config.engine
        return needs(self._model, engine.devices, own_process.environment(), trusted=engine.trust_remote_code)

    async def check(self) -> ServerFacts:
        """Load the model. Raises BackendError where it cannot be."""
        ready = await self._engine.first_start()
        settings = self._config.transformers.model_dump()
        facts = {key: ready.get(key) for key in ("torch", "device", "class")}
        details = {**facts, **settings, "code_sha256": await asyncio.to_thread(_code_hash, self._model)}
        version = f"transformers {ready.get('transformers')}"
        return ServerFacts(NAME, model=model_name(self._model), version=version, details=details)

    async def generate(self, request: Request) -> Response:
        limit_s = self._config.timeouts.total_s
        try:
            with _sound_file(request) as sound_file:
                message = chat_message(request, self._config, sound_file)
                result = await self._engine.ask(request.sample_id, message, limit_s=limit_s)
                if result.get("ok") is not True:
                    raise FailedTry(_failure(result, sound_file))
                audio, notes = await asyncio.to_thread(_audio, sound_file)
        except FailedTry as failed:
            return Response(request.sample_id, error=failed.failure)
        seconds = float(result["seconds"])
        return Response(
            request.sample_id,
            text=result["text"],
            audio=audio,
            timing=Timing(
                started=time.time() - seconds,
                e2e_s=rounded(seconds),
                rtf=rounded(seconds / audio.duration_s) if audio and audio.frames else None,
            ),
            notes=notes,
        )


@contextlib.contextmanager
def _sound_file(request: Request) -> Iterator[Path | None]:
    """Where the sound of an answer may be put, for as long as it is needed. Raises FailedTry."""
    if request.speech is None:
        yield None
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="omnieval-", ignore_cleanup_errors=True)
    except OSError as error:
        reason = f"no folder for the sound can be made: {error.strerror or error}"
        raise FailedTry(Failure("configuration", reason, hint=_MAKE_ROOM)) from error
    with folder as name:
        yield Path(name) / "speech.wav"


def _audio(sound_file: Path | None) -> tuple[SpokenAudio | None, tuple[str, ...]]:
    """The sound that the model left, and what was mended; None where it left none. Raises FailedTry."""
    if sound_file is None or not sound_file.exists():
        return None, ()
    if (full := _no_room(sound_file, "it may be cut off")) is not None:
        raise FailedTry(full)
    try:
        found = read_recording(sound_file)
    except MediaError as error:
        reason = str(error).removeprefix(f"{sound_file}: ").removesuffix("; fetch it again")
        raise FailedTry(Failure("audio", f"the sound that the model wrote: {reason}")) from error
    form = found.pcm.format
    return SpokenAudio(form.rate_hz, form.channels, found.pcm.frames, found.wav), found.notes


def _failure(result: JsonDict, sound_file: Path | None) -> Failure:
    said = str(result.get("error"))
    return _no_room(sound_file, said) or Failure(
        str(result.get("kind")),
        f"the model failed: {said}",
        bool(result.get("again")),
        hint=result.get("hint"),
    )


def _no_room(sound_file: Path | None, said: str) -> Failure | None:
    """The failure of a sound whose disk is full; None where it is not, or no sound was asked for."""
    if sound_file is None or not room_is_gone(sound_file.parent, said):
        return None
    place = sound_file.parent.parent
    return Failure("configuration", f"{place}: no room for the sound of an answer: {said}", hint=_MAKE_ROOM)


def _code_hash(model: str) -> str | None:
    """Over the model's own code; None where it is in no folder of this machine."""
    digest = hashlib.sha256()
    files = sorted(Path(model).expanduser().glob("*.py"))
    for path in files:
        with contextlib.suppress(OSError):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest() if files else None
