"""Sound is 16 kHz mono, sample i at i/16000 seconds of the file."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import pytest

from omnieval.errors import MediaError
from omnieval.media.audio import read_audio
from omnieval.media.encode import encode_wav
from tests.media_files import make_video, make_wav


@pytest.mark.parametrize(
    ("rate", "channels"), [(16_000, 1), (44_100, 2), (48_000, 2), (8_000, 1), (16_000, 6)]
)
def test_any_rate_and_channel_count(rate: int, channels: int, tmp_path: Path) -> None:
    sound = read_audio(make_wav(tmp_path / "a.wav", seconds=2, rate=rate, channels=channels))
    assert sound.dtype == np.float32
    assert abs(len(sound) - 32_000) <= 16
    spectrum = np.abs(np.fft.rfft(sound[:16_000]))
    assert abs(int(spectrum.argmax()) - 440) <= 1
    assert 0.3 < np.abs(sound[4_000:28_000]).max() <= 0.6


# The codec removes a tone from the low-frequency channel of 5.1, so that five of six channels carry it.
@pytest.mark.parametrize(("channels", "amplitude"), [(1, 0.5), (2, 0.5), (6, 0.5 * 5 / 6)])
def test_channels_are_averaged_and_never_clip(channels: int, amplitude: float, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=2, audio_seconds=2, audio_channels=channels)
    sound = read_audio(video)[4_000:28_000]
    assert np.sqrt(2 * np.mean(sound**2)) == pytest.approx(amplitude, rel=0.05)


def test_16_khz_mono_comes_through_unchanged(tmp_path: Path) -> None:
    path = make_wav(tmp_path / "a.wav", seconds=1)
    with wave.open(str(path)) as file:
        pcm = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    assert np.array_equal(np.round(read_audio(path) * 32768), pcm)


def test_sound_that_starts_late_has_silence_before_it(tmp_path: Path) -> None:
    path = make_video(tmp_path / "late.mkv", seconds=3, audio_seconds=1, audio_start_s=1.5)
    sound = read_audio(path)
    assert np.abs(sound[: int(1.4 * 16_000)]).max() < 0.01
    assert np.abs(sound[int(1.7 * 16_000) : int(2.3 * 16_000)]).max() > 0.3


def test_a_pause_in_the_track_is_silence_of_that_length(tmp_path: Path) -> None:
    path = tmp_path / "pause.mkv"
    make_video(path, seconds=6, audio_seconds=4, audio_pause=(2.0, 1.5))
    sound = read_audio(path)
    assert abs(len(sound) - 5.5 * 16_000) < 1_000
    loud = [
        np.abs(sound[int(s * 16_000) : int((s + 0.2) * 16_000)]).max() > 0.3 for s in (1.5, 2.7, 3.8, 5.0)
    ]
    assert loud == [True, False, True, True]


def test_a_clock_that_jumps_by_hours_is_an_error_and_not_hours_of_silence(tmp_path: Path) -> None:
    path = make_video(tmp_path / "jump.mkv", seconds=6, audio_seconds=4, audio_pause=(2.0, 20_000.0))
    with pytest.raises(MediaError, match=r"jump\.mkv: the sound's clock jumps from 2\.\d to 2000\d"):
        read_audio(path)


def test_a_wav_that_lost_its_end_is_an_error(tmp_path: Path) -> None:
    content = make_wav(tmp_path / "a.wav", seconds=10).read_bytes()
    half = tmp_path / "half.wav"
    half.write_bytes(content[: len(content) // 2])
    with pytest.raises(MediaError, match=r"half\.wav: .*ends at 5\.0 s, but .* says 10\.0 s"):
        read_audio(half)


@pytest.mark.parametrize("size", [0, 0x7FFFF000, 0x80000000, 0xFFFFFFFF])
def test_a_wav_from_a_writer_that_did_not_know_its_length(size: int, tmp_path: Path) -> None:
    content = bytearray(make_wav(tmp_path / "a.wav", seconds=3).read_bytes())
    content[4:8] = content[40:44] = size.to_bytes(4, "little")
    (tmp_path / "stream.wav").write_bytes(content)
    assert len(read_audio(tmp_path / "stream.wav")) == 48_000


def test_a_track_without_samples_is_an_error(tmp_path: Path) -> None:
    path = make_wav(tmp_path / "a.wav", seconds=0)
    with pytest.raises(MediaError, match=r"a\.wav"):
        read_audio(path)


def test_a_wav_is_written_as_the_reference_client_does() -> None:
    content = encode_wav(np.array([0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.00004], dtype=np.float32))
    with wave.open(io.BytesIO(content)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        pcm = np.frombuffer(file.readframes(99), dtype="<i2")
    assert pcm.tolist() == [0, 32767, -32767, 32767, -32767, 16383, -1]


def test_the_first_channel_alone_where_it_is_asked_for(tmp_path: Path) -> None:
    left = np.full(16_000, 8_000, dtype="<i2")
    path = tmp_path / "stereo.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(np.stack([left, -left], axis=1).tobytes())
    assert abs(read_audio(path)).max() < 0.01
    assert np.allclose(read_audio(path, first_channel=True), 8_000 / 32_768, atol=1e-3)
