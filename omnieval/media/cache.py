"""Prepared media on disk, keyed by the content of their source and by every setting that shapes them.

Layout: `{root}/v1/{first two digits of the key}/{key}/` holds `manifest.json` beside the files that it
lists with size, SHA-256, MIME type and timestamp. An entry is written in `{root}/v1/tmp` and renamed into
place, so that a directory under its key is complete. Reading never decodes: a process that first reads an
entry compares every file's SHA-256 with the manifest (about 1 ms for 1 MB), and its size each time after.
Several processes, also on several machines, may share one root.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from omnieval.errors import MediaError, StorageError
from omnieval.media.edges import hash_of_edges
from omnieval.media.source import archived

LAYOUT = "v1"
MANIFEST = "manifest.json"
_STALE_S = 24 * 3600
USE_MARK_S = 60


def default_cache_dir() -> Path:
    """The user's cache folder for prepared media."""
    from platformdirs import user_cache_path

    return user_cache_path("omnieval") / "media"


def users_cache_dir() -> Path:
    """The cache folder where no run names one: OMNIEVAL_CACHE_DIR, or the user's own."""
    named = os.environ.get("OMNIEVAL_CACHE_DIR")
    return (Path(named).expanduser() if named else default_cache_dir()).absolute()


@dataclass(frozen=True, slots=True)
class CachedFile:
    """One file of an entry. timestamp is in seconds of the source, where it has one."""

    path: Path
    mime: str
    sha256: str
    timestamp: float | None


@dataclass(frozen=True, slots=True)
class Entry:
    """Files by role, each role in order, and notes on what had to be mended."""

    files: Mapping[str, tuple[CachedFile, ...]]
    notes: tuple[str, ...]


class EntryWriter:
    """Collects the files of a new entry in a temporary folder."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._files: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def add(self, role: str, suffix: str, mime: str, content: bytes, timestamp: float | None = None) -> None:
        """Write the next file of a role (`frame-0007.jpg`)."""
        path = self._next(role, suffix)
        with storage_errors(self._root):
            path.write_bytes(content)
        self._record(path, role, mime, len(content), hashlib.sha256(content).hexdigest(), timestamp)

    def add_file(self, role: str, suffix: str, mime: str, source: Path) -> None:
        """Copy a file that may be large. Raises StorageError when the copy cannot be written."""
        path = self._next(role, suffix)
        with storage_errors(self._root):
            shutil.copyfile(source, path)
            digest = sha256_of(path)
            size = path.stat().st_size
        self._record(path, role, mime, size, digest, None)

    def _next(self, role: str, suffix: str) -> Path:
        number = sum(file["role"] == role for file in self._files)
        return self._folder / f"{role}-{number:04d}{suffix}"

    def _record(
        self, path: Path, role: str, mime: str, size: int, sha256: str, timestamp: float | None
    ) -> None:
        record = {"name": path.name, "role": role, "mime": mime, "size": size, "sha256": sha256}
        self._files.append(record | {"timestamp": timestamp})

    def finish(self, key: str, description: Mapping[str, Any]) -> None:
        """Write the manifest, which makes the entry readable."""
        manifest = {"layout": LAYOUT, "key": key, **description, "notes": self.notes, "files": self._files}
        text = json.dumps(manifest, indent=1, ensure_ascii=False)
        with storage_errors(self._root):
            (self._folder / MANIFEST).write_text(text, encoding="utf-8")


class MediaCache:
    """A cache folder; made on demand.

    Raises StorageError, here and in `get_or_make`, when the folder cannot be written or is full.
    """

    def __init__(self, root: Path, *, tidy: bool = True) -> None:
        """tidy: remove what killed processes left behind."""
        self.root = root.absolute()
        self._temporary = self.root / LAYOUT / "tmp"
        self._whole: set[str] = set()  # keys whose files had their content when they were first read
        with storage_errors(self.root):
            self._temporary.mkdir(parents=True, exist_ok=True)
            if tidy:
                self._remove_stale()

    def get(self, key: str) -> Entry | None:
        """The entry of a key, or None when there is none that verifies."""
        place = self._place(key)
        entry = _read(place, key, hashing=key not in self._whole)
        if entry is not None:
            self._whole.add(key)
            _mark_used(place)
        return entry

    def get_or_make(
        self, key: str, description: Mapping[str, Any], make: Callable[[EntryWriter], None]
    ) -> Entry:
        """The entry of a key, made by `make` when there is none that verifies.

        description: what goes into the manifest beside the files. Errors of `make` pass through and
        leave nothing behind.
        """
        entry = self.get(key)
        if entry is not None:
            return entry
        place = self._place(key)
        with self._temporary_folder() as folder:
            writer = EntryWriter(folder, self.root)
            make(writer)
            writer.finish(key, description)
            with storage_errors(self.root):
                self._move_into_place(folder, place, key)
        entry = _read(place, key)
        if entry is None:
            raise StorageError(f"{place}: a new cache entry does not verify; check the disk of {self.root}")
        return entry

    def _place(self, key: str) -> Path:
        return self.root / LAYOUT / key[:2] / key

    def _move_into_place(self, folder: Path, place: Path, key: str) -> None:
        place.parent.mkdir(exist_ok=True)
        for _ in range(3):
            try:
                folder.rename(place)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                if _read(place, key, hashing=True) is not None:
                    return  # another process was first
                damaged = self._temporary / f"{_owner()}-{uuid4().hex}"
                with contextlib.suppress(FileNotFoundError):
                    place.rename(damaged)
                shutil.rmtree(damaged, ignore_errors=True)
            else:
                return

    def scratch(self) -> contextlib.AbstractContextManager[Path]:
        """A folder on the same file system whose content is removed at the end of the block."""
        return self._temporary_folder()

    @contextlib.contextmanager
    def _temporary_folder(self) -> Iterator[Path]:
        folder = self._temporary / f"{_owner()}-{uuid4().hex}"
        with storage_errors(self.root):
            folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _remove_stale(self) -> None:
        """Remove what killed processes left: of this machine when the process is gone, else after a day."""
        for folder in self._temporary.iterdir():
            with contextlib.suppress(FileNotFoundError):  # its owner was quicker
                if _is_stale(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def sha256_of(path: Path) -> str:
    """The hash of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def entry_key(description: Mapping[str, Any]) -> str:
    """SHA-256 over the canonical JSON of everything that shapes an entry, and over the layout."""
    text = json.dumps({"layout": LAYOUT, **description}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def source_identity(path: Path) -> dict[str, Any]:
    """What tells one source file from another: size, modification time, and a hash over head, middle and
    tail (64 KiB each); in an archive, its stamp. Raises MediaError when the file cannot be read."""
    member = archived(path)
    if member is not None:
        return {"size": member.size, "archived": member.stamp}
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its writer
            raise MediaError(f"{path}: not a file; put the media file itself there")
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            edges = hash_of_edges(file, status.st_size)
    except FileNotFoundError:
        raise MediaError(f"{path}: no such file; fetch it again", kind="media_missing") from None
    except OSError as error:
        raise MediaError(f"{path}: cannot be read: {error.strerror or error}") from error
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256_of_edges": edges}


def _read(place: Path, key: str, *, hashing: bool = False) -> Entry | None:
    """The entry in a folder, or None when there is none that verifies: by size, or by content too."""
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        if manifest["layout"] != LAYOUT or manifest["key"] != key:
            return None
        files: dict[str, list[CachedFile]] = {}
        for file in manifest["files"]:
            path = place / file["name"]
            if path.stat().st_size != file["size"]:
                return None
            if hashing and sha256_of(path) != file["sha256"]:
                return None
            cached = CachedFile(path, file["mime"], file["sha256"], file["timestamp"])
            files.setdefault(file["role"], []).append(cached)
        return Entry({role: tuple(items) for role, items in files.items()}, tuple(manifest["notes"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _mark_used(place: Path) -> None:
    """The manifest's modification time is when the entry was last used; a read-only cache keeps none."""
    manifest = place / MANIFEST
    with contextlib.suppress(OSError):
        if time.time() - manifest.stat().st_mtime > USE_MARK_S:
            os.utime(manifest)


@contextlib.contextmanager
def storage_errors(root: Path) -> Iterator[None]:
    """OSError inside the block as a StorageError that names the cache and the next step."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{root}: the media cache cannot be written: {error.strerror or error}; "
            "free some space or name another folder with --cache-dir or OMNIEVAL_CACHE_DIR"
        ) from error


def _is_stale(folder: Path) -> bool:
    machine, _, process = folder.name.rpartition("-")[0].rpartition("-")
    if machine == _machine() and process.isdigit():
        return not _alive(int(process))
    return time.time() - folder.stat().st_mtime > _STALE_S


def _owner() -> str:
    return f"{_machine()}-{os.getpid()}"


def _machine() -> str:
    """What process numbers are unique in: containers that share a host name number their own."""
    try:
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        namespace = 0
    return f"{socket.gethostname()}-{namespace}"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
