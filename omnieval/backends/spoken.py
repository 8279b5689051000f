"""The sound of one answer, put together piece by piece, with its times."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from omnieval.backends.failed import FailedTry
from omnieval.backends.rounding import rounded
from omnieval.config import PcmConfig
from omnieval.errors import MediaError
from omnieval.media.wav import Encoding, Pcm, PcmFormat, WavHead, wav_head, write_wav
from omnieval.types import Failure, SpokenAudio

MOST_BYTES = 256 * 2**20
_ASSUMED_RATE_HZ = 24_000
_COMPRESSED = {b"ID3": "MP3", b"OggS": "Ogg", b"fLaC": "FLAC"}
_ENCODINGS: Mapping[str, Encoding] = {
    **dict.fromkeys(("pcm", "pcm16", "pcm_16", "pcm_s16le", "s16le", "int16", "wav", "l16"), "s16"),
    **dict.fromkeys(("pcm_f32le", "f32le", "float32", "f32"), "f32"),
}
_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("rate", "sampling_rate", "sample_rate_hz", "sample_rate"), "rate_hz"),
    **dict.fromkeys(("num_channels", "channels"), "channels"),
}
_DATA_URL = re.compile(r"data:[^,]{0,200},")


class Spoken:
    """Collects pieces that are small WAV files of their own, or raw samples, in any mixture.

    The format of raw samples is that of an earlier WAV header, else what the answer says of it (`say`), else
    that of the configuration, else 24 kHz, one channel and 16 bits, with a note. All pieces must be of one
    format. A frame may be split over two raw pieces.

    first_s, last_s: seconds from sending to the first and last piece with sound in it. notes: what was
    assumed or mended.
    """

    def __init__(self, fallback: PcmConfig, *, most_bytes: int = MOST_BYTES) -> None:
        self.first_s: float | None = None
        self.last_s: float | None = None
        self._notes: dict[str, None] = {}
        self._fallback = fallback
        self._most_bytes = most_bytes
        self._format: PcmFormat | None = None
        self._by_header = False
        self._said: dict[str, Any] = {}
        self._data = bytearray()
        self._frames = 0
        self._missing = 0  # bytes of the present WAV that its header promises
        self._chunks: list[tuple[float, float]] = []

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def note(self, sentence: str) -> None:
        """Keep what a reader must know; the same sentence counts once."""
        self._notes[sentence] = None

    def say(self, fields: Mapping[str, Any]) -> None:
        """What the answer itself says of raw samples: rate, channels and format by their usual names."""
        for name, key in _FIELDS.items():
            number = _number(fields.get(name))
            if number is not None:
                self._said[key] = number
        form = fields.get("format")
        if isinstance(form, str) and form:
            self._said["encoding"] = form.lower()

    def add_base64(self, text: str, at_s: float) -> None:
        """One piece in base64, bare or as a data URL. Raises FailedTry for anything else."""
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
        self.add_piece(data, at_s)

    def add_piece(self, data: bytes, at_s: float) -> None:
        """One piece that came at `at_s` seconds: a WAV file, or raw samples. Raises FailedTry."""
        if not data:
            return
        if not data.startswith(b"RIFF"):
            self.add_raw(data, at_s)
            return
        try:
            head = wav_head(data)
        except MediaError as error:
            raise _unusable(str(error)) from error
        if head is None:
            raise _unusable("a piece of sound is a WAV file that ends before its data chunk")
        self.begin_wav(head)
        self.add_samples(data[head.start :][: head.size], at_s)

    def begin_wav(self, head: WavHead) -> None:
        """From here on the samples are those of a WAV. Raises FailedTry for another format than before."""
        said_hz = self._said.get("rate_hz", head.format.rate_hz)
        if said_hz != head.format.rate_hz:
            self.note(
                f"the answer says {said_hz} Hz, but its WAV header {head.format.rate_hz} Hz, which counts"
            )
        self._finish_wav()
        self._settle(head.format)
        self._by_header = True
        self._missing = head.size or 0

    def add_raw(self, data: bytes, at_s: float) -> None:
        """Samples without a header. Raises FailedTry where their format is unusable or not the same."""
        kind = next((kind for magic, kind in _COMPRESSED.items() if data.startswith(magic)), None)
        if kind is not None and self._format is None:
            raise _unusable(f"the sound comes as {kind}; expected WAV or raw samples")
        self._settle(self._raw_format())
        self.add_samples(data, at_s)

    def add_samples(self, data: bytes, at_s: float) -> None:
        """Samples of the format that is settled. Raises FailedTry where they become too many."""
        assert self._format is not None
        if len(self._data) + len(data) > self._most_bytes:
            raise FailedTry(
                Failure(
                    "protocol",
                    f"the sound of one answer is larger than {self._most_bytes} bytes",
                    hint="the model does not come to an end; limit it with decode.max_tokens",
                )
            )
        self._missing = max(0, self._missing - len(data))
        self._data += data
        frames = len(self._data) // self._format.frame_bytes
        new, self._frames = frames - self._frames, frames
        if new:
            self.first_s = at_s if self.first_s is None else self.first_s
            self.last_s = at_s
            self._chunks.append((rounded(at_s), rounded(new / self._format.rate_hz)))

    @property
    def duration_s(self) -> float:
        return self._frames / self._format.rate_hz if self._format else 0.0

    def finish(self, *, in_pieces: bool = True) -> SpokenAudio | None:
        """The whole sound; with no frames where only empty pieces came, None where none came at all.

        in_pieces: the pieces came when they were made, so that their times tell something.
        """
        self._finish_wav()
        if self._format is None:
            return None
        pcm = Pcm(self._format, bytes(self._data))
        return SpokenAudio(
            rate_hz=self._format.rate_hz,
            channels=self._format.channels,
            frames=pcm.frames,
            wav=write_wav(pcm) if pcm.frames else b"",
            chunks=tuple(self._chunks) if in_pieces else (),
        )

    def _settle(self, form: PcmFormat) -> None:
        if self._format not in (None, form):
            raise FailedTry(
                Failure(
                    "protocol",
                    f"the sound changes on the way from {self._format} to {form}; expected one format",
                    hint="all pieces of an answer must have one rate, width and number of channels",
                )
            )
        self._format = form

    def _finish_wav(self) -> None:
        """Cut off what fills no frame, and say what a header promised in vain."""
        loose = len(self._data) % self._format.frame_bytes if self._format else 0
        if loose:
            del self._data[-loose:]
            self.note(f"{loose} stray byte(s) of the sound, which fill no sample, were left out")
        if self._missing:
            self.note("a WAV header promised more sound than came")
        self._missing = 0

    def _raw_format(self) -> PcmFormat:
        """Of samples without a header. What was assumed for earlier ones may be contradicted, and that
        shows."""
        form, fallback = self._format, self._fallback
        if form is not None and self._by_header:
            return form
        encoding: Encoding | None = form.encoding if form else "s16"
        if form is None and "encoding" in self._said:
            encoding = _ENCODINGS.get(self._said["encoding"])
        if encoding is None:
            raise _unusable(f"the server says that its sound is {self._said['encoding']!r}")
        rate_hz = self._said.get("rate_hz", form.rate_hz if form else fallback.rate_hz)
        channels = self._said.get("channels", form.channels if form else fallback.channels)
        try:
            found = PcmFormat(_ASSUMED_RATE_HZ if rate_hz is None else rate_hz, channels, encoding)
        except MediaError as error:
            raise _unusable(f"the server says that its sound has {error}") from error
        if rate_hz is None:
            self.note(
                f"the server does not say the format of its raw sound, so {found} was assumed; "
                "set pcm.rate_hz and pcm.channels to be sure"
            )
        return found


def _unusable(reason: str) -> FailedTry:
    hint = 'ask for WAV or 16-bit PCM, for example --set extra_body.response_format="wav"'
    return FailedTry(Failure("audio", reason, hint=hint))


def _number(value: Any) -> int | None:
    """A whole number, also as text, as headers and some JSON have it."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
