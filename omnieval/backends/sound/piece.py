"""Pieces of sound as JSON carries them: base64 of a small WAV, or of raw samples."""

from __future__ import annotations

import base64
import binascii
import re

from omnieval.backends.failed import FailedTry
from omnieval.backends.sound.spoken import Spoken
from omnieval.backends.sound.wav_stream import WavStream
from omnieval.types import Failure

_DATA_URL = re.compile(r"data:[^,]{0,200},")


def add_base64(spoken: Spoken, text: str, at_s: float) -> None:
    """Take one piece that came at `at_s` seconds, bare or as a data URL. Raises FailedTry for no base64, and
    for sound that cannot be used."""
    bare = _DATA_URL.sub("", text, count=1) if text.startswith("data:") else text
    try:
        data = base64.b64decode("".join(bare.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise FailedTry(
            Failure(
                "protocol",
                f"a piece of sound is no valid base64: {error}; it begins with {text[:40]!r}",
                retryable=True,
                hint="the server, or a proxy, damages its answers",
            )
        ) from error
    piece = WavStream(spoken)
    piece.add(data, at_s)
    piece.finish(at_s)
