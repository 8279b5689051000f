"""Media files that lie in an archive (zip or tar): named as if it were a folder, taken out when needed.

An archive must stay what it was when a run first looked into it: two samples of one run never meet two
versions of it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from omnieval.errors import DataError, MediaError
from omnieval.media.archives import Member, extract, members, read_member
from omnieval.media.tars import SUFFIXES as TAR_SUFFIXES
from omnieval.media.tars import is_tar, tar_members

_SUFFIXES = (".zip", *TAR_SUFFIXES)

# Size and time of every archive as it was first seen since the run began.
_first_seen: dict[Path, tuple[int, int]] = {}


def begin_anew() -> None:
    """A new run begins in this process: archives may have changed since the last one."""
    _first_seen.clear()


def is_archive(path: Path) -> bool:
    """Whether a name is that of an archive that is read here."""
    return path.name.lower().endswith(_SUFFIXES)


def archive_of(path: Path) -> Path | None:
    """The archive that a path leads into, or None for a plain path."""
    return next((p for p in (path, *path.parents) if is_archive(p) and os.path.isfile(p)), None)  # noqa: PTH113


def listed(archive: Path) -> list[Member]:
    """The members of an archive; from now on it must stay as it is. Raises DataError."""
    return list(_by_name(archive).values())


def is_there(path: Path) -> bool:
    """Whether a media file is there, plain or in an archive that can be used; for any name."""
    try:
        return archived(path) is not None or os.path.isfile(path)  # noqa: PTH113 - never raises
    except MediaError:
        return False


def archived(path: Path) -> Member | None:
    """The archive's member that a path such as `videos.zip/data/v1.mp4` names; None for a plain path.

    Raises MediaError when the archive cannot be used, was replaced since the run began, or has no such
    member; StorageError when a packed tar does not fit into the temporary folder.
    """
    if not any(suffix in str(path).lower() for suffix in _SUFFIXES):
        return None
    for parent in path.parents:
        if is_archive(parent) and os.path.isfile(parent):  # noqa: PTH113 - never raises
            try:
                found = _by_name(parent).get(path.relative_to(parent).as_posix())
            except DataError as error:
                raise MediaError(str(error)) from error
            if found is None:
                raise MediaError(
                    f"{path}: the archive has no such member; mend the name, or fetch the archive again",
                    kind="media_missing",
                )
            return found
    return None


@contextlib.contextmanager
def plain_file(path: Path, scratch: Path) -> Iterator[Path]:
    """A plain file with the content of `path`; what lies in an archive is in `scratch` for the block.

    Errors inside the block that name the file for the block name `path` instead. Raises MediaError when
    the archive is damaged, StorageError when `scratch` is full.
    """
    member = archived(path)
    if member is None:
        yield path
        return
    try:
        taken_out = extract(member, scratch)
    except DataError as error:
        raise MediaError(str(error)) from error
    try:
        yield taken_out
    except MediaError as error:
        raise MediaError(str(error).replace(str(taken_out), str(path)), kind=error.kind) from error
    finally:
        with contextlib.suppress(OSError):
            taken_out.unlink()


def read_small_file(path: Path) -> bytes:
    """The content of a small file, plain or in an archive. Raises MediaError."""
    member = archived(path)
    try:
        return path.read_bytes() if member is None else read_member(member)
    except OSError as error:
        raise MediaError(
            f"{path}: cannot be read: {error.strerror or error}; check its path and permissions",
            kind="media_missing",
        ) from error
    except DataError as error:
        raise MediaError(str(error)) from error


def _by_name(archive: Path) -> dict[str, Member]:
    try:
        status = archive.stat()
    except OSError as error:
        raise DataError(f"{archive}: cannot be read: {error.strerror or error}; fetch it again") from error
    now = (status.st_size, status.st_mtime_ns)
    if _first_seen.setdefault(archive.absolute(), now) != now:
        raise DataError(
            f"{archive}: the archive changed since the run began; let it be complete, then start a new run"
        )
    return _members(archive, *now)


@lru_cache(maxsize=64)
def _members(archive: Path, _size: int, _time: int) -> dict[str, Member]:
    found = tar_members(archive) if is_tar(archive) else members(archive)
    return {PurePosixPath(member.name).as_posix(): member for member in found}
