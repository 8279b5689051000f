"""Zip archives of a data set, read as if they were hostile.

Nothing is taken from an archive but regular files with safe names, no more bytes than the archive declares,
and nothing is written under a name that the archive chose.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO
from uuid import uuid4

from omnieval.errors import DataError, StorageError
from omnieval.media.checksums import crc_key

# A member above the first, or an archive above the second, is no part of a benchmark.
_LARGEST_MEMBER, _LARGEST_TOTAL = 64 * 2**30, 2**40
# Video does not compress; text does not compress more than this.
_BOMB_RATIO, _BOMB_FROM = 200, 2**20
_PIECE = 2**20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Flags of the directory: encrypted, strongly encrypted, local header masked.
_ENCRYPTED = 0x1 | 0x40 | 0x2000
# What zipfile raises on damage, beside OSError; NotImplementedError is a RuntimeError.
_READING_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    IndexError,
    OverflowError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file in an archive. size: bytes when inflated. stamp: a hash of the archive's size and time
    and the member's name, checksum and sizes, which tells its content without reading it. crc: the checksum
    of the content, as the archive has it."""

    archive: Path
    name: str
    size: int
    stamp: str
    crc: int = field(default=0, kw_only=True)

    @property
    def suffix(self) -> str:
        """The file suffix in small letters where it is a plain one, else none."""
        suffix = PurePosixPath(self.name).suffix.lower()
        return suffix if re.fullmatch(r"\.[a-z0-9]{1,8}", suffix) else ""

    def content(self) -> AbstractContextManager[Iterator[bytes]]:
        """The content in pieces, as many bytes as declared and no more. Raises DataError."""
        return _content(self)

    def content_key(self) -> str:
        """See `omnieval.media.content_key`. Raises DataError."""
        return crc_key(self.size, self.crc)


def members(archive: Path, *, most_bytes: int = _LARGEST_MEMBER) -> list[Member]:
    """The regular files of an archive, from its directory alone; no content is read.

    most_bytes: a member that declares more is refused. Raises DataError naming archive and member for what
    is no zip, and for links, devices, names that lead outside or collide, encryption and bombs.
    """
    with _opened(archive) as (opened, status):
        found = []
        seen: dict[str, str] = {}
        total = 0
        for info in opened.infolist():
            if _is_folder(info) or is_litter(info.filename):
                continue
            _check(archive, info, most_bytes)
            total += info.file_size
            key = unicodedata.normalize("NFC", info.filename).casefold()
            if key in seen:
                raise _refused(archive, info, f"collides with {seen[key]!r}")
            seen[key] = info.filename
            stamp = _stamp(status, info)
            found.append(Member(archive, info.filename, info.file_size, stamp, crc=info.CRC))
        if total > _LARGEST_TOTAL:
            raise DataError(
                f"{archive}: declares {total / 2**40:.1f} TiB, which no data set has; "
                "the archive is not used; fetch it again"
            )
        return found


def read_member(member: Member, *, most_bytes: int = 64 * 2**20) -> bytes:
    """The whole content of a small member. Raises DataError when it is larger, damaged, or no longer the
    one that was listed."""
    if member.size > most_bytes:
        raise DataError(
            f"{member.archive}: {member.name!r} is larger than {most_bytes} bytes; not read; "
            "fetch the archive again, or leave it out"
        )
    with member.content() as content:
        return b"".join(content)


def extract(member: Member, folder: Path) -> Path:
    """The member as a file of its own in `folder`, written once, under a name made of its stamp.

    Safe in several processes at once; what is cut short leaves nothing behind. Raises DataError for a
    damaged member or one that is no longer the one that was listed, StorageError when the folder cannot be
    written.
    """
    path = folder / f"{member.stamp}{member.suffix}"
    with contextlib.suppress(OSError):
        status = path.stat()
        if stat.S_ISREG(status.st_mode) and status.st_size == member.size:
            return path
    temporary = folder / f".{member.stamp}-{uuid4().hex}.tmp"
    with member.content() as content:
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
def _opened(archive: Path) -> Iterator[tuple[zipfile.ZipFile, os.stat_result]]:
    """The archive, and its size and time as they were before it was opened."""
    try:
        status = archive.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for its writer
            raise DataError(f"{archive}: not a file; put the archive itself there")
        opened = zipfile.ZipFile(archive)
    except FileNotFoundError:
        raise DataError(f"{archive}: no such archive; fetch it again") from None
    except PermissionError as error:
        raise DataError(f"{archive}: may not be read ({error.strerror}); change its permissions") from error
    except (OSError, *_READING_ERRORS) as error:
        raise DataError(
            f"{archive}: not a whole zip archive ({error}); fetch it again, or check it with `unzip -t`"
        ) from error
    with opened:
        yield opened, status


@contextlib.contextmanager
def _content(member: Member) -> Iterator[Iterator[bytes]]:
    with _opened(member.archive) as (opened, status):
        try:
            info = opened.getinfo(member.name)
        except KeyError:
            raise _changed(member) from None
        if _stamp(status, info) != member.stamp:
            raise _changed(member)
        if info.compress_type not in _METHODS:
            raise DataError(
                f"{member.archive}: {member.name!r} is packed by method {info.compress_type}, which is not "
                "read here; unpack the archive by hand with 7z (`7z x`) and take it away"
            )
        # zipfile cuts a member at its declared size; one byte more shows whether there is more.
        longer = copy.copy(info)
        longer.file_size += 1
        try:
            file = opened.open(longer)
        except (OSError, *_READING_ERRORS) as error:
            raise _damaged(member, error) from error
        with file:
            yield _pieces(member, file)


def _pieces(member: Member, file: IO[bytes]) -> Iterator[bytes]:
    """The content in pieces, never more than declared and never less."""
    read = 0
    while piece := _read(member, file):
        read += len(piece)
        if read > member.size:
            raise _damaged(member, "longer than it declares")
        yield piece
    if read < member.size:
        raise _damaged(member, "shorter than it declares")


def _read(member: Member, file: IO[bytes]) -> bytes:
    try:
        return file.read(_PIECE)
    except (OSError, *_READING_ERRORS) as error:
        raise _damaged(member, error) from error


def _check(archive: Path, info: zipfile.ZipInfo, most_bytes: int) -> None:
    problem = bad_name(info.orig_filename) or bad_name(info.filename)
    mode = info.external_attr >> 16
    if problem is None and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        problem = "is a link or a device"
    if problem is None and info.flag_bits & _ENCRYPTED:
        problem = "is encrypted"
    if problem is None and info.file_size > most_bytes:
        problem = f"declares {info.file_size} bytes, more than {most_bytes}"
    if problem is None and info.file_size > max(_BOMB_FROM, _BOMB_RATIO * info.compress_size):
        problem = f"inflates {info.file_size // max(1, info.compress_size)} times, like a bomb"
    if problem is not None:
        raise _refused(archive, info, problem)


def bad_name(name: str) -> str | None:
    """Why a member's name is not taken, or None."""
    parts = name.split("/")
    if not name:
        return "has an empty name"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "has an absolute name"
    if ".." in parts:
        return "has a name that leads outside"
    if "\\" in name or any(ord(character) < 32 for character in name):
        return "has a name with a backslash or a control character"
    return None


def _is_folder(info: zipfile.ZipInfo) -> bool:
    return info.filename.endswith("/") or stat.S_ISDIR(info.external_attr >> 16)


def is_litter(name: str) -> bool:
    """Whether a member is one that a desktop adds."""
    return name.startswith("__MACOSX/") or name.rsplit("/", 1)[-1] == ".DS_Store"


def _refused(archive: Path, info: zipfile.ZipInfo, problem: str) -> DataError:
    return DataError(
        f"{archive}: the member {info.filename!r} {problem}; the archive is not used; "
        "fetch it again, or unpack by hand what you trust of it"
    )


def _damaged(member: Member, problem: object) -> DataError:
    return DataError(f"{member.archive}: {member.name!r} is damaged ({problem}); fetch the archive again")


def _changed(member: Member) -> DataError:
    return DataError(
        f"{member.archive}: {member.name!r} is not what it was when the archive was listed; "
        "let the archive be complete and start again"
    )


def _stamp(status: os.stat_result, info: zipfile.ZipInfo) -> str:
    facts = (status.st_size, status.st_mtime_ns, info.filename, info.CRC, info.file_size, info.compress_size)
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
