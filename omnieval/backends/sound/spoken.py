"""The sound of one answer, put together piece by piece, with its times."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from omnieval.backends.failed import FailedTry
from omnieval.backends.rounding import rounded
from omnieval.backends.sound.kinds import compressed_kind, encoding_of
from omnieval.config import PcmConfig
from omnieval.errors import MediaError
from omnieval.media.wav import Encoding, Pcm, PcmFormat, WavHead, write_wav
from omnieval.types import Failure, SpokenAudio

MOST_BYTES = 256 * 2**20
_ASSUMED_RATE_HZ = 24_000
_ARRAYS: Mapping[Encoding, str] = {"u8": "B", "s16": "h", "s32": "i", "f32": "f", "f64": "d"}
_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("rate", "sampling_rate", "sample_rate_hz", "sample_rate"), "rate_hz"),
    **dict.fromkeys(("num_channels", "channels"), "channels"),
}
_CUT = "a WAV header promised more sound than came, so it is cut short"


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
        self._big_endian = False
        self._said: dict[str, Any] = {}
        self._unreadable: dict[str, str] = {}
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
            value = fields.get(name)
            number = _number(value)
            if number is not None:
                self._said[key] = number
            elif isinstance(value, str | float):
                self._unreadable[key] = f"{name} {value!r}"
        form = fields.get("format")
        if isinstance(form, str) and form:
            self._said["encoding"] = form

    def begin_wav(self, head: WavHead) -> None:
        """From here on the samples are those of a WAV. Raises FailedTry for another format than before."""
        said_hz = self._said.get("rate_hz", head.format.rate_hz)
        if said_hz != head.format.rate_hz:
            self.note(
                f"the answer says {said_hz} Hz, but its WAV header {head.format.rate_hz} Hz, which counts"
            )
        if self.cut:
            raise FailedTry(self._cut_short())
        self._finish_wav()
        self._settle(head.format, False)
        self._by_header = True
        self._missing = head.size or 0

    def add_raw(self, data: bytes, at_s: float) -> None:
        """Samples without a header. Raises FailedTry where their format is unusable or not the same."""
        self.refuse_compressed(data)
        self._settle(*self._raw_format())
        self.add_samples(data, at_s)

    def refuse_compressed(self, begin: bytes) -> None:
        """Raises FailedTry where the first bytes of the sound, `KIND_BYTES` of them, are of no samples."""
        kind = compressed_kind(begin) if self._format is None else None
        if kind is not None:
            raise _unusable(f"the sound comes as {kind}; expected WAV or raw samples")

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
    def cut(self) -> bool:
        """Whether the present WAV lacks samples that its header promises."""
        return self._format is not None and self._missing >= self._format.frame_bytes

    def problem(self) -> Failure | None:
        """Why the sound, if no more comes, is not whole; None where nothing speaks against it."""
        return self._cut_short() if self.cut else None

    @property
    def duration_s(self) -> float:
        return self._frames / self._format.rate_hz if self._format else 0.0

    def since(self, frame: int) -> Pcm | None:
        """The samples from that frame on that have come so far; None before any has."""
        if self._format is None:
            return None
        size = self._format.frame_bytes
        return Pcm(self._format, bytes(self._data[frame * size : self._frames * size]))

    def finish(self, *, in_pieces: bool = True) -> SpokenAudio | None:
        """The whole sound; with no frames where only empty pieces came, None where none came at all.

        in_pieces: the pieces came when they were made, so that their times tell something.
        """
        self._finish_wav()
        if self._format is None:
            return None
        data = bytes(self._data)
        if self._big_endian:
            data = _swapped(data, self._format.encoding)
        pcm = Pcm(self._format, data)
        return SpokenAudio(
            rate_hz=self._format.rate_hz,
            channels=self._format.channels,
            frames=pcm.frames,
            wav=write_wav(pcm) if pcm.frames else b"",
            chunks=tuple(self._chunks) if in_pieces else (),
        )

    def _cut_short(self) -> Failure:
        missing_s = self._missing / self._format.frame_bytes / self._format.rate_hz if self._format else 0.0
        hint = "the server died or a proxy cut its answer; look at their logs"
        return Failure("server", f"{_CUT}: {missing_s:.3f} s are missing", retryable=True, hint=hint)

    def _settle(self, form: PcmFormat, big_endian: bool) -> None:
        if self._format is not None and (self._format, self._big_endian) != (form, big_endian):
            orders = " (the order of its bytes too)" if self._big_endian != big_endian else ""
            raise FailedTry(
                Failure(
                    "protocol",
                    f"the sound changes on the way from {self._format} to {form}{orders}; "
                    "expected one format",
                    hint="all pieces of an answer must have one rate, width and number of channels",
                )
            )
        self._format, self._big_endian = form, big_endian

    def _finish_wav(self) -> None:
        """Cut off what fills no frame, and say what a header promised in vain."""
        loose = len(self._data) % self._format.frame_bytes if self._format else 0
        if loose:
            del self._data[-loose:]
            self.note(f"{loose} stray byte(s) of the sound, which fill no sample, were left out")
        if self._missing:
            self.note(_CUT)
        self._missing = 0

    def _raw_format(self) -> tuple[PcmFormat, bool]:
        """Of samples without a header, and whether they are big-endian. What was assumed for earlier ones
        may be contradicted, and that shows."""
        form, fallback, said = self._format, self._fallback, self._said
        if form is not None and self._by_header:
            return form, False
        encoding: Encoding = form.encoding if form else "s16"
        big_endian = self._big_endian
        if form is None and "encoding" in said:
            encoding, big_endian = self._said_encoding(said["encoding"])
        rate_hz = said.get("rate_hz", form.rate_hz if form else fallback.rate_hz)
        channels = said.get("channels", form.channels if form else fallback.channels)
        try:
            found = PcmFormat(_ASSUMED_RATE_HZ if rate_hz is None else rate_hz, channels, encoding)
        except MediaError as error:
            raise _unusable(f"the server says that its sound has {error}") from error
        unreadable = [text for key, text in self._unreadable.items() if key not in said]
        if form is None and (unreadable or rate_hz is None):
            reason = "the server does not say the format of its raw sound"
            if unreadable:
                reason = f"what the server says of its raw sound is no number: {', '.join(unreadable)}"
            step = "was assumed; set pcm.rate_hz and pcm.channels to be sure"
            if rate_hz is not None:
                step = "was taken, as configured or said otherwise"
            self.note(f"{reason}, so {found} {step}")
        return found, big_endian

    def _said_encoding(self, name: str) -> tuple[Encoding, bool]:
        found = encoding_of(name)
        if found is None:
            raise _unusable(f"the server says that its sound is {name.lower()!r}")
        encoding, big_endian = found
        if name.lower() == "l16":
            self.note(
                "the server says that its sound is audio/L16, so its samples were read as big-endian, as RFC "
                "3551 has it; if that is noise, ask for a WAV: "
                '--set extra_body.response_format="wav"'
            )
        return encoding, big_endian


def _unusable(reason: str) -> FailedTry:
    hint = 'ask for WAV or 16-bit PCM, for example --set extra_body.response_format="wav"'
    return FailedTry(Failure("audio", reason, hint=hint))


def _swapped(data: bytes, encoding: Encoding) -> bytes:
    """Whole samples in the other order of bytes."""
    samples = array(_ARRAYS[encoding], data)
    samples.byteswap()
    return samples.tobytes()


def _number(value: Any) -> int | None:
    """A whole number, also as text and with `.0`, as headers and some JSON have it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() else None
