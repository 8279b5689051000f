"""llama.cpp-omni's evaluation programs: which one a run takes, its arguments, and what it needs of this
machine."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from omnieval.backends.base import Need
from omnieval.backends.engines.devices import device_need
from omnieval.backends.engines.model_folder import GIT_LFS_POINTER
from omnieval.config import RunConfig
from omnieval.errors import ConfigError
from omnieval.program_output import NoOutputError, ShortProgram

FRAMES_PROGRAM = "llama-omni-eval-cli"
SOUNDS_PROGRAM = "llama-omni-eval-daily-cli"
SPEECH_PROGRAM = "llama-omni-tts-eval"
_HELP_S = 30.0
_HASHED_BYTES = 2**20
# Files of the model beside its language part: (what it is, where it may lie from the model's folder).
_VISION = ("vision model", ("vision/*vision*.gguf", "*vision*.gguf"))
_AUDIO = ("audio model", ("audio/*audio*.gguf", "*audio*.gguf"))
_SPEECH = ("speech model", ("tts/*-tts-*.gguf", "*-tts-*.gguf"))
_PROJECTOR = ("projector of the speech model", ("tts/*projector*.gguf", "*projector*.gguf"))
# In the names of the files that are not the language part.
_OTHER_PARTS = ("-vision-", "-audio-", "-tts-", "-projector-")


@dataclass(frozen=True)
class Program:
    """name: as it was given or by the benchmark. path: where it lies, None where it is not found.

    named: what the configuration calls the model. folder: of the model. model: the file of its language part,
    None where it is not found. speaks, hears: what it can be asked.
    """

    name: str
    path: Path | None
    named: Path
    folder: Path
    model: Path | None
    speaks: bool
    hears: bool

    @classmethod
    def of(cls, config: RunConfig) -> Program:
        """As a configuration wants it. Raises ConfigError without a model, and for a benchmark that no
        program is for."""
        if config.model is None:
            raise ConfigError(
                "the backend llamacpp-omni needs the model: --model FILE.gguf, its language part, beside "
                "which lie vision/, audio/ and tts/; or the folder of them all"
            )
        speaks = config.modalities != ("text",)
        name = str(config.llamacpp.program or (SPEECH_PROGRAM if speaks else _by_packing(config)))
        found = shutil.which(Path(name).expanduser())
        place = Path(config.model).expanduser().absolute()
        folder = place if place.is_dir() else place.parent
        model = (place if place.is_file() else None) if place != folder else _only_model(folder)
        hears = Path(name).name != FRAMES_PROGRAM
        path = None if found is None else Path(found).absolute()
        return cls(name, path, place, folder, model, speaks=speaks, hears=hears)

    def needs(self, flags: Sequence[str], devices: Sequence[str]) -> list[Need]:
        """The program, the flags that it must know, the cards, and the files of the model."""
        program = self._program_need()
        found = [program, *map(device_need, devices)]
        if program.fix is None:
            found.append(self._version_need(flags))
        found.append(self._model_need())
        wanted = (
            [_AUDIO, _SPEECH, _PROJECTOR] if self.speaks else [_VISION, *([_AUDIO] if self.hears else [])]
        )
        return found + [self._file_need(*one) for one in wanted]

    def facts(self) -> dict[str, str | int]:
        """What tells one build from another: the programs have no version of their own."""
        assert self.path is not None
        assert self.model is not None
        return {
            "program": str(self.path),
            "program_sha256": hashlib.sha256(self.path.read_bytes()).hexdigest()[:16],
            "model_file": str(self.model),
            "model_bytes": self.model.stat().st_size,
            "model_head_sha256": _head_hash(self.model),
        }

    def _program_need(self) -> Need:
        name = "program"
        if self.path is not None:
            return Need(name, str(self.path))
        place = Path(self.name).expanduser()
        if place.is_file() and not os.access(place, os.X_OK):
            return Need(name, f"{place} is not executable", f"chmod +x {place}")
        where = f"no file {place}" if len(place.parts) > 1 else f"no {self.name} on the PATH"
        fix = (
            "build llama.cpp-omni's evaluation programs, and name the right one: --set llamacpp.program=PATH"
        )
        return Need(name, where, fix)

    def _version_need(self, flags: Sequence[str]) -> Need:
        """Whether its own help knows every flag that the run gives it."""
        name = "version"
        try:
            shown = ShortProgram((str(self.path), "--help"), limit_s=_HELP_S).output()
        except NoOutputError as error:
            return Need(name, f"--help {error}", "is this the right program, built for this machine?")
        if shown.exit_code != 0:
            return Need(
                name,
                f"--help ends with exit code {shown.exit_code}: {shown.text.strip()[-300:]}",
                "set up the libraries that it was built with (LD_LIBRARY_PATH, set_env.sh of CANN)",
            )
        words = set(shown.text.replace(",", " ").split())
        missing = [flag for flag in flags if flag not in words]
        if missing:
            return Need(
                name,
                f"it does not know {' '.join(missing)}",
                "build a version of llama.cpp-omni whose evaluation programs do, or drop from the recipe "
                "what needs it",
            )
        return Need(name, f"knows {' '.join(flags)}")

    def _model_need(self) -> Need:
        if self.model is not None:
            return _gguf_need("model", self.model)
        if self.named != self.folder:
            fix = "give the .gguf file of the language part, or its folder, with --model"
            return Need("model", f"no file {self.named}", fix)
        files = [path.name for path in _models(self.folder)]
        listed = f": {', '.join(files)}" if files else ""
        return Need(
            "model",
            f"{len(files)} files in {self.folder} may be the language part of the model{listed}",
            "name the .gguf file with --model",
        )

    def _file_need(self, what: str, patterns: Sequence[str]) -> Need:
        for pattern in patterns:
            found = next(iter(sorted(self.folder.glob(pattern))), None)
            if found is not None:
                return _gguf_need(what, found)
        return Need(what, f"no {self.folder}/{patterns[0]}", "fetch the whole folder of the model")


def _gguf_need(what: str, path: Path) -> Need:
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except OSError as error:
        return Need(what, f"{path}: cannot be read: {error.strerror or error}", "make it readable")
    if head.startswith(b"GGUF"):
        return Need(what, str(path))
    if head.startswith(GIT_LFS_POINTER):
        return Need(what, f"{path} is a Git LFS pointer, not the weights", "git lfs pull, in its folder")
    return Need(what, f"{path} is no GGUF file", "fetch it again, or name the right one with --model")


def _by_packing(config: RunConfig) -> str:
    """The program for Video-MME takes pictures alone; that for Daily-Omni sounds as well."""
    packing = getattr(config.task, "packing", None)
    return FRAMES_PROGRAM if config.benchmark == "video-mme" and packing == "frames" else SOUNDS_PROGRAM


def _models(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.glob("*.gguf") if not any(part in path.name.lower() for part in _OTHER_PARTS)
    )


def _only_model(folder: Path) -> Path | None:
    found = _models(folder)
    return found[0] if len(found) == 1 else None


def _head_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.sha256(file.read(_HASHED_BYTES)).hexdigest()[:16]
