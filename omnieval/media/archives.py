"""Zip archives of a data set, read as if they were hostile.

Nothing is taken from an archive but regular files with safe names, no more bytes than the archive declares,
and nothing is written under a name that the archive chose.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO
from uuid import uuid4

from omnieval.errors import DataError, StorageError

# A member above the first, or an archive above the second, is no part of a benchmark.
_LARGEST_MEMBER, _LARGEST_TOTAL = 64 * 2**30, 2**40
# Video does not compress; text does not compress more than this.
_BOMB_RATIO, _BOMB_FROM = 200, 2**20
_PIECE = 2**20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_READING_ERRORS = (zipfile.BadZipFile, EOFError, ValueError, RuntimeError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file in an archive. size: bytes when inflated. stamp: a hash of the archive's size and time
    and the member's name, checksum and sizes, which tells its content without reading it."""

    archive: Path
    name: str
    size: int
    stamp: str

    @property
    def suffix(self) -> str:
        """The file suffix in small letters where it is a plain one, else none."""
        suffix = PurePosixPath(self.name).suffix.lower()
        return suffix if re.fullmatch(r"\.[a-z0-9]{1,8}", suffix) else ""


def members(archive: Path) -> list[Member]:
    """The regular files of an archive, from its directory alone; no content is read.

    Raises DataError naming archive and member for what is no zip, and for links, devices, names that lead
    outside or collide, encryption and bombs; StorageError never.
    """
    with _opened(archive) as opened:
        status = archive.stat()
        found = []
        seen: dict[str, str] = {}
        total = 0
        for info in opened.infolist():
            if info.is_dir() or _is_litter(info.filename):
                continue
            _check(archive, info)
            total += info.file_size
            key = unicodedata.normalize("NFC", info.filename).casefold()
            if key in seen:
                raise _refused(archive, info, f"collides with {seen[key]!r}")
            seen[key] = info.filename
            found.append(Member(archive, info.filename, info.file_size, _stamp(status, info)))
        if total > _LARGEST_TOTAL:
            raise DataError(f"{archive}: declares {total / 2**40:.1f} TiB, which no data set has; not read")
        return found


def read_member(member: Member, *, most_bytes: int = 64 * 2**20) -> bytes:
    """The whole content of a small member. Raises DataError when it is larger, or damaged."""
    if member.size > most_bytes:
        raise DataError(f"{member.archive}: {member.name!r} is larger than {most_bytes} bytes; not read")
    with _content(member) as content:
        return b"".join(content)


def extract(member: Member, folder: Path) -> Path:
    """The member as a file of its own in `folder`, written once, under a name made of its stamp.

    Safe in several processes at once; what is cut short leaves nothing behind. Raises DataError for a
    damaged member, StorageError when the folder cannot be written.
    """
    path = folder / f"{member.stamp}{member.suffix}"
    try:
        if path.stat().st_size == member.size:
            return path
    except OSError:
        pass
    temporary = folder / f".{member.stamp}-{uuid4().hex}.tmp"
    with _content(member) as content:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                for piece in content:
                    file.write(piece)
            temporary.replace(path)
        except OSError as error:
            raise StorageError(
                f"{path}: cannot be written: {error.strerror or error}; free some space, or name another "
                "folder with --cache-dir or OMNIEVAL_CACHE_DIR"
            ) from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
    return path


@contextlib.contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as opened:
            yield opened
    except FileNotFoundError:
        raise DataError(f"{archive}: no such archive; fetch it again") from None
    except (OSError, *_READING_ERRORS) as error:
        raise DataError(
            f"{archive}: not a whole zip archive ({error}); fetch it again, or check it with `unzip -t`"
        ) from error


@contextlib.contextmanager
def _content(member: Member) -> Iterator[Iterator[bytes]]:
    with _opened(member.archive) as opened:
        try:
            info = opened.getinfo(member.name)
        except KeyError:
            raise DataError(f"{member.archive}: {member.name!r} is gone; was the archive changed?") from None
        if info.compress_type not in _METHODS:
            raise _refused(
                member.archive, info, "uses a compression that Python does not read; unpack it with 7z"
            )
        try:
            with opened.open(info) as file:
                yield _pieces(member, file)
        except (EOFError, OSError, *_READING_ERRORS) as error:
            raise DataError(
                f"{member.archive}: {member.name!r} is damaged ({error}); fetch the archive again"
            ) from error


def _pieces(member: Member, file: IO[bytes]) -> Iterator[bytes]:
    """The content in pieces, never more than declared and never less."""
    read = 0
    while piece := _read(member, file):
        read += len(piece)
        if read > member.size:
            raise DataError(f"{member.archive}: {member.name!r} is longer than it declares; not used")
        yield piece
    if read < member.size:
        raise DataError(f"{member.archive}: {member.name!r} is shorter than it declares; fetch it again")


def _read(member: Member, file: IO[bytes]) -> bytes:
    import zlib

    try:
        return file.read(_PIECE)
    except (zlib.error, OSError, *_READING_ERRORS) as error:
        raise DataError(
            f"{member.archive}: {member.name!r} is damaged ({error}); fetch the archive again"
        ) from error


def _check(archive: Path, info: zipfile.ZipInfo) -> None:
    problem = _bad_name(info.orig_filename) or _bad_name(info.filename)
    mode = info.external_attr >> 16
    if problem is None and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        problem = "is a link or a device"
    if problem is None and info.flag_bits & 0x1:
        problem = "is encrypted"
    if problem is None and info.file_size > _LARGEST_MEMBER:
        problem = f"declares {info.file_size / 2**30:.0f} GiB"
    if problem is None and info.file_size > max(_BOMB_FROM, _BOMB_RATIO * info.compress_size):
        problem = f"inflates {info.file_size // max(1, info.compress_size)} times, like a bomb"
    if problem is not None:
        raise _refused(archive, info, problem)


def _bad_name(name: str) -> str | None:
    parts = name.split("/")
    if not name or name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "has an absolute name"
    if ".." in parts:
        return "has a name that leads outside"
    if "\\" in name or any(ord(character) < 32 for character in name):
        return "has a name with a backslash or a control character"
    return None


def _is_litter(name: str) -> bool:
    return name.startswith("__MACOSX/") or name.rsplit("/", 1)[-1] == ".DS_Store"


def _refused(archive: Path, info: zipfile.ZipInfo, problem: str) -> DataError:
    return DataError(f"{archive}: the member {info.filename!r} {problem}; the archive is not used")


def _stamp(status: os.stat_result, info: zipfile.ZipInfo) -> str:
    facts = (status.st_size, status.st_mtime_ns, info.filename, info.CRC, info.file_size, info.compress_size)
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
