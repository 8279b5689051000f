"""Frame i of a plan is picture i of the video, whatever the codec; broken files are one clear error."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from omnieval.errors import MediaError
from omnieval.media.audio import read_audio
from omnieval.media.decode import decode_frames
from omnieval.media.probe import probe, video_facts
from tests.media_files import frame_number, make_video, make_wav

CODECS = {
    "h264-bframes.mp4": {"codec": "libx264", "bf": "3", "g": "20"},
    "h264-plain.mp4": {"codec": "libx264", "bf": "0", "g": "10"},
    "hevc.mp4": {"codec": "libx265", "x265-params": "log-level=none"},
    "vp9.webm": {"codec": "libvpx-vp9", "deadline": "realtime", "cpu-used": "8"},
    "mpeg4.mp4": {"codec": "mpeg4", "bf": "2"},
    "mjpeg.mkv": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
}


@pytest.mark.parametrize("name", CODECS)
def test_each_wanted_frame_is_the_picture_with_that_number(name: str, tmp_path: Path) -> None:
    path = make_video(tmp_path / name, seconds=4, **CODECS[name])
    wanted = [0, 1, 7, 7, 25, 50, 75, 98, 99]
    pictures = list(decode_frames(path, wanted))
    assert [picture.number for picture in pictures] == wanted
    assert [frame_number(picture.rgb) for picture in pictures] == wanted
    assert not any(picture.damaged for picture in pictures)


def test_odd_rates_and_odd_sizes(tmp_path: Path) -> None:
    path = make_video(tmp_path / "odd.mp4", seconds=2, fps=30, size=(194, 66))
    facts = video_facts(path)
    assert (facts.frames, facts.fps, facts.width, facts.height) == (60, 30.0, 194, 66)
    (picture,) = decode_frames(path, [59])
    assert picture.rgb.shape == (66, 194, 3)
    assert picture.rgb.dtype == np.uint8


def test_a_file_that_counts_no_frames_is_measured_by_its_duration(tmp_path: Path) -> None:
    path = make_video(tmp_path / "v.webm", seconds=3, codec="libvpx-vp9", deadline="realtime")
    facts = video_facts(path)
    assert facts.frames in (74, 75, 76)
    pictures = list(decode_frames(path, [0, 74]))
    assert frame_number(pictures[1].rgb) == 74


def test_a_last_frame_that_is_not_there_is_the_one_before_it(tmp_path: Path) -> None:
    path = make_video(tmp_path / "v.mp4", seconds=1)
    pictures = list(decode_frames(path, [10, 25, 25]))
    assert [picture.number for picture in pictures] == [10, 24, 24]
    with pytest.raises(MediaError, match="decoding ends after 25 frames, but frame 50 is needed"):
        list(decode_frames(path, [10, 25, 50]))


def rotated(path: Path, quarter_turns_clockwise: int) -> Path:
    """Patch the display matrix of the video track's header, as phones write it."""
    matrix = {
        1: (0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000),
        2: (-0x10000, 0, 0, 0, -0x10000, 0, 0, 0, 0x40000000),
        3: (0, -0x10000, 0, 0x10000, 0, 0, 0, 0, 0x40000000),
    }[quarter_turns_clockwise]
    content = bytearray(path.read_bytes())
    header = content.index(b"tkhd")
    content[header + 4 + 40 : header + 4 + 76] = struct.pack(">9i", *matrix)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_phone_video_is_shown_upright(turns: int, tmp_path: Path) -> None:
    path = make_video(tmp_path / "v.mp4", seconds=1)
    (plain,) = decode_frames(path, [5])
    (turned,) = decode_frames(rotated(path, turns), [5])
    assert np.array_equal(turned.rgb, np.rot90(plain.rgb, -turns))


BROKEN = {
    "empty.mp4": lambda path: path.write_bytes(b""),
    "text.mp4": lambda path: path.write_text("no video at all"),
    "truncated.mp4": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10]),
    "noise.mp4": lambda path: path.write_bytes(bytes(range(256)) * 40),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_error_that_names_it(name: str, tmp_path: Path) -> None:
    path = make_video(tmp_path / name, seconds=3, audio_seconds=3)
    BROKEN[name](path)
    for use in (probe, video_facts, read_audio, lambda p: list(decode_frames(p, [0, 50]))):
        with pytest.raises(MediaError, match=name) as raised:
            use(path)
        assert raised.value.kind == "media"


def test_a_file_cut_after_its_index_is_an_error_and_not_a_still_picture(tmp_path: Path) -> None:
    path = make_video(
        tmp_path / "cut.mp4", seconds=8, container_options={"movflags": "+faststart"}, g="10", crf="10"
    )
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    wanted = list(range(0, 200, 25))
    with pytest.raises(MediaError, match="cut short or damaged"):
        list(decode_frames(path, wanted))


def test_missing_files_and_tracks_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(MediaError) as raised:
        probe(tmp_path / "gone.mp4")
    assert raised.value.kind == "media_missing"
    silent = make_video(tmp_path / "silent.mp4", seconds=1)
    with pytest.raises(MediaError, match="no audio track"):
        read_audio(silent)
    blind = make_wav(tmp_path / "blind.wav", seconds=1)
    with pytest.raises(MediaError, match="no video track"):
        video_facts(blind)
    with pytest.raises(MediaError, match="no video track"):
        list(decode_frames(blind, [0]))
