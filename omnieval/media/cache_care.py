"""Looking after a media cache: what is in it, whether it is whole, and keeping it to a size."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from omnieval.media.cache import LAYOUT, MANIFEST, MediaCache, sha256_of
from omnieval.media.embedded import FOLDER, is_whole

# An entry that was used this recently may be on its way to a model.
IN_USE_S = 3600.0
# Media of a table are written when it is read and then needed to the end of the run.
EMBEDDED_IN_USE_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """folder: where it lies; the file itself for media that a table held. size: bytes of all its files.
    used: when it was last used, seconds since the epoch. in_use_s: how long after that it may be needed."""

    folder: Path
    size: int
    used: float
    in_use_s: float = IN_USE_S


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged entry and what is wrong with it."""

    folder: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What pruning removed, and the size that is left, in entries and bytes."""

    removed: int
    freed: int
    kept: int
    left: int


def entries(cache: MediaCache) -> Iterator[CacheEntry]:
    """Every entry, in no particular order; one that vanishes meanwhile is left out."""
    for manifest in (cache.root / LAYOUT).glob(f"*/*/{MANIFEST}"):
        with contextlib.suppress(FileNotFoundError):
            size = sum(file.stat().st_size for file in manifest.parent.iterdir())
            yield CacheEntry(manifest.parent, size, manifest.stat().st_mtime)
    for file in (cache.root / FOLDER).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            status = file.stat()
            yield CacheEntry(file, status.st_size, status.st_mtime, EMBEDDED_IN_USE_S)


def damaged(cache: MediaCache) -> Iterator[Damage]:
    """Read every file of every entry and compare it with its manifest. Slow: it reads the whole cache."""
    for entry in entries(cache):
        reason = _what_is_wrong(entry.folder)
        if reason is not None:
            yield Damage(entry.folder, reason)


def prune(cache: MediaCache, *, most_bytes: int, now: float | None = None) -> Pruned:
    """Remove the entries that were used longest ago until the cache holds at most so many bytes.

    An entry used within the last hour stays in any case, since a run may be sending it, and so do media
    that a run read out of a table within the last day. Runs and other machines may go on meanwhile: an
    entry vanishes at once or not at all.
    """
    now = time.time() if now is None else now
    oldest_first = sorted(entries(cache), key=lambda entry: entry.used)
    left = sum(entry.size for entry in oldest_first)
    removed = freed = 0
    for entry in oldest_first:
        if left <= most_bytes:
            break
        if now - entry.used < entry.in_use_s:
            continue
        remove(cache, entry.folder)
        left -= entry.size
        freed += entry.size
        removed += 1
    return Pruned(removed, freed, len(oldest_first) - removed, left)


def remove(cache: MediaCache, folder: Path) -> None:
    """Remove one entry: it is renamed away first, so that nobody finds half of it."""
    with cache.scratch() as trash, contextlib.suppress(FileNotFoundError):
        folder.rename(trash / folder.name)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()  # only when it is empty now


def _what_is_wrong(folder: Path) -> str | None:
    try:
        if folder.parent.name == FOLDER:
            unfinished = folder.name.startswith(".")
            return None if unfinished or is_whole(folder) else "has other content than when it was made"
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["key"] != folder.name:
            return f"{MANIFEST} belongs to the key {manifest['key']}"
        for file in manifest["files"]:
            if sha256_of(folder / file["name"]) != file["sha256"]:
                return f"{file['name']} has other content than when it was made"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing" if folder.exists() else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{MANIFEST} cannot be read: {error!r}"
    return None
