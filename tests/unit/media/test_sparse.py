"""Reading a few frames gives bit for bit what decoding everything gives, for every kind of file."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from omnieval.media import decode
from omnieval.media.decode import Picture, decode_all_frames, decode_frames
from omnieval.media.plan import plan_frames
from omnieval.media.probe import video_facts
from tests.media_files import frame_number, make_video, repeated, with_edit_list

X264 = {"codec": "libx264", "preset": "veryfast"}
FILES: dict[str, dict[str, object]] = {
    "h264-no-bframes.mp4": {**X264, "bf": "0", "g": "30"},
    "h264-bframes.mp4": {**X264, "bf": "3", "g": "30"},
    "h264-8-bframes-pyramid.mp4": {**X264, "x264-params": "bframes=8:b-adapt=0:b-pyramid=normal:keyint=60"},
    "h264-open-gop.mp4": {**X264, "x264-params": "open-gop=1:bframes=4:b-adapt=0:keyint=25:min-keyint=10"},
    "h264-one-gop.mp4": {**X264, "bf": "3", "g": "1000"},
    "h264-all-intra.mp4": {**X264, "g": "1"},
    "h264-interlaced.mp4": {**X264, "x264-params": "interlaced=1:bframes=3:keyint=30"},
    "h264.mkv": {**X264, "bf": "3", "g": "30"},
    "h264.mov": {**X264, "bf": "3", "g": "30"},
    "h264.ts": {**X264, "bf": "3", "g": "30"},
    "h264.avi": {**X264, "bf": "0", "g": "30"},
    "h264-10-bit.mp4": {**X264, "bf": "3", "g": "30", "pix_fmt": "yuv420p10le"},
    "h264-4-4-4.mp4": {**X264, "bf": "3", "g": "30", "pix_fmt": "yuv444p"},
    "hevc-closed.mp4": {"codec": "libx265", "x265-params": "log-level=none:open-gop=0:keyint=30:bframes=4"},
    "hevc-open.mp4": {"codec": "libx265", "x265-params": "log-level=none:open-gop=1:keyint=30:bframes=4"},
    "vp8.webm": {"codec": "libvpx", "deadline": "realtime", "cpu-used": "8", "g": "30"},
    "vp9.webm": {"codec": "libvpx-vp9", "deadline": "realtime", "cpu-used": "8", "g": "30"},
    "vp9-alt-ref.webm": {"codec": "libvpx-vp9", "deadline": "good", "cpu-used": "5", "auto-alt-ref": "1",
                         "lag-in-frames": "16", "g": "40"},
    "av1.mp4": {"codec": "libsvtav1", "preset": "12", "g": "30"},
    "mpeg4.mp4": {"codec": "mpeg4", "bf": "2", "g": "30"},
    "mjpeg.mkv": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
    "prores.mov": {"codec": "prores_ks", "pix_fmt": "yuv422p10le"},
    "h264-23.976.mp4": {**X264, "bf": "3", "g": "48", "fps": Fraction(24000, 1001)},
    "h264-29.97.mp4": {**X264, "bf": "3", "g": "60", "fps": Fraction(30000, 1001)},
    "h264-59.94.mp4": {**X264, "bf": "3", "g": "60", "fps": Fraction(60000, 1001)},
    "hevc-59.94.mkv": {"codec": "libx265", "x265-params": "log-level=none", "fps": Fraction(60000, 1001)},
    "h264-variable-rate.mp4": {**X264, "bf": "3", "g": "30", "time_of": lambda i: i * 2 + (i % 7 == 3)},
    "h264-variable-rate.mkv": {**X264, "bf": "3", "g": "30", "time_of": lambda i: i * 2 + (i % 7 == 3)},
    "h264-late-start.mp4": {**X264, "bf": "3", "g": "30", "time_of": lambda i: i + 250},
    "h264-late-start.mkv": {**X264, "bf": "3", "g": "30", "time_of": lambda i: i + 250},
    "h264-with-sound.mp4": {**X264, "bf": "3", "g": "30", "audio_seconds": 8.0},
    "h264-fragmented.mp4": {**X264, "bf": "3", "g": "30",
                            "container_options": {"movflags": "frag_keyframe+empty_moov"}},
    "h264-odd-size.mp4": {**X264, "bf": "3", "g": "30", "size": (198, 62)},
    "h264-non-square.mp4": {**X264, "bf": "3", "g": "30", "pixel_aspect": Fraction(16, 11)},
}  # fmt: skip
# Read packet by packet but never sure: decoding everything is right there.
PLAIN_IS_FINE = {"h264.ts", "h264.avi"}


def available(options: dict[str, object]) -> bool:
    return str(options["codec"]) in av.codecs_available


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("videos")


def video(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.exists():
        options = dict(FILES[name])
        if not available(options):
            pytest.skip(f"this build of FFmpeg has no encoder {options['codec']}")
        make_video(path, seconds=8, **options)  # type: ignore[arg-type]
    return path


def frames_in(path: Path) -> int:
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def equal(first: list[Picture], second: list[Picture]) -> bool:
    return len(first) == len(second) and all(
        a.number == b.number and np.array_equal(a.rgb, b.rgb) for a, b in zip(first, second, strict=True)
    )


def selections(count: int) -> list[list[int]]:
    seeded = random.Random(count)
    return [
        list(range(0, count, 25)),
        sorted(seeded.sample(range(count), 12)),
        [count - 1],
        [0, 0, 1, 2, 3, count // 2, count // 2, count - 2, count - 1],
        list(range(count // 2, count // 2 + 40)),
        list(range(count)),
    ]


@pytest.mark.parametrize("name", FILES)
def test_every_selection_equals_a_full_decode(name: str, folder: Path) -> None:
    path = video(folder, name)
    count = frames_in(path)
    assert count > 150
    for wanted in selections(count):
        got = list(decode_frames(path, wanted))
        assert equal(got, list(decode_all_frames(path, wanted))), wanted
        assert [frame_number(picture.rgb) for picture in got] == wanted


@pytest.mark.parametrize("name", [name for name in FILES if name not in PLAIN_IS_FINE])
def test_the_quick_way_is_really_taken(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = video(folder, name)

    def refuse(*_: object) -> None:
        raise AssertionError("everything was decoded")

    monkeypatch.setattr(decode, "decode_all_frames", refuse)
    wanted = list(range(0, frames_in(path), 40))
    assert [picture.number for picture in decode_frames(path, wanted)] == wanted


# (frames hidden before the first shown one, frames shown): inside a group, at a keyframe, the end cut off.
EDITS = [(10, 190), (30, 170), (37, 163), (37, 100), (0, 100), (61, 2)]


@pytest.mark.parametrize(("skip", "keep"), EDITS)
@pytest.mark.parametrize("name", ["h264-bframes.mp4", "hevc-open.mp4", "mpeg4.mp4"])
def test_an_edit_list_hides_frames_from_the_plan_and_from_the_decoder(
    name: str, skip: int, keep: int, folder: Path
) -> None:
    path = with_edit_list(folder / f"{skip}-{keep}-{name}", video(folder, name), skip=skip, keep=keep)
    assert video_facts(path).frames == frames_in(path) == keep
    for wanted in selections(keep) if keep > 50 else [[0], [1], [0, 1]]:
        got = list(decode_frames(path, wanted))
        assert equal(got, list(decode_all_frames(path, wanted))), wanted
        assert [frame_number(picture.rgb) for picture in got] == [skip + number for number in wanted]


def test_two_hours_with_few_wanted_frames(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minute = make_video(folder / "minute.mp4", seconds=60, **X264, bf="3", g="250")
    path = repeated(folder / "hours.mp4", minute, times=120)
    facts = video_facts(path)
    assert facts.frames == 120 * 1500
    wanted = list(plan_frames("omnievalkit", frames=facts.frames, fps=facts.fps, max_frames=24).indices)
    with monkeypatch.context() as patch:
        read, _ = decoded_packets(path, wanted, patch)
    assert read < 24 * 300
    got = list(decode_frames(path, wanted))
    assert equal(got, list(decode_all_frames(path, wanted)))
    assert [frame_number(picture.rgb) for picture in got] == [number % 1500 for number in wanted]


def decoded_packets(path: Path, wanted: list[int], monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """(packets that went through the decoder, of which all frames were wanted whatever refers to them)."""
    from omnieval.media import sparse

    seen = [0, 0]
    plain = sparse._Decoder._decode_one_packet

    def counting(self: sparse._Decoder) -> None:
        plain(self)
        seen[0] += 1
        seen[1] += str(self._context.skip_frame) in ("DEFAULT", "SkipType.DEFAULT")

    monkeypatch.setattr(sparse._Decoder, "_decode_one_packet", counting)
    list(decode_frames(path, wanted))
    return seen[0], seen[1]


def test_only_what_leads_to_a_wanted_frame_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = video(folder, "h264-bframes.mp4")
    read, needed = decoded_packets(path, [5, 190], monkeypatch)
    assert read < 50
    assert needed <= 4


def test_the_cost_follows_the_frames_asked_and_not_the_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for seconds in (20, 160):
        path = make_video(tmp_path / f"{seconds}.mp4", seconds=seconds, g="25", preset="ultrafast", bf="2")
        frames = seconds * 25
        with monkeypatch.context() as patch:
            counts.append(decoded_packets(path, list(range(12, frames, frames // 8)), patch)[0])
    assert counts[1] <= counts[0] * 1.3


def damaged(path: Path, damage: Callable[[bytearray], None]) -> Path:
    content = bytearray(path.read_bytes())
    damage(content)
    copy = path.with_name(f"damaged-{path.name}")
    copy.write_bytes(content)
    return copy


def zero_the_middle(content: bytearray) -> None:
    box = content.index(b"mdat")
    size = int.from_bytes(content[box - 4 : box], "big")
    middle = box + size // 2
    content[middle : middle + size // 20] = bytes(size // 20)


@pytest.mark.parametrize("name", ["h264-bframes.mp4", "hevc-open.mp4", "mpeg4.mp4", "h264-one-gop.mp4"])
def test_a_damaged_group_never_gives_a_wrong_picture_before_it(name: str, folder: Path) -> None:
    path = damaged(video(folder, name), zero_the_middle)
    wanted = list(range(0, 60, 10))
    assert equal(list(decode_frames(path, wanted)), list(decode_all_frames(video(folder, name), wanted)))


def test_a_damaged_group_that_nobody_wants_is_not_even_read(folder: Path) -> None:
    path = damaged(video(folder, "h264-bframes.mp4"), zero_the_middle)
    wanted = [0, 10, 180, 199]
    pictures = list(decode_frames(path, wanted))
    assert [frame_number(picture.rgb) for picture in pictures] == wanted
    assert not any(picture.damaged for picture in pictures)
