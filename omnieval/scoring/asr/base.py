"""What a recogniser is, and how one is loaded by its name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from omnieval.errors import ConfigError
from omnieval.wording import suggest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Sound = npt.NDArray[np.float32]

Language = Literal["en", "zh"]


class Recogniser(Protocol):
    """name, details: what a transcript depends on (model, version, device, decoding); they travel with every
    result. weights: tells one state of a local model's files from another; empty for a model that is known by
    its name. batch_size: how many sounds it takes well at once."""

    name: str
    details: Mapping[str, str]
    weights: str
    batch_size: int

    def transcribe(self, sounds: Sequence[Sound], language: Language) -> list[str]:
        """sounds: each [samples], float32, 16 kHz. One text a sound, in order; Mandarin as it was heard, in
        simplified characters where the recogniser's protocol says so."""


def _whisper_hf(model: str | None, device: str) -> Recogniser:
    from omnieval.scoring.asr.whisper_hf import load

    return load(model, device)


def _whisper(model: str | None, device: str) -> Recogniser:
    from omnieval.scoring.asr.whisper import load

    return load(model, device)


def _paraformer(model: str | None, device: str) -> Recogniser:
    from omnieval.scoring.asr.paraformer import load

    return load(model, device)


def _faster_whisper(model: str | None, device: str) -> Recogniser:
    from omnieval.scoring.asr.faster_whisper import load

    return load(model, device)


RECOGNISERS: Mapping[str, Callable[[str | None, str], Recogniser]] = {
    "whisper-hf": _whisper_hf,
    "whisper": _whisper,
    "paraformer": _paraformer,
    "faster-whisper": _faster_whisper,
}


def load_recogniser(name: str, model: str | Path | None = None, *, device: str = "auto") -> Recogniser:
    """A recogniser by its name.

    model: a local folder or file, or a name that its library knows; None takes the protocol's own. device:
    `cpu`, `cuda:0`, `npu:0` or `auto`. Raises ConfigError for an unknown name, device or a missing package,
    ScoringError when the model cannot be loaded.
    """
    if name not in RECOGNISERS:
        raise ConfigError(f"unknown recogniser {name!r}{suggest(name, RECOGNISERS)}")
    local = Path(model) if model is not None and Path(model).exists() else None
    source = local.absolute() if local is not None else model
    loaded = RECOGNISERS[name](None if source is None else str(source), device)
    loaded.weights = "" if local is None else _state_of(local)
    return loaded


def _state_of(model: Path) -> str:
    """Changes with the name, size and time of any file of a model."""
    files = [model] if model.is_file() else sorted(path for path in model.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in files:
        status = path.stat()
        digest.update(f"{path.relative_to(model)}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
