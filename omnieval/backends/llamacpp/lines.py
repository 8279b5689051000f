"""A request for speech as one line of the manifest of llama.cpp-omni's speech program."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path

from omnieval.backends.failed import FailedTry
from omnieval.parsing import well_formed
from omnieval.types import Failure, Request, SpokenAudio


@dataclass(eq=False)
class Line:
    """One utterance that waits: its columns but the last, and who wants its sound."""

    sample_id: str
    language: str
    reference: Path
    bundle: Path
    text: str
    sound: asyncio.Future[SpokenAudio]

    def columns(self, target: Path) -> str:
        return "\t".join([str(self.reference), str(self.bundle), self.text, str(target)])


def line_of(request: Request, bundles: Path) -> Line:
    """Needs a running event loop. bundles: folder. Raises FailedTry where the program cannot be asked for
    it."""
    task = request.speech
    if task is None:
        raise FailedTry(Failure("data", f"sample {request.sample_id}: no text to be said"))
    if task.reference_audio is None:
        hint = "set variant=clone, or take llamacpp.transport=http"
        message = "llama.cpp-omni's speech program speaks in the voice of a recording alone"
        raise FailedTry(Failure("configuration", message, hint=hint))
    reference = task.reference_audio.path
    bundle = _bundle(reference, bundles)
    for path in (reference, bundle):
        if any(sign in str(path) for sign in "\t\r\n"):
            message = f"{str(path)!r}: the manifest of llama.cpp-omni's speech program holds no such name"
            raise FailedTry(Failure("configuration", message, hint="rename it, without tabs and line ends"))
    text = well_formed(" ".join(task.text.split()))
    sound: asyncio.Future[SpokenAudio] = asyncio.get_running_loop().create_future()
    return Line(request.sample_id, task.language, reference, bundle, text, sound)


def _bundle(reference: Path, bundles: Path) -> Path:
    """The folder named after the recording, or as the evaluation suite of llama.cpp-omni names it."""
    inside = f"{reference.parent.name}/{reference.name}"
    hashed = hashlib.md5(inside.encode(errors="surrogateescape"), usedforsecurity=False).hexdigest()[:12]
    for name in (reference.stem, hashed):
        if (bundles / name).is_dir():
            return bundles / name
    message = f"no prompt bundle of {reference.name}: neither {reference.stem} nor {hashed} in {bundles}"
    raise FailedTry(Failure("media_missing", message, hint="extract it, or run the rest as it is"))
