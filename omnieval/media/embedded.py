"""Media that lie inside a table of rows, as files of the cache: written once, named by their content."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path
from uuid import uuid4

from omnieval.media.cache import USE_MARK_S, storage_errors

FOLDER = "embedded"
_DIGITS = 24


def write_embedded(cache_root: Path, content: bytes, suffix: str) -> Path:
    """The file with this content, made anew where it was damaged. Its modification time is when it was last
    asked for.

    Raises StorageError when the cache cannot be written.
    """
    path = cache_root / FOLDER / f"{hashlib.sha256(content).hexdigest()[:_DIGITS]}{suffix}"
    with storage_errors(cache_root):
        with contextlib.suppress(FileNotFoundError):
            if path.read_bytes() == content:
                if time.time() - path.stat().st_mtime > USE_MARK_S:
                    with contextlib.suppress(OSError):
                        os.utime(path)
                return path
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}-{uuid4().hex}.tmp")
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    return path


def is_whole(path: Path) -> bool:
    """Whether a file of the folder still has the content that its name tells."""
    return path.stem == hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGITS]
