"""How large the pages of a parquet column are, from their headers, before any is read.

A page is decoded as a whole, so the largest one says how much memory a column takes; neither the footer nor
pyarrow tells its size. Headers are Thrift's compact protocol:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift (PageHeader),
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

# Statistics in a header hold a smallest and a largest value, which writers keep short.
_FIRST_BYTES, _MOST_BYTES = 2**12, 2**24
_DICTIONARY_PAGE = 2
# Fields of a PageHeader: its own, and the count of values in what it tells of each kind of page.
_TYPE, _UNPACKED, _PACKED = (1,), (2,), (3,)
_COUNTS = ((5, 1), (7, 1), (8, 1))
# Types of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY = range(1, 9)
_STRUCT = 12
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its sizes in bytes as it lies in the file, without the header, and when it is unpacked."""

    packed: int
    unpacked: int
    values: int
    is_dictionary: bool


def pages(file: IO[bytes], start: int, length: int) -> Iterator[Page]:
    """The pages of a column chunk that begins at `start` and is `length` bytes long.

    Raises ValueError where the headers are damaged.
    """
    at, end = start, start + length
    while at < end:
        page, header_bytes = _page(file, at, end)
        at += header_bytes + page.packed
        yield page


def memory_for(found: Iterator[Page]) -> int:
    """Bytes held at most, about, while such pages are read value by value: a page as it lies in the file and
    unpacked, the dictionary of the column, a value that is decoded and one that is still in use."""
    most = dictionary = 0
    for page in found:
        value = page.unpacked // max(1, page.values)
        most = max(most, page.packed + page.unpacked + dictionary + 2 * value)
        if page.is_dictionary:
            dictionary = page.unpacked
    return most


def _page(file: IO[bytes], at: int, end: int) -> tuple[Page, int]:
    """The page whose header begins at `at`, and the header's length."""
    wanted = _FIRST_BYTES
    while True:
        file.seek(at)
        content = file.read(min(wanted, end - at))
        try:
            return _header(content)
        except IndexError:
            if len(content) < wanted or wanted >= _MOST_BYTES:
                raise ValueError("a page header has no end") from None
            wanted *= 16


def _header(content: bytes) -> tuple[Page, int]:
    """Raises IndexError where the content ends before the header does."""
    reader = _Compact(content)
    values = dict(reader.numbers())
    if _UNPACKED not in values or _PACKED not in values or min(values[_UNPACKED], values[_PACKED]) < 0:
        raise ValueError("a page header tells no size")
    count = next((values[place] for place in _COUNTS if place in values), 1)
    return Page(values[_PACKED], values[_UNPACKED], count, values.get(_TYPE) == _DICTIONARY_PAGE), reader.at


class _Compact:
    """Reads a struct of Thrift's compact protocol; at: where it is in the content."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0

    def numbers(self, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], int]]:
        """The whole numbers of a struct and of those within it, each with the fields that lead to it. place:
        the fields that lead to the struct."""
        field = 0
        while (begin := self._byte()) != 0:
            field = field + (begin >> 4) if begin >> 4 else _signed(self._varint())
            kind = begin & 0x0F
            if kind in (_I16, _I32, _I64):
                yield (*place, field), _signed(self._varint())
            elif kind == _STRUCT:
                if len(place) > _DEEPEST:
                    raise ValueError("a page header is nested without end")
                yield from self.numbers((*place, field))
            elif kind == _BINARY:
                self._move(self._varint())
            elif kind == _DOUBLE:
                self._move(8)
            elif kind == _BYTE:
                self._move(1)
            elif kind not in (_TRUE, _FALSE):  # no page header has lists or maps
                raise ValueError(f"a page header holds the unknown type {kind}")

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a page header holds an endless number")

    def _byte(self) -> int:
        byte = self._content[self.at]
        self.at += 1
        return byte

    def _move(self, count: int) -> None:
        if count < 0 or self.at + count > len(self._content):
            raise IndexError
        self.at += count


def _signed(value: int) -> int:
    """Undoes Thrift's zigzag."""
    return (value >> 1) ^ -(value & 1)
