"""Which media files a data set's folder holds, at any depth and in archives, by their bare name."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from omnieval.errors import DataError
from omnieval.media.source import is_archive, listed

VIDEO_SUFFIXES = frozenset({".mp4", ".mkv", ".webm", ".avi", ".mov"})


class MediaIndex:
    """Files by the name without suffix. A plain file comes before one in an archive, and of several the
    first by path counts; `repeated` names those that were there twice, as plain files or in archives. A file
    in an archive has a path as if the archive were a folder (see `omnieval.media.source`). notes: archives
    that cannot be used.
    """

    def __init__(self, root: Path, suffixes: Collection[str], *, archives: str = "*") -> None:
        """archives: pattern of the names of zip and tar archives to look into, in any case."""
        self.notes: list[str] = []
        self.repeated: set[str] = set()
        self._paths: dict[str, Path] = {}
        plain = sorted(_files(root))
        for path in plain:
            if path.suffix.lower() in suffixes:
                self._add(path.stem, path)
        self._plain = frozenset(self._paths)
        for path in plain:
            if is_archive(path) and fnmatch(path.name.lower(), archives):
                self._look_into(path, suffixes)

    def find(self, name: str) -> Path | None:
        """The file of that name, or None."""
        return self._paths.get(name)

    def __len__(self) -> int:
        return len(self._paths)

    def _look_into(self, archive: Path, suffixes: Collection[str]) -> None:
        try:
            found = listed(archive)
        except DataError as error:
            self.notes.append(str(error))
            return
        for member in found:
            inside = PurePosixPath(member.name)
            if inside.suffix.lower() in suffixes and inside.stem not in self._plain:
                self._add(inside.stem, archive / member.name)

    def _add(self, name: str, path: Path) -> None:
        if name in self._paths:
            self.repeated.add(name)
        else:
            self._paths[name] = path


def _files(root: Path) -> Iterator[Path]:
    """Files at any depth, without hidden folders; a folder that links lead to once more is passed over."""
    seen: set[tuple[int, int]] = set()
    for folder, inner, names in os.walk(root, followlinks=True):
        status = Path(folder).stat()
        if (status.st_dev, status.st_ino) in seen:
            inner.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield from (Path(folder) / name for name in names if not name.startswith("."))
