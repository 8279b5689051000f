"""The runs of a folder, each under an id that URLs carry instead of its path."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from omnieval.bench.store import REPEATS, holds_bench
from omnieval.runlog.store import RUN
from omnieval.suite import holds_suite


@dataclass(frozen=True)
class RunPlace:
    """A run directory. group: the suite, bench or folder of repetitions that holds it, if any."""

    id: str
    path: Path
    group: Path | None = None

    @property
    def name(self) -> str:
        return self.path.name


class Folder:
    """A folder of runs, or a single run. What is in it is looked up when the list of runs is asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, RunPlace] = {}

    def runs(self) -> dict[str, RunPlace]:
        """By id, the newest name first, as they are now."""
        self._known = find_runs(self.root)
        return self._known

    def run(self, name: str) -> RunPlace | None:
        """The run of an id; None where it is gone."""
        place = self._known.get(name)
        if place is None or not _is_run(place.path):
            place = self.runs().get(name)
        return place

    def unreadable(self) -> list[str]:
        """What is wrong with the folder, or with folders in it that may hold runs."""
        inside = [self.root] if problem_of(self.root) else [p for p in _folders(self.root) if not _is_run(p)]
        return [f"{path}: {problem}" for path in inside if (problem := problem_of(path))]

    def others(self, place: RunPlace, most: int) -> list[RunPlace]:
        """Runs to compare one with, as last looked up: those of its own group first."""
        found = [run for run in self._known.values() if run.id != place.id]
        return sorted(found, key=lambda run: run.group != place.group)[:most]


def problem_of(root: Path) -> str | None:
    """Why a folder cannot be looked into, if so."""
    try:
        os.scandir(root).close()
        os.stat(os.path.join(root, "."))  # noqa: PTH116, PTH118 - whether it may be entered; a Path drops the dot
    except FileNotFoundError:
        return "no such folder"
    except NotADirectoryError:
        return "a file, not a folder"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None


def find_runs(root: Path) -> dict[str, RunPlace]:
    """The runs in a folder and in its folders, the newest name first; or the one that the folder is."""
    if _is_run(root):
        return _by_id([_place(root, None)])
    if problem_of(root) is not None:
        return {}
    found = []
    suite = root if holds_suite(root) else None
    for path in _folders(root):
        if _is_run(path):
            found.append(_place(path, suite))
        elif problem_of(path) is None:
            inside = _folders(path) + (_folders(path / REPEATS) if holds_bench(path) else [])
            found += [_place(inner, path) for inner in inside if _is_run(inner)]
    return _by_id(found)


def _is_run(path: Path) -> bool:
    return os.path.isfile(path / RUN)  # noqa: PTH113 - never raises, also where a folder may not be entered


def _folders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as entries:
            names = sorted((entry.name for entry in entries if entry.is_dir()), reverse=True)
    except OSError:  # gone, or not ours to read
        return []
    return [root / name for name in names if not name.startswith(".")]


def _place(path: Path, group: Path | None) -> RunPlace:
    real = path.resolve()
    return RunPlace(hashlib.sha256(os.fsencode(real)).hexdigest()[:12], real, group)


def _by_id(places: list[RunPlace]) -> dict[str, RunPlace]:
    return {place.id: place for place in places}
