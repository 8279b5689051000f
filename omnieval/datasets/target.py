"""A folder that a conversion writes into: each file whole or not there, and known on the next run.

A journal in the folder tells of every file that was put there its size and where it came from, so that a
second run writes only what is missing, was cut, or has another source now; and of every step that was done
what was found on the way, so that a second run knows it as well.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from omnieval.errors import DataError, StorageError

JOURNAL = ".conversion.jsonl"
# What `WriteBehind` holds at most, and the file at hand.
MOST_WAITING_BYTES = 64_000_000
# One would spend its time on copying, not on the disk.
_WRITERS = 2


class Target:
    """A folder to convert into. Use as a context; one process at a time may hold it.

    written, kept: names of the files that this run wrote, and of those that were there already. Threads may
    `put` different names at once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[str] = []
        self.kept: list[str] = []
        self.bytes_written = 0
        self._counting = Lock()
        self._journal = -1
        self._known: dict[str, tuple[int, str]] = {}
        self._steps: dict[str, list[str]] = {}

    def __enter__(self) -> Target:
        with storage_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._journal = os.open(self.folder / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._journal)
            raise DataError(
                f"{self.folder}: another conversion writes into this folder; let it end, or name another"
            ) from None
        except OSError:  # a file system without locks
            pass
        with storage_errors(self.folder / JOURNAL):
            journal = (self.folder / JOURNAL).read_bytes()
        self._known, self._steps = dict(_entries(journal)), dict(_steps(journal))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._journal)

    def has(self, name: str, source: str) -> bool:
        """Whether the file was put there whole from that source, and still has its size."""
        size, known_source = self._known.get(name, (-1, ""))
        path = self.folder / name
        there = known_source == source and os.path.isfile(path) and path.stat().st_size == size  # noqa: PTH113
        if there:
            self.kept.append(name)
        return there

    def step_found(self, step: str) -> list[str] | None:
        """What was found when a step was done; None when it was not."""
        return self._steps.get(step)

    def finish_step(self, step: str, found: list[str]) -> None:
        """Remember that a step was done, and the names it found. Raises StorageError."""
        with storage_errors(self.folder / JOURNAL):
            self._append({"step": step, "found": found})
        self._steps[step] = found

    def withdraw(self, name: str) -> None:
        """Take a file away that an earlier run put there, since what it stands for is about to change."""
        if name in self._known:
            with storage_errors(self.folder / name):
                (self.folder / name).unlink(missing_ok=True)

    def put(
        self, name: str, pieces: Iterable[bytes | memoryview], source: str, *, flush: bool = False
    ) -> Path:
        """Write a file under its name (relative, with `/`) when it is whole. flush: wait for the disk.

        Raises StorageError naming the file when the folder is full or cannot be written.
        """
        path = self.folder / name
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with _partial(path) as partial:
                with partial.open("wb", buffering=0) as file:
                    for piece in pieces:
                        _write(file.fileno(), piece)
                    size = file.tell()
                    if flush:
                        os.fsync(file.fileno())
                partial.replace(path)
            self._note(name, size, source)
        return path

    def move(self, name: str, made: Path, source: str) -> Path:
        """Take a whole file of the same disk that was made elsewhere."""
        path = self.folder / name
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            size = made.stat().st_size
            made.replace(path)
            self._note(name, size, source)
        return path

    def link(self, name: str, original: Path, source: str) -> Path:
        """A file that is there already, under another name: a hard link, or a copy where that cannot be."""
        path = self.folder / name
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with _partial(path) as partial, contextlib.suppress(OSError):
                os.link(original.resolve(), partial)
                return self.move(name, partial, source)
        return self.put(name, _pieces(original), source)

    def _note(self, name: str, size: int, source: str) -> None:
        self._append({"name": name, "size": size, "source": source})
        with self._counting:
            self._known[name] = (size, source)
            self.written.append(name)
            self.bytes_written += size

    def _append(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(entry).encode() + b"\n"
        if os.write(self._journal, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class WriteBehind:
    """Writes the files of a target while the next bytes are decoded. Use as a context; when it ends, all is
    written, and the first error of a write is raised (there, or at a later `put`)."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._threads = ThreadPoolExecutor(_WRITERS)
        self._waiting: deque[tuple[Future[Path], int]] = deque()

    def __enter__(self) -> WriteBehind:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=error is not None)
        if error is None:
            self.wait()

    def put(self, name: str, content: bytes | memoryview, source: str) -> None:
        """As `Target.put`; waits while too much is still to be written, so that memory stays small."""
        self._waiting.append((self._threads.submit(self._target.put, name, [content], source), len(content)))
        while self._waiting and (self._waiting[0][0].done() or self._waiting_bytes > MOST_WAITING_BYTES):
            self._waiting.popleft()[0].result()

    def wait(self) -> None:
        """Until all that was put is written."""
        while self._waiting:
            self._waiting.popleft()[0].result()

    @property
    def _waiting_bytes(self) -> int:
        return sum(size for _, size in self._waiting)


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """OSError inside the block as a StorageError that names the file and the next step."""
    try:
        yield
    except OSError as error:
        step = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "name another folder"
        raise StorageError(
            f"{path}: cannot be written: {error.strerror or error}; {step}, then give the same command "
            "again: what was written stays"
        ) from error


@contextlib.contextmanager
def _partial(path: Path) -> Iterator[Path]:
    """The name under which a file is written. A killed process leaves it behind; the next run takes it."""
    partial = path.with_name(f".{path.name}.part")
    partial.unlink(missing_ok=True)
    try:
        yield partial
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _write(descriptor: int, piece: bytes | memoryview) -> None:
    view = memoryview(piece).cast("B")
    while view:
        view = view[os.write(descriptor, view) :]


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(2**20):
            yield piece


def _entries(journal: bytes) -> Iterator[tuple[str, tuple[int, str]]]:
    """(name, (size, source)); a line that was torn is none, and its file is written again."""
    for line in journal.split(b"\n"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry: Mapping[str, Any] = json.loads(line)
            yield str(entry["name"]), (int(entry["size"]), str(entry["source"]))


def _steps(journal: bytes) -> Iterator[tuple[str, list[str]]]:
    """(step, what was found); a line that was torn is none, and its step is done again."""
    for line in journal.split(b"\n"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry: Mapping[str, Any] = json.loads(line)
            yield str(entry["step"]), [str(name) for name in entry["found"]]
