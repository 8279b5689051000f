"""What an engine says beside its answers: the last lines in memory, all of it in files of bounded size."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections import deque
from pathlib import Path
from typing import IO

_MOST_BYTES = 32 * 2**20
_REMEMBERED_LINES = 60
_KEPT_OF_LINE = 2**20
_LONGEST_LINE = 2000
_KEPT_FOLDERS = 20
# Words of the lines that tell why an engine ended.
_TELLING = re.compile(r"error|exception|fatal|killed|out of memory|abort|signal", re.IGNORECASE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def new_log_folder(cache_root: Path) -> Path:
    """A folder for the logs of one run's engines, not yet made; of earlier ones the newest 20 are left."""
    root = cache_root / "engines"
    with contextlib.suppress(OSError):
        for old in sorted(root.iterdir())[: -_KEPT_FOLDERS + 1]:
            shutil.rmtree(old, ignore_errors=True)
    return root / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


class EngineLog:
    """Takes the output of one engine, however often it is started anew.

    path: the file; where it becomes too large it is renamed to `.1`, in the place of an older one. A disk
    that is full costs the file, and nothing else.
    """

    def __init__(self, path: Path, *, most_bytes: int = _MOST_BYTES) -> None:
        self.path = path
        self._most_bytes = most_bytes
        self._size = 0
        self._file: IO[bytes] | None = None
        self._lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)

    def begin(self, title: str) -> None:
        """A process starts; what earlier ones said is no longer the reason of anything."""
        self._lines.clear()
        self._write(f"--- {time.strftime('%Y-%m-%d %H:%M:%S')} {title}\n".encode("utf-8", "backslashreplace"))

    def add(self, line: bytes) -> None:
        """One line, with its end; no more than the beginning of one that is very long."""
        line = line[:_KEPT_OF_LINE]
        text = _COLOUR.sub("", line.decode("utf-8", "replace")).strip()
        if text:
            self._lines.append(text[:_LONGEST_LINE])
        self._write(line)

    def reason(self) -> str:
        """The last line that tells of a failure, else the last one; empty where nothing was said."""
        telling = [line for line in self._lines if _TELLING.search(line)]
        return next(reversed(telling or self._lines), "")

    def close(self) -> None:
        """Of the file; what is said later opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            file = self._file or self._opened()
            if self._size + len(data) > self._most_bytes:
                self.close()
                self.path.replace(self.path.with_name(self.path.name + ".1"))
                file = self._opened()
            self._size += file.write(data)

    def _opened(self) -> IO[bytes]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab", buffering=0)
        self._size = self._file.seek(0, os.SEEK_END)
        return self._file
