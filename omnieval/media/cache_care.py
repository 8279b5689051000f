"""Looking after a media cache: what is in it, whether it is whole, and keeping it to a size."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from omnieval.media.cache import LAYOUT, MANIFEST, MediaCache

# An entry that was used this recently may be on its way to a model.
IN_USE_S = 3600.0


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """folder: where it lies. size: bytes of all its files. used: when it was last used, seconds since the
    epoch."""

    folder: Path
    size: int
    used: float


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


def damaged(cache: MediaCache) -> Iterator[Damage]:
    """Read every file of every entry and compare it with its manifest. Slow: it reads the whole cache."""
    for entry in entries(cache):
        reason = _what_is_wrong(entry.folder)
        if reason is not None:
            yield Damage(entry.folder, reason)


def prune(cache: MediaCache, *, most_bytes: int, now: float | None = None) -> Pruned:
    """Remove the entries that were used longest ago until the cache holds at most so many bytes.

    An entry used within the last hour stays in any case, since a run may be sending it. Runs and other
    machines may go on meanwhile: an entry vanishes at once or not at all.
    """
    now = time.time() if now is None else now
    oldest_first = sorted(entries(cache), key=lambda entry: entry.used)
    left = sum(entry.size for entry in oldest_first)
    removed = freed = 0
    for entry in oldest_first:
        if left <= most_bytes or now - entry.used < IN_USE_S:
            break
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
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["key"] != folder.name:
            return f"{MANIFEST} belongs to the key {manifest['key']}"
        for file in manifest["files"]:
            content = (folder / file["name"]).read_bytes()
            if hashlib.sha256(content).hexdigest() != file["sha256"]:
                return f"{file['name']} has other content than when it was made"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing" if folder.exists() else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{MANIFEST} cannot be read: {error!r}"
    return None
