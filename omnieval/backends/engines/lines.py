"""The lines of an engine's output, whatever it prints."""

from __future__ import annotations

from asyncio import StreamReader
from collections import deque

_PIECE = 2**16
# A sound of half an hour, written as base64.
_LONGEST_LINE = 128 * 2**20


class Lines:
    """Reads a stream line by line; holds no more of it than the line that it is reading."""

    def __init__(self, stream: StreamReader, *, longest: int | None = None) -> None:
        self._stream = stream
        self._longest = _LONGEST_LINE if longest is None else longest
        self._whole: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self._size = 0
        self._reading = False

    def at_once(self) -> bytes | None:
        """The next line, where it was read already."""
        return self._whole.popleft() if self._whole else None

    async def next(self) -> bytes:
        """The next line with its end. Without one: what there is at the end of the stream, or the beginning
        of a line that is longer than any should be."""
        while not self._whole:
            piece = await self._piece()
            *ends, rest = piece.split(b"\n")
            for end in ends:
                self._whole.append(b"".join((*self._begun, end, b"\n")))
                self._begun, self._size = [], 0
            self._begun.append(rest)
            self._size += len(rest)
            if not piece or self._size > self._longest:
                left, self._begun, self._size = b"".join(self._begun), [], 0
                self._whole.append(left)
        return self._whole.popleft()

    async def drop_rest(self) -> None:
        """Read to the end, for a pipe is closed there only; whoever is waiting for a line does so as well."""
        while not self._reading and await self._piece():
            pass

    async def _piece(self) -> bytes:
        self._reading = True
        try:
            return await self._stream.read(_PIECE)
        finally:
            self._reading = False
