"""Files that go into requests as they are, of archives as copies in the media cache."""

from __future__ import annotations

from pathlib import Path

from omnieval.media.cache import MediaCache, default_cache_dir
from omnieval.media.prepare import carried_file
from omnieval.media.source import archived


class CarriedFiles:
    """Makes paths that a request can carry. The cache is opened when the first file in an archive comes.

    cache_dir: where the media cache lies; None for the user's own.
    """

    def __init__(self, cache_dir: Path | None) -> None:
        self._cache_dir = cache_dir
        self._cache: MediaCache | None = None

    def plain(self, path: Path) -> Path:
        """The path itself, or of what lies in an archive that of a copy. Raises MediaError, StorageError."""
        if archived(path) is None:
            return path
        if self._cache is None:
            self._cache = MediaCache(self._cache_dir or default_cache_dir(), tidy=False)
        return carried_file(path, self._cache)
