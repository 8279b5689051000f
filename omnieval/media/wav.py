"""RIFF/WAVE bytes to raw samples and back, with nothing assumed: what a header does not say is an error."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from omnieval.errors import MediaError

Encoding = Literal["u8", "s16", "s24", "s32", "f32", "f64"]

LOWEST_RATE_HZ, HIGHEST_RATE_HZ = 4_000, 384_000
# Bytes of one sample.
WIDTHS: dict[Encoding, int] = {"u8": 1, "s16": 2, "s24": 3, "s32": 4, "f32": 4, "f64": 8}
_INTEGERS: dict[int, Encoding] = {8: "u8", 16: "s16", 24: "s24", 32: "s32"}
_FLOATS: dict[int, Encoding] = {32: "f32", 64: "f64"}
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_COMPRESSED = {2: "ADPCM", 6: "A-law", 7: "mu-law", 0x11: "IMA ADPCM", 0x31: "GSM", 0x55: "MP3", 0xFF: "AAC"}
_FORMAT_BYTES = 16
_SUBFORMAT_AT = 24
_CHUNKS = (b"fmt ", b"data", b"fact", b"LIST")
_CHUNK_HEAD_BYTES = 8
_CHUNK_NAME = re.compile(rb"[A-Za-z0-9_ ]{4}")
# A chunk beside the samples holds notes; samples that look like the head of one would give any size.
_MOST_NOTES_BYTES = 2**16
# Sizes from here on come from writers that could not know the length.
_UNKNOWN_SIZE = 0x7FFFF000
_MOST_BYTES = 2**32 - 64


class CompressedWavError(MediaError):
    """A WAV file whose samples must be decoded first."""


@dataclass(frozen=True, slots=True)
class PcmFormat:
    """How samples are stored: little-endian, channels interleaved, u8 unsigned, the other integers signed.

    Raises MediaError for a rate outside 4 000 to 384 000 Hz and for less than one channel.
    """

    rate_hz: int
    channels: int
    encoding: Encoding = "s16"

    def __post_init__(self) -> None:
        if not LOWEST_RATE_HZ <= self.rate_hz <= HIGHEST_RATE_HZ:
            raise MediaError(
                f"a rate of {self.rate_hz} Hz; expected {LOWEST_RATE_HZ} to {HIGHEST_RATE_HZ} Hz"
            )
        if self.channels < 1:
            raise MediaError(f"a sound of {self.channels} channels; expected at least one")

    @property
    def width(self) -> int:
        """Bytes of one sample."""
        return WIDTHS[self.encoding]

    @property
    def frame_bytes(self) -> int:
        """Bytes of one sample of every channel."""
        return self.width * self.channels

    def __str__(self) -> str:
        channels = "1 channel" if self.channels == 1 else f"{self.channels} channels"
        kind = "float" if self.encoding.startswith("f") else "integer"
        return f"{self.rate_hz} Hz, {channels}, {8 * self.width}-bit {kind}"


@dataclass(frozen=True, slots=True)
class Pcm:
    """Raw samples, whole frames. missing_bytes: how much more the header promised than the file holds."""

    format: PcmFormat
    data: bytes
    missing_bytes: int = 0

    @property
    def frames(self) -> int:
        """Samples a channel."""
        return len(self.data) // self.format.frame_bytes

    @property
    def duration_s(self) -> float:
        return self.frames / self.format.rate_hz


@dataclass(frozen=True, slots=True)
class WavHead:
    """start: where the samples begin. size: their bytes by the header; None where it could not know. A size
    of 0 is true only where nothing or a further chunk follows (see `chunk_bytes`)."""

    format: PcmFormat
    start: int
    size: int | None


def parse_wav(data: bytes) -> Pcm:
    """The samples of a whole WAV file.

    Sizes of 0 (but for a chunk behind it) and of about 4 GiB, which streaming writers leave, mean up to the
    end. Bytes that do not fill a frame are cut off, and counted as missing like those that the header
    promises and that are not there.
    Raises MediaError: no RIFF/WAVE, no fmt or data chunk, compressed, no sensible rate, no channel, a block
    size that does not fit, no sample at all.
    """
    head = wav_head(data)
    if head is None:
        raise MediaError("a WAV file that ends before its data chunk; expected `fmt ` and `data` chunks")
    present = len(data) - head.start
    size = head.size
    if size == 0 and chunk_bytes(data[head.start : head.start + _CHUNK_HEAD_BYTES]) is None:
        size = None
    kept = present if size is None else min(present, size)
    missing = 0 if size is None else size - kept
    loose = kept % head.format.frame_bytes
    if loose and not missing:
        missing = head.format.frame_bytes - loose
    if kept == loose:
        raise MediaError("a WAV file of zero length: it holds no sample")
    return Pcm(head.format, data[head.start : head.start + kept - loose], missing)


def wav_head(data: bytes) -> WavHead | None:
    """What stands before the samples; None where the bytes end before them, so that more may come.

    Raises MediaError where no more bytes would help.
    """
    if data[:4] != b"RIFF"[: len(data)] or data[8:12] != b"WAVE"[: max(0, len(data) - 8)]:
        raise MediaError(f"not a WAV file: expected RIFF and WAVE, found {data[:12]!r}")
    format_: PcmFormat | None = None
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"data":
            if format_ is None:
                raise MediaError("a WAV file without a fmt chunk before its data chunk")
            return WavHead(format_, at, None if size >= _UNKNOWN_SIZE else size)
        if name == b"fmt ":
            if at + size > len(data):
                return None
            format_ = _format(data[at : at + size])
        at += size
        if size % 2 and data[at : at + 4] not in _CHUNKS:  # some writers leave the padding out
            at += 1
    return None


def chunk_bytes(begin: bytes) -> int | None:
    """How many bytes the chunk takes that begins here, with its head and padding; None where none does.

    begin: at least the 8 bytes of the head; fewer are none.
    """
    if len(begin) < _CHUNK_HEAD_BYTES or not _CHUNK_NAME.fullmatch(begin[:4]) or begin[:4] == b"data":
        return None
    size = int.from_bytes(begin[4:8], "little")
    return None if size > _MOST_NOTES_BYTES else _CHUNK_HEAD_BYTES + size + size % 2


def write_wav(pcm: Pcm) -> bytes:
    """A WAV file. Raises MediaError where the samples do not fit into one (4 GiB)."""
    if len(pcm.data) > _MOST_BYTES:
        raise MediaError(f"{len(pcm.data)} bytes of sound do not fit into a WAV file (4 GiB)")
    form = pcm.format
    tag = _FLOAT if form.encoding.startswith("f") else _PCM
    rate = form.rate_hz * form.frame_bytes
    described = struct.pack(
        "<HHIIHH", tag, form.channels, form.rate_hz, rate, form.frame_bytes, 8 * form.width
    )
    chunks = [_chunk(b"fmt ", described)]
    if tag == _FLOAT:
        chunks.append(_chunk(b"fact", struct.pack("<I", pcm.frames)))
    content = b"".join([b"WAVE", *chunks, _chunk(b"data", pcm.data)])
    return b"".join([b"RIFF", struct.pack("<I", len(content)), content])


def join(pieces: Sequence[Pcm]) -> Pcm:
    """One sound of several. Raises MediaError where they are of several formats, and for none at all."""
    if not pieces:
        raise MediaError("no piece of sound to join")
    first = pieces[0].format
    for number, piece in enumerate(pieces, 1):
        if piece.format != first:
            raise MediaError(f"piece {number} of the sound is {piece.format}, but the first is {first}")
    return Pcm(first, b"".join(piece.data for piece in pieces), sum(piece.missing_bytes for piece in pieces))


def _chunk(name: bytes, content: bytes) -> bytes:
    return b"".join([name, struct.pack("<I", len(content)), content, b"\0" * (len(content) % 2)])


def _format(content: bytes) -> PcmFormat:
    if len(content) < _FORMAT_BYTES:
        raise MediaError(f"a WAV file with a fmt chunk of {len(content)} bytes; expected at least 16")
    tag, channels, rate_hz, _, block, bits = struct.unpack_from("<HHIIHH", content)
    if tag == _EXTENSIBLE and len(content) >= _SUBFORMAT_AT + 2:
        tag = int.from_bytes(content[_SUBFORMAT_AT : _SUBFORMAT_AT + 2], "little")
    if tag not in (_PCM, _FLOAT):
        name = _COMPRESSED.get(tag, f"format {tag:#x}")
        raise CompressedWavError(f"a compressed WAV file ({name}); expected PCM or float samples")
    encoding = (_INTEGERS if tag == _PCM else _FLOATS).get(bits)
    if encoding is None:
        kind = "integer" if tag == _PCM else "float"
        raise MediaError(f"a WAV file of {bits}-bit {kind} samples; expected 8, 16, 24, 32 or float 32, 64")
    found = PcmFormat(rate_hz, channels, encoding)
    if block != found.frame_bytes:
        raise MediaError(f"a WAV file whose block is {block} bytes; {found} needs {found.frame_bytes}")
    return found
