"""Sound in bytes, cut anywhere by the network: raw samples, or a WAV with its header."""

from __future__ import annotations

from enum import Enum, auto

from omnieval.backends.failed import FailedTry
from omnieval.backends.sound.spoken import Spoken
from omnieval.errors import MediaError
from omnieval.media.wav import chunk_bytes, wav_head
from omnieval.types import Failure

_HINT = "ask for WAV or 16-bit PCM; look at the server's log"
_MOST_HEAD_BYTES = 2**20
_CHUNK_HEAD_BYTES = 8
_MORE = "more sound came than the WAV header promised; all of it was taken"


class _Place(Enum):
    START = auto()  # a header may begin here
    RAW = auto()
    WAV = auto()
    AFTER_WAV = auto()  # all samples that its header promises are there
    NOTES = auto()  # inside a chunk behind the samples


class WavStream:
    """Hands the samples of a body, or of a piece of sound, to a `Spoken`, as they come.

    A WAV header in front is understood whatever was asked for, and so are several WAV files one after the
    other. Behind the promised samples of a WAV, further chunks are passed over; anything else there is sound
    of which the header did not know.
    """

    def __init__(self, spoken: Spoken) -> None:
        self._spoken = spoken
        self._place = _Place.START
        self._held = b""
        self._size: int | None = None  # bytes of the present WAV's samples; None: up to the end
        self._left = 0
        self._odd = False  # a byte of padding may follow
        self._unsized = False  # a header that says 0, as that of a streaming writer may

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
                case _Place.NOTES:
                    data = self._notes(data)

    def finish(self, at_s: float) -> None:
        """No more comes, so that what was held back was no header. Raises FailedTry."""
        held, self._held = self._held, b""
        after = self._place is _Place.AFTER_WAV
        if (held.removeprefix(b"\0") if after and self._odd else held).startswith(b"RIFF"):
            raise FailedTry(
                Failure(
                    "server",
                    "the answer is a WAV that ends before its samples, so it is cut short",
                    retryable=True,
                    hint="look at the server's log",
                )
            )
        if self._place is _Place.START and held:
            self._spoken.add_raw(held, at_s)
        if after and held and not (self._odd and held == b"\0"):
            self._go_on()
            self._spoken.add_samples(held, at_s)

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
        self._odd, self._unsized = self._left % 2 == 1, head.size == 0
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
        behind = data[1:] if self._odd and data[0] == 0 else data
        if len(behind) < _CHUNK_HEAD_BYTES:
            self._held = data
            return b""
        if behind.startswith(b"RIFF"):
            self._place = _Place.START
            return behind
        size = chunk_bytes(behind[:_CHUNK_HEAD_BYTES])
        if size is not None:
            self._place, self._left = _Place.NOTES, size
            return behind
        self._go_on()
        return data

    def _go_on(self) -> None:
        """What follows are more samples of the same WAV."""
        if not self._unsized:
            self._spoken.note(_MORE)
        self._place, self._size = _Place.WAV, None

    def _notes(self, data: bytes) -> bytes:
        skipped = min(self._left, len(data))
        self._left -= skipped
        if not self._left:
            self._place, self._odd, self._unsized = _Place.AFTER_WAV, False, False
        return data[skipped:]
