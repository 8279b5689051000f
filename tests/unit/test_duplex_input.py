"""The recording that a full-duplex session hears: refused with the command that converts it, or converted."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from omnieval.duplex.input_wav import read_input
from omnieval.errors import MediaError
from omnieval.media.wav import Encoding, Pcm, PcmFormat, write_wav


def wav(rate_hz: int = 16_000, channels: int = 1, encoding: Encoding = "s16", seconds: float = 0.5) -> bytes:
    form = PcmFormat(rate_hz, channels, encoding)
    return write_wav(Pcm(form, b"\0" * (form.frame_bytes * round(rate_hz * seconds))))


WHOLE = wav()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (wav(encoding="u8"), "found 16000 Hz, 1 channel, 8-bit integer"),
        (wav(channels=2), "found 16000 Hz, 2 channels, 16-bit integer"),
        (wav(rate_hz=44_100), "found 44100 Hz, 1 channel, 16-bit integer"),
        (wav(encoding="f32"), "found 16000 Hz, 1 channel, 32-bit float"),
        (WHOLE[:20] + b"\x55\0" + WHOLE[22:], r"a compressed WAV file \(MP3\)"),
        (b"<html></html>", "not a WAV file"),
        (b"ID3\4" + bytes(5000), "not a WAV file"),
        (WHOLE[:30], "ends before its data chunk"),
        (b"", "ends before its data chunk"),
        (wav(seconds=0), "holds no sample"),
    ],
)
def test_another_file_is_refused_with_the_command_that_converts_it(
    tmp_path: Path, content: bytes, found: str
) -> None:
    path = tmp_path / "it's a question.wav"
    path.write_bytes(content)
    with pytest.raises(MediaError, match=found) as caught:
        read_input(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert f"""ffmpeg -i '{tmp_path}/it'"'"'s a question.wav' -ac 1 -ar 16000 -c:a pcm_s16le""" in str(
        caught.value
    )


def test_a_file_that_lost_its_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.wav"
    path.write_bytes(WHOLE[:-1000])
    with pytest.raises(MediaError, match=r"cut\.wav: cut short: 1000 bytes"):
        read_input(path)


@pytest.mark.parametrize("convert", [False, True])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, convert: bool) -> None:
    for path, found in ((tmp_path / "none.wav", "no such file"), (tmp_path, "no plain file")):
        with pytest.raises(MediaError, match=rf"{path.name}: {found}; name a recording with --input-wav"):
            read_input(path, convert=convert)


def test_a_film_by_mistake_is_refused_before_all_of_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "film.wav"
    with path.open("wb") as file:
        file.truncate(2**28)
    tracemalloc.start()
    try:
        with pytest.raises(MediaError, match="not a WAV file"):
            read_input(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**24


def test_the_right_format_is_read_as_it_is_and_any_other_converted(tmp_path: Path) -> None:
    path = tmp_path / "sound.wav"
    for content in (wav(seconds=300), wav(44_100, 2, "u8", 1.0)):
        path.write_bytes(content)
        seconds = len(read_input(path, convert=True)) / 32_000
        assert abs(seconds - (300 if content[22] == 1 else 1)) < 0.05
    path.write_bytes(wav(seconds=300))
    assert read_input(path) == bytes(300 * 32_000)
