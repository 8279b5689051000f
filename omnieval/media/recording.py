"""A sound file as WAV, at its own rate and with its own channels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.errors import MediaError
from omnieval.media.open import open_media
from omnieval.media.wav import CompressedWavError, Encoding, Pcm, PcmFormat, parse_wav, write_wav

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame

MOST_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Recording:
    """wav: the whole file as WAV. pcm: its samples. notes: what was mended."""

    wav: bytes
    pcm: Pcm
    notes: tuple[str, ...] = ()


def read_recording(path: Path) -> Recording:
    """A WAV file as it is, byte for byte; any other sound decoded, to 16 bits where it has no more, else to
    float.

    Raises MediaError naming the file: missing (kind `media_missing`), no sound, cut short, too large.
    """
    try:
        if not path.exists():
            raise MediaError(f"{path}: no such file; fetch it again", kind="media_missing")
        if not path.is_file():
            raise MediaError(f"{path}: not a file; put the sound file itself there")
        if path.stat().st_size > MOST_BYTES:
            raise MediaError(f"{path}: larger than {MOST_BYTES} bytes; cut it to the part that counts")
        data = path.read_bytes()
    except OSError as error:
        raise MediaError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not data.startswith(b"RIFF"):
        return _decoded(path)
    try:
        pcm = parse_wav(data)
    except CompressedWavError:
        return _decoded(path)
    except MediaError as error:
        raise MediaError(f"{path}: {error}; fetch it again") from error
    if pcm.missing_bytes >= pcm.format.frame_bytes:
        missing_s = pcm.missing_bytes / pcm.format.frame_bytes / pcm.format.rate_hz
        raise MediaError(
            f"{path}: cut short: {missing_s:.2f} s of what its header promises are missing; fetch it again"
        )
    notes = (f"{path.name}: its last sample is not whole",) if pcm.missing_bytes else ()
    return Recording(data, pcm, notes)


def _decoded(path: Path) -> Recording:
    """The first sound track of any file that FFmpeg reads."""
    import av

    pieces: list[bytes] = []
    form: PcmFormat | None = None
    with open_media(path) as container:
        if not container.streams.audio:
            raise MediaError(f"{path}: no sound in it; expected a recording")
        stream = container.streams.audio[0]
        stream.codec_context.thread_count = 1
        layout = stream.layout.name
        encoding = _encoding(stream.format.name)
        resampler = av.AudioResampler(
            format="s16" if encoding == "s16" else "flt", layout=layout, rate=stream.rate
        )
        for frame in container.decode(stream):
            form = form or PcmFormat(frame.sample_rate, frame.layout.nb_channels, encoding)
            if (frame.sample_rate, frame.layout.nb_channels) != (form.rate_hz, form.channels):
                raise MediaError(
                    f"{path}: the sound changes its rate or channels on the way; convert it first"
                )
            pieces += [_bytes(piece) for piece in resampler.resample(frame)]
        pieces += [_bytes(piece) for piece in resampler.resample(None)] if form else []
    if form is None or not any(pieces):
        raise MediaError(f"{path}: the sound is empty; fetch the file again")
    pcm = Pcm(form, b"".join(pieces))
    return Recording(write_wav(pcm), pcm)


def _encoding(sample_format: str) -> Encoding:
    return "s16" if sample_format in ("u8", "u8p", "s16", "s16p") else "f32"


def _bytes(frame: AudioFrame) -> bytes:
    return frame.to_ndarray().tobytes()
