"""The two ways a run directory's files are written: replaced whole, or appended line by line."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from omnieval.errors import ConfigError, ScoringError, StorageError
from omnieval.runlog.schema import from_line

T = TypeVar("T")
AGAIN = "give the same command again"
RESUME = "resume the run: nothing that was written is lost"
DELETE_AND_RESUME = "restore the file, or delete that line and resume the run"


def storage_error(path: Path, error: OSError, *, then: str = AGAIN) -> StorageError:
    """What to tell the user when a file or folder cannot be written. then: what to do once there is space."""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason += f"; free some space, then {then}"
    elif error.errno in (
        errno.EEXIST,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENAMETOOLONG,
    ):
        reason += "; name another place, or change its permissions"
    elif error.errno == errno.ENOENT:
        reason = f"no folder {path.parent}; make it first, or name another place"
    return StorageError(f"{path}: cannot be written: {reason}")


def begin_directory(directory: Path, *, ours: Callable[[str], bool] = lambda name: name[:1] == ".") -> None:
    """Make a directory that is to hold one thing only.

    ours: whether a file of this name may lie there already; hidden ones may, unless told.
    Raises ConfigError where it holds anything else, StorageError.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in directory.iterdir() if not ours(path.name))
    except OSError as error:
        raise storage_error(directory, error) from error
    if others:
        raise ConfigError(f"{directory}: not empty (found {others[0]}); give a new directory with --out")


def written_in_place(path: Path) -> bool:
    """Whether a path is a device, a pipe or an open file of a process (/dev/stdout), whose name must stay
    what it is."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    place = path.absolute().parent
    return (
        not stat.S_ISREG(mode) or place in (Path("/dev"), Path("/dev/fd")) or Path("/proc") in place.parents
    )


def replace_file(path: Path, chunks: Iterable[bytes], *, then: str = AGAIN) -> None:
    """Write a file so that readers see the old content or the new one, never a part; devices and pipes are
    written to as they are.

    then: as for `storage_error`. Raises StorageError, BrokenPipeError where a pipe's reader has left, and
    whatever making the chunks raises; the old content then stays.
    """
    if written_in_place(path):
        _append(path, chunks)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise storage_error(path, error, then=then) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def replace_json(path: Path, value: Any, *, then: str = AGAIN) -> None:
    """`replace_file` with indented JSON."""
    replace_file(path, _indented(value), then=then)


def _indented(value: Any) -> Iterator[bytes]:
    """In blocks: all parts of a large text at once take several times its memory."""
    parts = json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value)
    while block := "".join(islice(parts, 20_000)):
        yield block.encode("utf-8", "replace")
    yield b"\n"


class LineLog:
    """An append-only file of whole lines.

    A line goes out in one write, so that a killed process leaves at most one torn line at the end;
    opening the log again mends that end: a complete last line gets its line end, a torn one is cut.
    """

    def __init__(self, path: Path, *, then: str = AGAIN) -> None:
        self._path = path
        self._then = then
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._mend_end()
        except OSError as error:
            raise storage_error(path, error, then=then) from error

    def append(self, line: bytes) -> None:
        """Add one line (with its line end). Raises StorageError; the file then holds only whole lines."""
        before = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._descriptor, before)
            raise storage_error(self._path, error, then=self._then) from error

    def close(self) -> None:
        """Flush to the disk and close; a second call does nothing."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> LineLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _mend_end(self) -> None:
        size = os.fstat(self._descriptor).st_size
        if size == 0 or os.pread(self._descriptor, 1, size - 1) == b"\n":
            return
        start = _start_of_last_line(self._descriptor, size)
        try:
            json.loads(os.pread(self._descriptor, size - start, start))
        except ValueError:
            os.ftruncate(self._descriptor, start)
        else:
            os.write(self._descriptor, b"\n")


def read_lines(path: Path, kind: type[T], *, then: str = DELETE_AND_RESUME) -> Iterator[T]:
    """The records of a line log, in order; a torn last line is left out.

    then: what to do about a damaged line.
    Raises ScoringError naming file and line for a damaged line anywhere else, and when the file cannot
    be read. A missing file has no records.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield from_line(kind, line)
                except ValueError as error:
                    if not line.endswith(b"\n"):
                        return
                    raise ScoringError(
                        f"{path}: line {number} is damaged ({_first_line(error)}); {then}"
                    ) from error
    except FileNotFoundError:
        return
    except OSError as error:
        raise ScoringError(f"{path}: cannot be read: {error.strerror or error}") from error


def _append(path: Path, chunks: Iterable[bytes]) -> None:
    """To the end, since standard output may be a file that holds something already."""
    try:
        with path.open("ab") as file:
            file.writelines(chunks)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise storage_error(path, error) from error


def _start_of_last_line(descriptor: int, size: int, block: int = 65536) -> int:
    end = size
    while end > 0:
        start = max(0, end - block)
        position = os.pread(descriptor, end - start, start).rfind(b"\n")
        if position >= 0:
            return start + position + 1
        end = start
    return 0


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
