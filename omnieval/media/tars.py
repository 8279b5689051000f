"""Tar archives of a data set, plain or packed by gzip, read as if they were hostile.

A plain archive is read in place: its headers once, then each member by its offset. A packed one cannot be
read from the midst, so it is unpacked once a process into a temporary file without a name (in TMPDIR), which
is gone when the process ends, however it ends. `gunzip` it beforehand where that costs too much.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import stat
import tarfile
import tempfile
import threading
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn

from omnieval.errors import DataError, StorageError
from omnieval.media.archives import Member, bad_name, is_litter
from omnieval.media.checksums import checksums

SUFFIXES = (".tar", ".tar.gz", ".tgz")
_LARGEST_MEMBER = 64 * 2**30
# Sound and video hardly get smaller by gzip; text does not by more than this.
_BOMB_RATIO, _BOMB_FROM = 200, 2**20
# Names and attributes of a member in front of its header; tarfile would read any number of bytes of them.
_LONGEST_HEADER = 2**18
_PIECE, _BLOCK = 2**20, tarfile.BLOCKSIZE
_GZIP = b"\x1f\x8b"
# What tarfile raises on damage; RecursionError (a chain of headers) is a RuntimeError.
_LISTING_ERRORS = (tarfile.TarError, EOFError, OverflowError, RuntimeError, ValueError, IndexError)
_UNPACKING_ERRORS = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class TarMember(Member):
    """A regular file in a tar archive. offset: where its content begins in the (unpacked) archive. The stamp
    is of the archive's size and time and of the member's name, place and header; a tar has no checksums of
    contents."""

    offset: int

    def content(self) -> AbstractContextManager[Iterator[bytes]]:
        """The content in pieces, as many bytes as declared and no more. Raises DataError."""
        return _content(self)

    def content_key(self) -> str:
        """See `omnieval.media.content_key`. Raises DataError."""
        with _at_content(self) as file:
            return checksums(file, self.size, self.offset)


def is_tar(path: Path) -> bool:
    """Whether a name is that of a tar archive, plain or packed by gzip."""
    return path.name.lower().endswith(SUFFIXES)


def tar_members(archive: Path, *, most_bytes: int = _LARGEST_MEMBER) -> list[TarMember]:
    """The regular files of an archive, from its headers alone; no content is read.

    most_bytes: a member that declares more is refused. Raises DataError naming archive and member for what
    is no whole tar, and for links, devices, sparse files, names that lead outside or collide, and bombs;
    StorageError where a packed archive does not fit into the temporary folder.
    """
    with _opened(archive) as (file, status):
        found: list[TarMember] = []
        seen: dict[str, str] = {}
        for info in _headers(archive, file):
            if info.isdir() or is_litter(info.name.removeprefix("./")):
                continue
            _check(archive, info, most_bytes)
            key = unicodedata.normalize("NFC", PurePosixPath(info.name).as_posix()).casefold()
            if key in seen:
                _refuse(archive, info, f"collides with {seen[key]!r}")
            seen[key] = info.name
            stamp = _stamp(status, info.name, info.offset_data, info.size, file)
            found.append(TarMember(archive, info.name, info.size, stamp, info.offset_data))
        return found


def _headers(archive: Path, file: IO[bytes]) -> Iterator[tarfile.TarInfo]:
    """The members' headers. The archive must end as every tar does, with a block of zeros: tarfile takes
    whatever it cannot read for the end."""
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        with tarfile.open(fileobj=_Headers(file), mode="r:") as opened:
            while (info := opened.next()) is not None:
                opened.members = []  # type: ignore[attr-defined]  # it would keep them all
                if info.size < 0 or info.offset_data + info.size > end:
                    _refuse(archive, info, "is not whole: the archive ends before it does")
                yield info
            file.seek(opened.offset)
    except (OSError, *_LISTING_ERRORS) as error:
        raise _not_whole(archive, error) from error
    if file.read(_BLOCK) != bytes(_BLOCK):
        raise _not_whole(archive, "it ends in the midst, or holds something else there")


class _Headers(io.RawIOBase):
    """A file of which no more than a header is read at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


@contextlib.contextmanager
def _opened(archive: Path) -> Iterator[tuple[IO[bytes], os.stat_result]]:
    """The archive, unpacked, and the size and time of its file."""
    try:
        if not stat.S_ISREG(archive.stat().st_mode):  # opening a pipe would wait for its writer
            raise DataError(f"{archive}: not a file; put the archive itself there")
        file = archive.open("rb")
    except FileNotFoundError:
        raise DataError(f"{archive}: no such archive; fetch it again") from None
    except OSError as error:
        raise DataError(f"{archive}: cannot be read ({error.strerror}); look at its permissions") from error
    with file:
        status = os.fstat(file.fileno())
        packed = file.read(2) == _GZIP
        if not packed:
            yield file, status
            return
    with _LOCK:
        unpacked = _unpacked(archive, status.st_size, status.st_mtime_ns)
    # A handle of one's own: threads share the file, and must not share a position in it.
    with open(f"/proc/self/fd/{unpacked.fileno()}", "rb") as own:  # noqa: PTH123 - no path of a file system
        yield own, status


_LOCK = threading.Lock()


@lru_cache(maxsize=4)
def _unpacked(archive: Path, size: int, time_ns: int) -> IO[bytes]:
    """A packed archive as a plain one, in a temporary file without a name; closed when nobody holds it."""
    most = max(_BOMB_FROM, _BOMB_RATIO * size)
    plain = tempfile.TemporaryFile()  # noqa: SIM115 - kept for the process
    try:
        with gzip.open(archive) as packed:
            while piece := _unpack(archive, packed):
                if plain.tell() + len(piece) > most:
                    raise DataError(
                        f"{archive}: inflates more than {_BOMB_RATIO} times, like a bomb; it is not used; "
                        "fetch it again, or unpack by hand what you trust of it"
                    )
                plain.write(piece)
        plain.flush()
        status = archive.stat()
        if (status.st_size, status.st_mtime_ns) != (size, time_ns):
            raise _not_whole(archive, "it changed while it was unpacked")
    except OSError as error:
        plain.close()
        raise StorageError(
            f"{archive}: cannot be unpacked into {tempfile.gettempdir()}: {error.strerror or error}; free "
            "some space, name another folder with TMPDIR, or gunzip the archive yourself"
        ) from error
    except BaseException:
        plain.close()
        raise
    return plain


def _unpack(archive: Path, packed: gzip.GzipFile) -> bytes:
    try:
        return packed.read(_PIECE)
    except _UNPACKING_ERRORS as error:
        raise _not_whole(archive, error) from error


@contextlib.contextmanager
def _content(member: TarMember) -> Iterator[Iterator[bytes]]:
    with _at_content(member) as file:
        yield _pieces(member, file)


@contextlib.contextmanager
def _at_content(member: TarMember) -> Iterator[IO[bytes]]:
    with _opened(member.archive) as (file, status):
        if _stamp(status, member.name, member.offset, member.size, file) != member.stamp:
            raise DataError(
                f"{member.archive}: {member.name!r} is not what it was when the archive was listed; "
                "let the archive be complete and start again"
            )
        file.seek(member.offset)
        yield file


def _pieces(member: TarMember, file: IO[bytes]) -> Iterator[bytes]:
    left = member.size
    while left:
        try:
            piece = file.read(min(left, _PIECE))
        except OSError as error:
            raise _damaged(member, error) from error
        if not piece:
            raise _damaged(member, "shorter than it declares")
        left -= len(piece)
        yield piece


def _stamp(status: os.stat_result, name: str, offset: int, size: int, file: IO[bytes]) -> str:
    """Leaves the file where it was. The header is the block before the content."""
    place = file.tell()
    file.seek(offset - _BLOCK)
    facts = (status.st_size, status.st_mtime_ns, name, offset, size, file.read(_BLOCK))
    file.seek(place)
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _check(archive: Path, info: tarfile.TarInfo, most_bytes: int) -> None:
    problem = bad_name(info.name)
    if problem is None and (not info.isreg() or info.issparse()):
        problem = "is a link, a device or a sparse file"
    if problem is None and info.size > most_bytes:
        problem = f"declares {info.size} bytes, more than {most_bytes}"
    if problem is not None:
        _refuse(archive, info, problem)


def _refuse(archive: Path, info: tarfile.TarInfo, problem: str) -> NoReturn:
    raise DataError(
        f"{archive}: the member {info.name!r} {problem}; the archive is not used; "
        "fetch it again, or unpack by hand what you trust of it"
    )


def _not_whole(archive: Path, problem: object) -> DataError:
    return DataError(
        f"{archive}: not a whole tar archive ({problem}); fetch it again, or check it with `tar -tf`"
    )


def _damaged(member: Member, problem: object) -> DataError:
    return DataError(f"{member.archive}: {member.name!r} is damaged ({problem}); fetch the archive again")
