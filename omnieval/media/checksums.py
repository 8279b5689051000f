"""What is kept of a content to recognise it; see `omnieval.media.content_key`."""

from __future__ import annotations

import zlib
from typing import IO

from omnieval.media.edges import hash_of_edges

# Sounds and clips; reading one takes a few hundredths of a second. Hours of video are larger.
WHOLE_BYTES = 32 * 2**20
_PIECE = 2**20


def checksums(file: IO[bytes], size: int, start: int = 0) -> str:
    """The key of the `size` bytes that begin at `start`."""
    edges = f"edges:{size}-{hash_of_edges(file, size, start)[:24]}"
    return edges if size > WHOLE_BYTES else f"{crc_key(size, _crc(file, size, start))} {edges}"


def crc_key(size: int, crc: int) -> str:
    """The key `crc:SIZE-CRC`."""
    return f"crc:{size}-{crc:08x}"


def _crc(file: IO[bytes], size: int, start: int) -> int:
    file.seek(start)
    crc = 0
    while size > 0 and (piece := file.read(min(_PIECE, size))):
        crc = zlib.crc32(piece, crc)
        size -= len(piece)
    return crc
