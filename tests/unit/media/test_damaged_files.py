"""Whatever is wrong with a file, it costs its samples one clear error, and nothing is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from omnieval.errors import MediaError
from omnieval.media.audio import read_audio
from omnieval.media.cache import MediaCache
from omnieval.media.decode import decode_frames
from omnieval.media.prepare import prepare_media
from omnieval.types import MediaPlan
from tests.media_files import make_video, make_wav

INDEX_FIRST = {"movflags": "+faststart"}


def cut(path: Path, percent: int) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * percent // 100])


def long_video(path: Path, container_options: dict[str, str] | None = None) -> Path:
    return make_video(path, seconds=8, audio_seconds=8, container_options=container_options, g="10", crf="10")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("<html>404 not found</html>")


def index_last_cut(path: Path) -> None:
    cut(long_video(path), 60)


def index_first_cut(path: Path) -> None:
    cut(long_video(path, INDEX_FIRST), 60)


def folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("spoil", [empty, text, index_last_cut, index_first_cut, folder])
@pytest.mark.parametrize(
    "needs",
    [
        {"segments": True},
        {"segments": False},
        {"segments": False, "max_frames": 2},
        {"frames": False, "segments": False, "whole_audio": True},
    ],
)
def test_a_damaged_video_is_one_error_and_leaves_no_entry(
    spoil: Callable[[Path], None], needs: dict[str, bool], tmp_path: Path
) -> None:
    path = tmp_path / "the video.mp4"
    spoil(path)
    plan = replace(MediaPlan(path, None, "minicpm", 64), **needs)  # type: ignore[arg-type]
    with pytest.raises(MediaError, match=r"the video\.mp4: ") as raised:
        prepare_media(plan, MediaCache(tmp_path / "cache"))
    assert raised.value.kind == "media"
    assert [left for left in (tmp_path / "cache").rglob("*") if left.is_file()] == []


@pytest.mark.parametrize("percent", range(10, 90, 10))
def test_sound_cut_anywhere_is_an_error_and_not_a_shorter_sound(percent: int, tmp_path: Path) -> None:
    path = long_video(tmp_path / "cut.mp4", INDEX_FIRST)
    cut(path, percent)
    with pytest.raises(MediaError, match=r"cut\.mp4"):
        read_audio(path)


def test_sound_cut_between_two_packets_is_an_error(tmp_path: Path) -> None:
    """The decoder itself sees nothing wrong there."""
    import av

    path = long_video(tmp_path / "cut.mp4", INDEX_FIRST)
    with av.open(str(path)) as container:
        middle = next(p for p in container.demux(container.streams.audio[0]) if p.pts and p.pts > 240_000)
        place = middle.pos
    assert place is not None
    path.write_bytes(path.read_bytes()[:place])
    with pytest.raises(MediaError, match=r"cut\.mp4: cut short.*the sound ends at 5\.\d s.*says 8\.0 s"):
        read_audio(path)


def test_a_picture_seconds_before_the_end_does_not_stand_for_the_last_one(tmp_path: Path) -> None:
    path = long_video(tmp_path / "cut.mp4", INDEX_FIRST)
    cut(path, 60)
    with pytest.raises(MediaError, match=r"cut\.mp4: cut short or damaged.*frame 199 is needed"):
        list(decode_frames(path, [0, 60, 199]))


def test_a_sound_file_that_is_missing_or_empty(tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=1)
    plan = MediaPlan(video, tmp_path / "a.wav", "minicpm", 64)
    cache = MediaCache(tmp_path / "cache")
    with pytest.raises(MediaError, match=r"a\.wav: no such file") as raised:
        prepare_media(plan, cache)
    assert raised.value.kind == "media_missing"
    make_wav(tmp_path / "a.wav", seconds=0)
    for _ in ("a header alone", "nothing at all"):
        with pytest.raises(MediaError, match=r"a\.wav: .*empty") as raised:
            prepare_media(plan, cache)
        assert raised.value.kind == "media"
        empty(tmp_path / "a.wav")
