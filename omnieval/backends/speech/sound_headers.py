"""What the headers of an answer say of the samples in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnieval.backends.sound.kinds import encoding_of
from omnieval.media.wav import WIDTHS

_RAW_TYPES = frozenset({"pcm", "raw", "x-raw", "wav", "wave", "x-wav", "vnd.wave", "x-pcm", "lpcm"})
_PREFIX = re.compile(r"^(x-)?(audio-)?")
_NUMBERS = frozenset({"sample_rate", "sample_rate_hz", "sampling_rate", "channels", "num_channels"})
_ENCODINGS = ("sample_format", "pcm_format")
# Names that may speak of something else, so that they count only where their value is understood.
_PERHAPS = ("encoding", "format", "codec")
_BITS = ("bit_depth", "bits_per_sample", "bits")
_MOST_WIDTH_BYTES = 8


def said_in_headers(content_type: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Rate, channels and format, by the names that `Spoken.say` knows.

    From parameters of the type (`audio/pcm;rate=24000`), and from headers such as `X-Sample-Rate`,
    `X-Audio-Channels`, `X-Sample-Format`, `X-Bit-Depth`, which count more.
    """
    kind, *parameters = content_type.lower().split(";")
    said: dict[str, str] = {}
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        said[name.strip().replace("-", "_")] = value.strip().strip('"')
    numbers = {"rate": said["rate"]} if "rate" in said else {}
    for name, value in headers.items():
        said[_PREFIX.sub("", name.lower()).replace("-", "_")] = value.strip()
    numbers |= {name: said[name] for name in _NUMBERS & said.keys()}
    encoding = _encoding(kind.strip(), said)
    return numbers if encoding is None else {**numbers, "format": encoding}


def _encoding(kind: str, said: Mapping[str, str]) -> str | None:
    """The name of the encoding; one that nobody understands where the headers contradict each other."""
    family, _, form = kind.partition("/")
    if family == "audio" and form not in _RAW_TYPES and form != "l16":
        return form
    names = [said[name] for name in _ENCODINGS if name in said]
    names += [said[name] for name in _PERHAPS if encoding_of(said.get(name, "")) is not None]
    exact = [name for name in names if name.lower() not in _RAW_TYPES]
    found = exact[0] if exact else ("l16" if form == "l16" else None)
    bits = _bits(said)
    width = str(8 * WIDTHS[encoding[0]]) if (encoding := encoding_of(found or "pcm")) else None
    return found if bits in (None, width) else f"{bits}-bit {found or 'PCM'}"


def _bits(said: Mapping[str, str]) -> str | None:
    bits = next((said[name] for name in _BITS if name in said), None)
    if bits is None and "sample_width" in said:
        width = said["sample_width"]
        return str(8 * int(width)) if width.isdecimal() and int(width) <= _MOST_WIDTH_BYTES else width
    return bits
