"""A key of a media file's content, wherever the file lies: cheap, and of all of it where that is small.

`crc:SIZE-CRC` is over the whole content, of files up to 32 MiB and of all in a zip archive, which says it of
its members; `edges:SIZE-HASH` over size, head, middle and tail, of a plain file and of one in a tar.
A key may hold both, with a space between. None depends on name or time: copies have one key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from omnieval.errors import DataError, MediaError
from omnieval.media.checksums import checksums
from omnieval.media.source import archived


def content_key(path: Path) -> str:
    """The key of a media file, plain or in an archive. Raises MediaError when it cannot be read."""
    member = archived(path)
    try:
        if member is not None:
            return member.content_key()
        status = path.stat()
        return _of_plain(path, status.st_size, status.st_mtime_ns)
    except DataError as error:
        raise MediaError(str(error)) from error
    except OSError as error:
        kind = "media_missing" if isinstance(error, FileNotFoundError) else "media"
        raise MediaError(f"{path}: cannot be read: {error.strerror or error}", kind=kind) from error


def content_keys(media: Mapping[str, Path]) -> dict[str, str]:
    """The keys of a sample's media by role; those that cannot be read have none."""
    found = {}
    for role, path in media.items():
        try:
            found[role] = content_key(path)
        except MediaError:
            continue
    return found


def differ(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Whether two records of a sample's media tell of different contents. A role that only one has, and keys
    of different kinds, tell nothing."""
    return any(
        kind in theirs and theirs[kind] != value
        for role, key in first.items()
        for theirs in [_kinds(second.get(role, ""))]
        for kind, value in _kinds(key).items()
    )


def _kinds(key: str) -> dict[str, str]:
    parts = (part.partition(":") for part in key.split())
    return {kind: value for kind, _, value in parts}


@lru_cache(maxsize=4096)
def _of_plain(path: Path, size: int, _time: int) -> str:
    if not os.path.isfile(path):  # noqa: PTH113 - opening a pipe would wait for its writer
        raise MediaError(f"{path}: not a file; put the media file itself there")
    with path.open("rb") as file:
        return checksums(file, size)
