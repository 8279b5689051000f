"""Healthy files that differ from what most files are like."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.stream import Disposition
from PIL import Image

from omnieval.errors import MediaError
from omnieval.media.audio import read_audio
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import prepare_media
from omnieval.media.probe import probe, video_facts
from omnieval.types import ImageEncoding, MediaPlan
from tests.media_files import frame_number, make_video

VP9 = {"codec": "libvpx-vp9", "deadline": "realtime", "cpu-used": "8"}


@pytest.mark.parametrize(("name", "options"), [("v.webm", VP9), ("v.mkv", {})])
def test_sound_that_outlasts_the_picture_adds_no_frames(
    name: str, options: dict[str, str], tmp_path: Path
) -> None:
    video = make_video(tmp_path / name, seconds=3, audio_seconds=8, **options)
    assert video_facts(video).frames == 75
    media = prepare_media(MediaPlan(video, None, "minicpm", 64), MediaCache(tmp_path / "cache"))
    assert [frame_number(np.asarray(Image.open(part.path))) for part in media.frames] == [0, 25, 50]
    assert media.notes == ()


@pytest.mark.parametrize("name", ["12:30.mp4", "concat:a.mp4", "a%03d.mp4", "a?b#c&d.mp4", "映 像.mp4"])
def test_a_relative_name_is_never_taken_for_an_address_or_a_pattern(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(make_video(tmp_path / "plain.mp4", seconds=1), name)
    assert video_facts(Path(name)).frames == 25


def adts(path: Path, rate: int, layout: str) -> bytes:
    """One second of a 440 Hz tone as a bare AAC stream."""
    channels = {"mono": 1, "stereo": 2}[layout]
    tone = (0.5 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)).astype(np.float32)
    with av.open(str(path), "w", format="adts") as container:
        stream = container.add_stream("aac", rate=rate, layout=layout)
        for start in range(0, rate, 1024):
            piece = np.repeat(tone[None, start : start + 1024], channels, axis=0)
            frame = av.AudioFrame.from_ndarray(piece, format="fltp", layout=layout)
            frame.sample_rate = rate
            frame.pts = start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path.read_bytes()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_sound_whose_format_changes_on_the_way(order: tuple[int, int], tmp_path: Path) -> None:
    halves = [adts(tmp_path / "a.aac", 48_000, "mono"), adts(tmp_path / "b.aac", 44_100, "stereo")]
    path = tmp_path / "mixed.aac"
    path.write_bytes(b"".join(halves[i] for i in order))
    sound = read_audio(path)
    assert abs(len(sound) - 32_000) < 2_000
    for half in (sound[2_000:14_000], sound[19_000:31_000]):
        peak_hz = int(np.abs(np.fft.rfft(half)).argmax()) * 16_000 / len(half)
        assert abs(peak_hz - 440) < 3
        assert np.sqrt(2 * np.mean(half**2)) == pytest.approx(0.5, rel=0.1)


def test_odd_width_and_height(tmp_path: Path) -> None:
    video = make_video(tmp_path / "odd.mp4", seconds=1, size=(193, 65), pix_fmt="yuv444p")
    facts = probe(video).video
    assert facts is not None
    assert (facts.width, facts.height) == (193, 65)
    plan = MediaPlan(video, None, "minicpm", 64, image=ImageEncoding("png"), segments=False)
    (part,) = prepare_media(plan, MediaCache(tmp_path / "cache")).frames
    assert Image.open(part.path).size == (193, 65)


def test_pixels_that_are_not_square_are_passed_as_coded_and_noted(tmp_path: Path) -> None:
    video = make_video(tmp_path / "wide.mp4", seconds=1, pixel_aspect=Fraction(16, 11))
    assert video_facts(video).pixel_aspect == pytest.approx(16 / 11)
    media = prepare_media(MediaPlan(video, None, "minicpm", 64, segments=False), MediaCache(tmp_path / "c"))
    assert Image.open(media.frames[0].path).size == (192, 64)
    assert len(media.notes) == 1
    assert "1.45 times as wide as high" in media.notes[0]


def with_cover(path: Path, source: Path) -> Path:
    """An m4a or mp4 whose first video track is a cover picture."""
    with av.open(str(source)) as given, av.open(str(path), "w", format="mp4") as container:
        cover = container.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 320, 240, "yuvj420p"
        cover.disposition = Disposition.attached_pic.value
        copies = {stream.index: container.add_stream_from_template(stream) for stream in given.streams}
        picture = av.VideoFrame.from_ndarray(np.zeros((240, 320, 3), np.uint8), format="rgb24")
        container.mux(cover.encode(picture) + cover.encode(None))
        for packet in given.demux():
            if packet.size:
                packet.stream = copies[packet.stream.index]
                container.mux(packet)
    return path


def test_a_cover_picture_is_not_the_video(tmp_path: Path) -> None:
    plain = make_video(tmp_path / "plain.mp4", seconds=3, audio_seconds=3)
    video = with_cover(tmp_path / "cover.mp4", plain)
    with av.open(str(video)) as container:
        covers = [bool(s.disposition & Disposition.attached_pic) for s in container.streams.video]
    assert sorted(covers) == [False, True]
    facts = video_facts(video)
    assert (facts.frames, facts.width) == (75, 192)
    media = prepare_media(MediaPlan(video, None, "minicpm", 64), MediaCache(tmp_path / "cache"))
    assert [frame_number(np.asarray(Image.open(part.path))) for part in media.frames] == [0, 25, 50]


def test_a_sound_file_with_a_cover_has_no_video(tmp_path: Path) -> None:
    plain = tmp_path / "plain.m4a"
    with av.open(str(plain), "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=16_000, layout="mono")
        tone = np.zeros((1, 1024), np.float32)
        frame = av.AudioFrame.from_ndarray(tone, format="fltp", layout="mono")
        frame.sample_rate = 16_000
        container.mux(stream.encode(frame) + stream.encode(None))
    song = with_cover(tmp_path / "song.m4a", plain)
    assert probe(song).video is None
    with pytest.raises(MediaError, match=r"song\.m4a: no video track"):
        video_facts(song)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_a_pipe_or_a_folder_is_not_waited_for(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "v.mp4"
    make(path)
    with pytest.raises(MediaError, match=r"v\.mp4: not a file"):
        probe(path)
    plan = MediaPlan(path, None, "minicpm", 64, segments=False)
    with pytest.raises(MediaError, match=r"v\.mp4: not a file"):
        prepare_media(plan, MediaCache(tmp_path / "cache"))


def test_a_playlist_is_refused_and_not_followed(tmp_path: Path) -> None:
    make_video(tmp_path / "other.mp4", seconds=1)
    playlist = tmp_path / "v.mp4"
    playlist.write_text("ffconcat version 1.0\nfile other.mp4\n")
    with pytest.raises(MediaError, match=r"v\.mp4: a concat playlist"):
        probe(playlist)
