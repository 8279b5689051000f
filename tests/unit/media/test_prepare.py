"""A plan becomes files: the right frames, the right pieces of sound, once."""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from omnieval.errors import MediaError
from omnieval.media.cache import EntryWriter, MediaCache, entry_key, source_identity
from omnieval.media.decode import decode_frames
from omnieval.media.prepare import planned_frames, prepare_media
from omnieval.types import ImageEncoding, MediaPlan
from tests.media_files import frame_number, make_video, make_wav, read_wav


@pytest.fixture
def cache(tmp_path: Path) -> MediaCache:
    return MediaCache(tmp_path / "cache")


def plan_for(video: Path | None, audio: Path | None = None, **changes: object) -> MediaPlan:
    return replace(MediaPlan(video, audio, "minicpm", 64), **changes)


def number_in(path: Path) -> int:
    return frame_number(np.asarray(Image.open(path).convert("RGB")))


def test_frames_and_sounds_lie_at_their_timestamps(cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=4.4)
    media = prepare_media(plan_for(video, make_wav(tmp_path / "a.wav", seconds=4.4)), cache)
    assert [number_in(part.path) for part in media.frames] == [0, 25, 50, 75, 100]
    assert [part.timestamp for part in media.frames] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert [len(read_wav(part.path)) for part in media.segments] == [16_000] * 4 + [6_400]
    assert {part.mime for part in media.frames} == {"image/jpeg"}
    assert {part.kind for part in media.segments} == {"audio"}
    assert media.notes == ()


def test_a_wav_of_its_own_is_preferred_to_the_videos_track(cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=2, audio_seconds=2)
    wav = make_wav(tmp_path / "a.wav", seconds=2, frequency_hz=1000)
    own, other = (prepare_media(plan_for(video, audio), cache).segments[0].path for audio in (wav, None))
    peaks = [int(np.abs(np.fft.rfft(read_wav(path))).argmax()) for path in (own, other)]
    assert abs(peaks[0] - 1000) <= 2
    assert abs(peaks[1] - 440) <= 2


def test_a_sound_shorter_than_the_picture(cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=5)
    wav = make_wav(tmp_path / "a.wav", seconds=2.5)
    minicpm = prepare_media(plan_for(video, wav), cache)
    assert [len(read_wav(part.path)) for part in minicpm.segments] == [16_000, 16_000, 8_000, 1_600, 1_600]
    assert not read_wav(minicpm.segments[4].path).any()
    cut = prepare_media(plan_for(video, wav, frame_plan="omnievalkit"), cache)
    assert [len(read_wav(part.path)) for part in cut.segments] == [16_000, 16_000, 8_000]
    assert [number_in(part.path) for part in cut.frames] == [0, 25, 50]
    assert any("2 frames without sound left out" in note for note in cut.notes)


def test_frames_alone_and_sound_alone(cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=2, audio_seconds=2)
    frames = prepare_media(plan_for(video, segments=False), cache)
    assert len(frames.frames) == 2
    assert frames.segments == ()
    sound = prepare_media(plan_for(video, frames=False, segments=False, whole_audio=True), cache)
    assert sound.frames == ()
    assert sound.audio is not None
    assert abs(len(read_wav(sound.audio.path)) - 32_000) < 1_600


def test_files_that_are_sent_as_they_are_are_still_looked_at(cache: MediaCache, tmp_path: Path) -> None:
    broken = tmp_path / "v.mp4"
    broken.write_text("no video")
    with pytest.raises(MediaError, match=r"v\.mp4"):
        prepare_media(plan_for(broken, frames=False, segments=False), cache)
    good = make_video(tmp_path / "good.mp4", seconds=1)
    assert prepare_media(plan_for(good, frames=False, segments=False), cache).frames == ()


def test_a_video_without_sound_fails_only_where_sound_is_needed(cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "silent.mp4", seconds=1)
    with pytest.raises(MediaError, match=r"silent\.mp4: no audio track.*input_mode=visual"):
        prepare_media(plan_for(video), cache)
    assert len(prepare_media(plan_for(video, segments=False), cache).frames) == 1


def test_image_settings_are_kept(cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=1, audio_seconds=1, size=(384, 128))
    sizes = {}
    for quality, subsampling, layout in ((85, "4:2:0", (2, 2)), (30, "4:2:0", (2, 2)), (85, "4:4:4", (1, 1))):
        encoding = ImageEncoding("jpeg", quality, subsampling)  # type: ignore[arg-type]
        path = prepare_media(plan_for(video, image=encoding), cache).frames[0].path
        sizes[quality, subsampling] = path.stat().st_size
        image = Image.open(path)
        assert image.layer[0][1:3] == layout  # type: ignore[attr-defined]
    assert sizes[30, "4:2:0"] < sizes[85, "4:2:0"]


@pytest.mark.parametrize("kind", ["png", "webp"])
def test_lossless_images_are_the_decoded_picture(kind: str, cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=1, audio_seconds=1)
    encoding = ImageEncoding(kind)  # type: ignore[arg-type]
    (lossless,) = prepare_media(plan_for(video, image=encoding), cache).frames
    assert lossless.mime == f"image/{kind}"
    (picture,) = decode_frames(video, [0])
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(lossless.path.read_bytes()))), picture.rgb)


def test_real_times_pick_other_frames_where_the_rate_varies(cache: MediaCache, tmp_path: Path) -> None:
    def half_speed_first(number: int) -> int:
        return number * 2 if number < 50 else number + 50

    video = make_video(tmp_path / "v.mp4", seconds=4, time_of=half_speed_first)
    nominal = prepare_media(plan_for(video, segments=False), cache)
    real = prepare_media(plan_for(video, segments=False, real_times=True), cache)
    assert [number_in(part.path) for part in real.frames] == [0, 12, 25, 37, 50, 75]
    assert [number_in(part.path) for part in nominal.frames] != [number_in(part.path) for part in real.frames]


def test_frames_between_two_pictures_are_joined_in_one(cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=2.44, audio_seconds=2.44)
    media = prepare_media(plan_for(video, stack_frames=5, image=ImageEncoding("png")), cache)
    assert [number_in(part.path) for part in media.frames] == [0, 25, 50]
    assert [part.timestamp for part in media.stacked] == [0.0, 1.0, 2.0]
    joined = [np.asarray(Image.open(part.path)) for part in media.stacked]
    cells = [(slice(top, top + 64), slice(left, left + 192)) for top in (0, 70) for left in (0, 198)]
    assert [[frame_number(picture[cell]) for cell in cells] for picture in joined[:2]] == [
        [5, 10, 15, 20], [30, 35, 40, 45],
    ]  # fmt: skip
    decoded = list(decode_frames(video, [5, 10, 15, 20]))
    for cell, picture in zip(cells, decoded, strict=True):
        assert np.array_equal(joined[0][cell], picture.rgb)
    assert not joined[0][64:70].any()
    assert not joined[0][:, 192:198].any()
    assert joined[2].shape == (134, 192, 3)
    assert [frame_number(joined[2][top : top + 64]) for top in (0, 70)] == [55, 60]
    assert [number_in(part.path) for part in prepare_media(plan_for(video), cache).frames] == [0, 25, 50]


def test_joined_frames_go_with_the_picture_that_lacks_sound(cache: MediaCache, tmp_path: Path) -> None:
    video, wav = make_video(tmp_path / "v.mp4", seconds=4), make_wav(tmp_path / "a.wav", seconds=1.5)
    plan = plan_for(video, wav, frame_plan="omnievalkit", stack_frames=2)
    media = prepare_media(plan, cache)
    assert [number_in(part.path) for part in media.frames] == [0, 25]
    assert [number_in(part.path) for part in media.stacked] == [12, 37]


def test_pictures_are_counted_before_they_are_made(cache: MediaCache, tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=2.1)
    for stack_frames in (1, 2, 5):
        plan = plan_for(video, segments=False, stack_frames=stack_frames)
        media = prepare_media(plan, cache)
        assert planned_frames(plan) == len(media.frames) + len(media.stacked)


def test_what_was_prepared_before_frames_could_be_joined_is_still_of_use(tmp_path: Path) -> None:
    plan = plan_for(make_video(tmp_path / "v.mp4", seconds=1), segments=False)
    older = asdict(plan)
    del older["stack_frames"], older["video"], older["audio"]
    sources = {"video": source_identity(tmp_path / "v.mp4"), "audio": None}
    cache = MediaCache(tmp_path / "cache")

    def make(writer: EntryWriter) -> None:
        writer.add("frame", ".jpg", "image/jpeg", b"made by an older version", 0.0)

    description = {"sources": sources, "settings": older}
    cache.get_or_make(entry_key(description), description, make)
    assert prepare_media(plan, cache).frames[0].path.read_bytes() == b"made by an older version"
    other = prepare_media(replace(plan, stack_frames=2), cache)
    assert other.frames[0].path.read_bytes() != b"made by an older version"
