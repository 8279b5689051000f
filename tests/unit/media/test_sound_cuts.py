"""Every piece of sound is exactly the samples between one timestamp and the next."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from omnieval.media.audio import read_audio
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import prepare_media
from omnieval.types import MediaPlan, PreparedMedia
from tests.media_files import make_video, read_wav


def write_ramp(path: Path, samples: int) -> npt.NDArray[np.int16]:
    """A WAV in which the value of a sample tells its position; returned as a request carries it."""
    pcm = (np.arange(samples) % 20_011 - 10_000).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(pcm.tobytes())
    sent: npt.NDArray[np.int16] = np.trunc(pcm / 32768 * 32767).astype(np.int16)
    return sent


def prepare(tmp_path: Path, frame_plan: str, video_s: float, max_frames: int) -> PreparedMedia:
    video = make_video(tmp_path / "v.mp4", seconds=video_s)
    plan = MediaPlan(video, tmp_path / "a.wav", frame_plan, max_frames)
    return prepare_media(plan, MediaCache(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("frame_plan", "timestamps", "bounds"),
    [
        ("minicpm", [0.0, 2.1, 4.3], [0, 33_600, 68_800, 70_400]),
        ("omnievalkit", [0.7, 2.2, 3.6], [11_200, 35_200, 57_600, 80_000]),
    ],
)
def test_pieces_begin_and_end_at_the_sample(
    frame_plan: str, timestamps: list[float], bounds: list[int], tmp_path: Path
) -> None:
    sent = write_ramp(tmp_path / "a.wav", 80_000)  # 0.6 s longer than the picture
    media = prepare(tmp_path, frame_plan, 4.4, 3)
    assert [part.timestamp for part in media.segments] == timestamps
    assert [part.timestamp for part in media.frames] == timestamps
    for number, part in enumerate(media.segments):
        assert np.array_equal(read_wav(part.path), sent[bounds[number] : bounds[number + 1]]), number


def test_a_short_last_piece_is_padded_with_zeros_after_its_sound(tmp_path: Path) -> None:
    sent = write_ramp(tmp_path / "a.wav", 32_500)
    media = prepare(tmp_path, "minicpm", 3.0, 64)
    last = read_wav(media.segments[2].path)
    assert np.array_equal(last, np.concatenate([sent[32_000:], np.zeros(1_100, dtype=np.int16)]))
    assert media.notes == ()


def test_frames_that_are_heard_as_silence_are_noted(tmp_path: Path) -> None:
    write_ramp(tmp_path / "a.wav", 32_500)
    media = prepare(tmp_path, "minicpm", 5.0, 64)
    assert media.notes == ("the sound is shorter than the picture: 2 frames with silence",)
    assert not read_wav(media.segments[4].path).any()


@pytest.mark.parametrize("name", ["late.mp4", "late.mkv"])
def test_sound_that_starts_late_stays_where_it_is_in_the_file(name: str, tmp_path: Path) -> None:
    path = make_video(tmp_path / name, seconds=3, audio_seconds=1, audio_start_s=1.5)
    loud = np.flatnonzero(np.abs(read_audio(path)) > 0.05)
    assert abs(int(loud[0]) - 24_000) <= 32
    assert abs(int(loud[-1]) - 40_000) <= 400
