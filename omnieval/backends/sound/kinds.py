"""What bytes without a WAV header are: samples of a named encoding, a compressed file, or a text."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Mapping

from omnieval.media.wav import Encoding

# How many bytes tell which kind of sound, and whether they are a text.
KIND_BYTES = 12
TEXT_BYTES = 1024

_NAMES: Mapping[Encoding, tuple[str, ...]] = {
    "u8": ("u8", "uint8"),
    "s16": ("s16", "int16", "pcm16", "pcm_16", "linear16"),
    "s24": ("s24", "int24"),
    "s32": ("s32", "int32"),
    "f32": ("f32", "float32", "float"),
    "f64": ("f64", "float64", "double"),
}
_BARE = ("pcm", "raw", "wav", "lpcm")  # names that say nothing of the samples
_MAGIC = {
    b"ID3": "MP3",
    b"OggS": "Ogg",
    b"fLaC": "FLAC",
    b"\x1a\x45\xdf\xa3": "WebM or Matroska",
    b"FORM": "AIFF",
}
_MPEG_FRAMES = (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")
_NO_BITRATES, _NO_RATE = (0, 15), 3
_FEW_CONTROLS = 2
_NO_UTF8 = "\N{REPLACEMENT CHARACTER}"


def encoding_of(name: str) -> tuple[Encoding, bool] | None:
    """The encoding that a server's word for it means, and whether it is big-endian; None for an unknown one.

    `s16le`, `pcm_s16le`, `int16`, `f32le`, `s16be` and their like; `pcm` and `wav` mean 16 bits, and `L16`
    means big-endian ones (RFC 3551).
    """
    bare = name.strip().lower().replace("-", "_").replace(" ", "_")
    if bare == "l16":
        return "s16", True
    if bare in _BARE:
        return "s16", False
    big_endian = bare.endswith("be")
    bare = bare.removesuffix("be").removesuffix("le").removesuffix("_")
    for encoding, names in _NAMES.items():
        if bare in names or bare.removeprefix("pcm_") in names:
            return None if big_endian and encoding == "s24" else (encoding, big_endian)
    return None


def compressed_kind(begin: bytes) -> str | None:
    """What a compressed sound that begins so is; None for what may be samples. begin: `KIND_BYTES`."""
    if begin[4:8] == b"ftyp":
        return "MP4"
    if begin[:2] in _MPEG_FRAMES and len(begin) > 2:
        bitrate, rate = begin[2] >> 4, begin[2] >> 2 & 3
        return "MP3" if bitrate not in _NO_BITRATES and rate != _NO_RATE else None
    return next((kind for magic, kind in _MAGIC.items() if begin.startswith(magic)), None)


def is_text(begin: bytes) -> bool:
    """Whether bytes are the beginning of a text: UTF-8 with hardly any control characters, and no NUL. A few
    letters of another encoding do not matter.

    Samples are not: those of silence are NULs, and those of sound are soon no UTF-8. begin: the more, the
    surer; `TEXT_BYTES` are enough.
    """
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(begin)
    controls = sum(unicodedata.category(letter) == "Cc" and letter not in "\t\n\r\f" for letter in text)
    return (
        "\0" not in text
        and controls <= max(_FEW_CONTROLS, len(text) // 50)
        and text.count(_NO_UTF8) <= len(text) // 8
    )
