"""A body of sound, cut anywhere by the network: raw samples, or a WAV with its header."""

from __future__ import annotations

import re
from enum import Enum, auto

from omnieval.backends.failed import FailedTry
from omnieval.backends.spoken import Spoken
from omnieval.errors import MediaError
from omnieval.media.wav import wav_head
from omnieval.types import Failure

_HINT = "ask for WAV or 16-bit PCM; look at the server's log"
_MOST_HEAD_BYTES = 2**20
_CHUNK_NAME = re.compile(rb"[A-Za-z0-9 ]{4}")


class _Place(Enum):
    START = auto()  # a header may begin here
    RAW = auto()
    WAV = auto()
    AFTER_WAV = auto()  # all samples that its header promises are there
    REST = auto()  # no sound


class WavStream:
    """Hands the samples of a body to a `Spoken`, as they come.

    A WAV header in front is understood whatever was asked for, and so are several WAV files one after the
    other. What follows the promised samples of a WAV is no sound.
    """

    def __init__(self, spoken: Spoken) -> None:
        self._spoken = spoken
        self._place = _Place.START
        self._held = b""
        self._size: int | None = None  # bytes of the present WAV's samples; None: up to the end
        self._left = 0

    def add(self, data: bytes, at_s: float) -> None:
        """The next bytes, which came at `at_s` seconds. Raises FailedTry."""
        data, self._held = self._held + data, b""
        while data:
            match self._place:
                case _Place.START:
                    data = self._header(data)
                case _Place.RAW:
                    self._spoken.add_raw(data, at_s)
                    return
                case _Place.WAV:
                    data = self._samples(data, at_s)
                case _Place.AFTER_WAV:
                    data = self._after_wav(data)
                case _Place.REST:
                    return

    def finish(self, at_s: float) -> None:
        """No more comes, so that what was held back was no header. Raises FailedTry."""
        if self._held.startswith(b"RIFF"):
            raise FailedTry(Failure("audio", "the answer is a WAV that ends before its samples", hint=_HINT))
        if self._held and self._place is _Place.START:
            self._spoken.add_raw(self._held, at_s)
        self._held = b""

    def _header(self, data: bytes) -> bytes:
        """What follows the header, where there is one; all is held back as long as there may be one."""
        if data[:4] != b"RIFF"[: len(data)]:
            self._place = _Place.RAW
            return data
        try:
            head = wav_head(data)
        except MediaError as error:
            raise FailedTry(Failure("audio", str(error), hint=_HINT)) from error
        if head is None:
            if len(data) > _MOST_HEAD_BYTES:
                raise FailedTry(Failure("audio", "the answer is a WAV whose header does not end", hint=_HINT))
            self._held = data
            return b""
        self._spoken.begin_wav(head)
        self._place, self._size, self._left = _Place.WAV, head.size, head.size or 0
        return data[head.start :]

    def _samples(self, data: bytes, at_s: float) -> bytes:
        if self._size is None:
            self._spoken.add_samples(data, at_s)
            return b""
        samples = data[: self._left]
        self._spoken.add_samples(samples, at_s)
        self._left -= len(samples)
        if not self._left:
            self._place = _Place.AFTER_WAV
        return data[len(samples) :]

    def _after_wav(self, data: bytes) -> bytes:
        padded = data[0] == 0 and (self._size or 0) % 2
        begin = data[1:5] if padded else data[:4]
        if len(begin) < 4:
            self._held = data
            return b""
        if begin == b"RIFF":
            self._place = _Place.START
            return data[1:] if padded else data
        if not _CHUNK_NAME.fullmatch(begin):
            self._spoken.note("more came than the WAV header promised; it was left out")
        self._place = _Place.REST
        return b""
