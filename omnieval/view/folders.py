"""The runs of a folder, each under an id that URLs carry instead of its path."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from omnieval.runlog.store import exists


@dataclass(frozen=True)
class RunPlace:
    """A run directory. group: the folder that holds it with others (a suite, repetitions), or ''."""

    id: str
    path: Path
    group: str

    @property
    def name(self) -> str:
        return self.path.name


def find_runs(root: Path) -> dict[str, RunPlace]:
    """The runs in a folder and in its folders, the newest name first; or the one that the folder is."""
    if exists(root):
        return _by_id([_place(root, "")])
    found = []
    for path in _folders(root):
        if exists(path):
            found.append(_place(path, ""))
        else:
            found += [_place(inner, path.name) for inner in _folders(path) if exists(inner)]
    return _by_id(found)


def _folders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as entries:
            names = sorted((entry.name for entry in entries if entry.is_dir()), reverse=True)
    except OSError:  # gone, or not ours to read
        return []
    return [root / name for name in names if not name.startswith(".")]


def _place(path: Path, group: str) -> RunPlace:
    return RunPlace(hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12], path.resolve(), group)


def _by_id(places: list[RunPlace]) -> dict[str, RunPlace]:
    return {place.id: place for place in places}
