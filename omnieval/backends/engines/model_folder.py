"""Whether a folder holds a model as hubs publish them: what is missing, cut short or but a pointer."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from omnieval.types import JsonDict

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
GIT_LFS_POINTER = b"version https://git-lfs"
_LONGEST_HEADER = 512 * 2**20


def model_name(model: str) -> str:
    """What a report calls a model: the name of its folder or file, or that on a hub."""
    place = Path(model).expanduser()
    return place.absolute().name if place.exists() else model


def model_config(folder: Path) -> JsonDict:
    """Its config.json; empty where there is none that can be read."""
    try:
        content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def code_files(folder: Path) -> list[str]:
    """The files with the model's own code that its config names, whether they are there or not."""
    named = model_config(folder).get("auto_map")
    values: Iterable[Any] = named.values() if isinstance(named, dict) else ()
    classes = [value for value in values if isinstance(value, str) and "--" not in value]
    return sorted({f"{value.rpartition('.')[0]}.py" for value in classes})


def troubles(folder: Path, expected: Sequence[str] = ()) -> list[str]:
    """What keeps the folder from being loaded, a phrase each; none where nothing does.

    expected: further names of files without which the model is not whole.
    """
    if not folder.is_dir():
        return ["no such folder"]
    found = []
    if not model_config(folder):
        found.append(
            "config.json is missing" if not (folder / "config.json").exists() else "config.json is no JSON"
        )
    found += [
        f"{name} is missing" for name in [*code_files(folder), *expected] if not (folder / name).is_file()
    ]
    return found + _of_weights(folder)


def _of_weights(folder: Path) -> list[str]:
    for name in _WEIGHTS:
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _of_files(folder, _shards(index))
        if (folder / name).exists():
            return _of_files(folder, [name])
    return [f"there are no weights ({' or '.join(_WEIGHTS)}, or an index of several files)"]


def _shards(index: Path) -> list[str]:
    try:
        named = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        return sorted({str(name) for name in named.values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [index.name]


def _of_files(folder: Path, names: Sequence[str]) -> list[str]:
    found = [_of_file(folder / name) for name in names]
    troubles = [f"{name} {trouble}" for name, trouble in zip(names, found, strict=True) if trouble]
    return troubles if len(troubles) < 4 else [*troubles[:3], f"and {len(troubles) - 3} more of {len(names)}"]


def _of_file(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            begin = file.read(64)
            size = path.stat().st_size
            if begin.startswith(GIT_LFS_POINTER):
                return "is a Git LFS pointer, not the weights (git lfs pull)"
            if path.suffix == ".json":
                return "is no index of weights"
            if path.suffix != ".safetensors":
                return None if size else "is empty"
            if size < 8:
                return "is cut short"
            (length,) = struct.unpack("<Q", begin[:8])
            if length > _LONGEST_HEADER or length + 8 > size:
                return "is cut short, or no safetensors file"
            file.seek(8)
            return _of_header(file.read(length), size - 8 - length)
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def _of_header(header: bytes, present: int) -> str | None:
    """Whether the tensors that a safetensors header names are all there, by their places."""
    try:
        tensors = json.loads(header)
        end = max((t["data_offsets"][1] for name, t in tensors.items() if name != "__metadata__"), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return "is no safetensors file"
    return "is cut short" if end > present else None
