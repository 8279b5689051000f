"""Media files that lie in a zip archive: named as if the archive were a folder, taken out when needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from omnieval.errors import DataError, MediaError
from omnieval.media.archives import Member, extract, members, read_member


def archived(path: Path) -> Member | None:
    """The archive's member that a path such as `videos.zip/data/v1.mp4` names; None for a plain path.

    Raises MediaError when the archive cannot be used or has no such member.
    """
    if ".zip" not in str(path).lower():
        return None
    for parent in path.parents:
        if parent.suffix.lower() == ".zip" and parent.is_file():
            found = _by_name(parent).get(path.relative_to(parent).as_posix())
            if found is None:
                raise MediaError(f"{path}: the archive has no such member", kind="media_missing")
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
            f"{path}: cannot be read: {error.strerror or error}", kind="media_missing"
        ) from error
    except DataError as error:
        raise MediaError(str(error)) from error


def _by_name(archive: Path) -> dict[str, Member]:
    status = archive.stat()
    try:
        return _members(archive, status.st_size, status.st_mtime_ns)
    except DataError as error:
        raise MediaError(str(error)) from error


@lru_cache(maxsize=64)
def _members(archive: Path, _size: int, _time: int) -> dict[str, Member]:
    return {PurePosixPath(member.name).as_posix(): member for member in members(archive)}
