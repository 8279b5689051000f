"""Small real media, made with PyAV, whose content tells where it came from."""

from __future__ import annotations

import wave
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt

_BITS = 12
_BLOCK = 16
_LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1"}


def make_video(
    path: Path,
    *,
    seconds: float,
    fps: int | Fraction = 25,
    time_of: Callable[[int], int] = lambda number: number,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    size: tuple[int, int] = (_BITS * _BLOCK, 64),
    audio_seconds: float | None = None,
    audio_start_s: float = 0.0,
    audio_pause: tuple[float, float] | None = None,
    audio_channels: int = 1,
    container_options: dict[str, str] | None = None,
    pixel_aspect: Fraction | None = None,
    **codec_options: str,
) -> Path:
    """A video whose picture i shows the number i as black and white blocks (see `frame_number`).

    time_of: presentation time of a picture, in 1/fps seconds. audio_seconds: length of a 440 Hz tone
    beside it; None for no track; audio_pause: (after how many seconds, for how many) its clock goes on
    without sound.
    """
    with av.open(str(path), "w", options=container_options or {}) as container:
        stream = container.add_stream(codec, rate=fps, options=codec_options)
        stream.width, stream.height = size
        stream.pix_fmt = pix_fmt
        if pixel_aspect is not None:
            stream.sample_aspect_ratio = pixel_aspect
        stream.time_base = 1 / Fraction(fps)
        stream.codec_context.time_base = 1 / Fraction(fps)
        audio = None
        if audio_seconds is not None:
            audio_codec = "libopus" if path.suffix == ".webm" else "aac"
            audio = container.add_stream(audio_codec, rate=48_000, layout=_LAYOUTS[audio_channels])
        for number in range(round(seconds * fps)):
            frame = av.VideoFrame.from_ndarray(_picture(number, size), format="rgb24")
            frame.pts = time_of(number)
            frame.time_base = 1 / Fraction(fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if audio is not None and audio_seconds is not None:
            sound = _tone(audio_seconds, 48_000)
            for start in range(0, len(sound), 960):
                channels = np.repeat(sound[None, start : start + 960], audio_channels, axis=0)
                layout = _LAYOUTS[audio_channels]
                piece = av.AudioFrame.from_ndarray(channels, format="fltp", layout=layout)
                piece.sample_rate = 48_000
                pause_s = audio_pause[1] if audio_pause and start >= audio_pause[0] * 48_000 else 0.0
                piece.pts = start + round((audio_start_s + pause_s) * 48_000)
                piece.time_base = Fraction(1, 48_000)
                container.mux(audio.encode(piece))
            container.mux(audio.encode(None))
    return path


def with_edit_list(path: Path, source: Path, *, skip: int, keep: int, fps: int = 25) -> Path:
    """A copy of an mp4 of which players show `keep` frames, beginning with frame `skip`."""
    content = bytearray(source.read_bytes())
    movie_rate = _box_field(content, b"mvhd", 16)
    track_rate = _box_field(content, b"mdhd", 16)
    edit = content.index(b"elst") + 12
    start = int.from_bytes(content[edit + 4 : edit + 8], "big") + skip * track_rate // fps
    content[edit : edit + 8] = (keep * movie_rate // fps).to_bytes(4, "big") + start.to_bytes(4, "big")
    path.write_bytes(content)
    return path


def _box_field(content: bytearray, box: bytes, offset: int) -> int:
    place = content.index(box) + offset
    return int.from_bytes(content[place : place + 4], "big")


def repeated(path: Path, source: Path, *, times: int) -> Path:
    """The packets of a video, `times` after each other: a long file at the cost of a short one."""
    with av.open(str(source)) as given, av.open(str(path), "w") as container:
        stream = given.streams.video[0]
        packets = [packet for packet in given.demux(stream) if packet.size]
        copy = container.add_stream_from_template(stream)
        length = stream.duration
        assert length is not None
        for turn in range(times):
            for packet in packets:
                moved = av.Packet(bytes(packet))
                moved.stream, moved.time_base = copy, packet.time_base
                moved.is_keyframe = packet.is_keyframe
                assert packet.pts is not None and packet.dts is not None
                moved.pts, moved.dts = packet.pts + turn * length, packet.dts + turn * length
                container.mux(moved)
    return path


def frame_number(rgb: npt.NDArray[np.uint8]) -> int:
    """The number that a picture of `make_video` shows."""
    grey = rgb.mean(axis=2)
    width = grey.shape[1] / _BITS
    middle = grey[grey.shape[0] // 2]
    return sum(1 << bit for bit in range(_BITS) if middle[int((bit + 0.5) * width)] > 128)


def make_wav(
    path: Path, *, seconds: float, rate: int = 16_000, channels: int = 1, frequency_hz: float = 440.0
) -> Path:
    """A tone, 16-bit."""
    pcm = (_tone(seconds, rate, frequency_hz) * 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.repeat(pcm, channels).tobytes())
    return path


def read_wav(path: Path) -> npt.NDArray[np.int16]:
    """The samples of a 16 kHz mono 16-bit WAV."""
    with wave.open(str(path), "rb") as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")


def _tone(seconds: float, rate: int, frequency_hz: float = 440.0) -> npt.NDArray[np.float32]:
    times = np.arange(round(seconds * rate)) / rate
    return (0.5 * np.sin(2 * np.pi * frequency_hz * times)).astype(np.float32)


def _picture(number: int, size: tuple[int, int]) -> Any:
    width, height = size
    bits = [(number >> bit) & 1 for bit in range(_BITS)]
    row = np.array([bits[min(_BITS - 1, int(x * _BITS / width))] for x in range(width)], dtype=np.uint8) * 255
    return np.repeat(np.tile(row, (height, 1))[:, :, None], 3, axis=2)
