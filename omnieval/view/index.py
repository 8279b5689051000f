"""A run directory as a SQLite file that pages are asked of: where each line lies, and what it is filtered by.

It lies in the cache folder, is made anew when a file of the run has another size or time, and may be deleted
at any moment. What a page shows of a sample is read from the run's own files, at the places kept here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from omnieval.errors import ScoringError
from omnieval.runlog.schema import from_line
from omnieval.view.index_build import FILES, build_index

T = TypeVar("T")
_LAYOUT = "3"
# A page waits so long for an index before it says how far that is.
_PATIENCE_S = 1.0
# The index of a run that is being written is made anew at most as often as one tenth of the time allows.
_REST = 10


class NotReadyError(Exception):
    """The index is being made. share: of the run's files that is read, 0 to 1."""

    def __init__(self, share: float) -> None:
        super().__init__(f"{share:.0%}")
        self.share = share


@dataclass(frozen=True)
class Index:
    """An opened index. state: of the run's files as they were read. damaged: lines left out. built: seconds
    since the epoch. took_s: for making it. outdated: the run has changed since. problem: why it could not be
    made anew, then."""

    rows: sqlite3.Connection
    state: str
    damaged: int
    built: float
    took_s: float
    outdated: bool = False
    problem: str | None = None


class Indexer:
    """Opens indices, and makes them in threads of its own. folder: where they lie."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._making: dict[Path, _Making] = {}
        self._closing = threading.Event()

    def place(self, run: Path) -> Path:
        """Where the index of a run lies."""
        return self._folder / f"{hashlib.sha256(os.fsencode(run.resolve())).hexdigest()[:24]}.sqlite"

    def open(self, run: Path) -> Index:
        """The index of a run directory for reading; the one before, while one of a longer run is being made.

        Raises NotReadyError while the first one is being made, ScoringError where it cannot be made.
        """
        place = self.place(run)
        before = _opened(place)
        if before is not None and before.state == _state(run):
            return before
        making = self._begun(run, place, before)
        if making is None:
            problem = None
        elif making.ends_within(_PATIENCE_S if before is None or before.took_s < _PATIENCE_S else 0):
            self._forget(place, making)
            problem = making.problem
            if problem is None:
                if before is not None:
                    before.rows.close()
                made = _made(place)
                return made if made.state == _state(run) else replace(made, outdated=True)
        elif before is None:
            raise NotReadyError(making.share)
        else:
            problem = None
        if before is None:
            raise ScoringError(problem or f"{place}: the viewer's index is gone; try again")
        return replace(before, outdated=True, problem=problem)

    def close(self) -> None:
        """Give up what is being made."""
        self._closing.set()
        for making in list(self._making.values()):
            making.ends_within(2.0)

    def _begun(self, run: Path, place: Path, before: Index | None) -> _Making | None:
        """What makes the index; None where the one before is too young to be replaced."""
        with self._lock:
            rested = before is None or time.time() - before.built > _REST * before.took_s
            if place not in self._making and rested:
                self._making[place] = _Making(run, place, self._closing)
            return self._making.get(place)

    def _forget(self, place: Path, making: _Making) -> None:
        with self._lock:
            if self._making.get(place) is making:
                del self._making[place]


class _GivenUpError(Exception):
    """The viewer ends."""


class _Making:
    """An index being made. share: of the run's files that is read. problem: why it could not be made."""

    def __init__(self, run: Path, place: Path, closing: threading.Event) -> None:
        self.share = 0.0
        self.problem: str | None = None
        self._closing = closing
        self._thread = threading.Thread(target=self._make, args=(run, place), daemon=True)
        self._thread.start()

    def ends_within(self, seconds: float) -> bool:
        """Wait for it. Whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _make(self, run: Path, place: Path) -> None:
        try:
            build_index(run, place, _state(run), self._tell)
        except (OSError, sqlite3.Error) as error:
            self.problem = f"{place}: the viewer's index cannot be made: {error}; free some space there"
        except _GivenUpError:
            self.problem = "The viewer was ended."
        except Exception as error:  # noqa: BLE001 - a thread has nobody else to tell
            self.problem = f"{run}: cannot be indexed: {type(error).__name__}: {error}"

    def _tell(self, share: float) -> None:
        self.share = share
        if self._closing.is_set():
            raise _GivenUpError


def line_at(path: Path, kind: type[T], place: int | None) -> T | None:
    """The record of the line that begins at a byte of a file; None where none does (any more)."""
    if place is None:
        return None
    try:
        with path.open("rb") as file:
            file.seek(place)
            return from_line(kind, file.readline())
    except (OSError, ValueError):
        return None


def _state(run: Path) -> str:
    found = [_LAYOUT]
    for name in FILES:
        with contextlib.suppress(OSError):
            facts = (run / name).stat()
            found.append(f"{name} {facts.st_size} {facts.st_mtime_ns}")
    return "\n".join(found)


def _made(place: Path) -> Index:
    index = _opened(place)
    if index is None:
        raise ScoringError(f"{place}: the viewer's index does not open; delete it")
    return index


def _opened(place: Path) -> Index | None:
    """An index for reading; None where there is none that this version reads."""
    if not place.is_file():
        return None
    rows = sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True, check_same_thread=False)
    rows.row_factory = sqlite3.Row
    try:
        about = dict(rows.execute("SELECT key, value FROM about").fetchall())
        if about["state"].partition("\n")[0] == _LAYOUT:
            return Index(
                rows, about["state"], int(about["damaged"]), float(about["built"]), float(about["took"])
            )
    except (sqlite3.Error, KeyError, ValueError, AttributeError):
        pass
    rows.close()
    return None
