"""The cache gives back only what is whole and what was asked for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from omnieval.errors import MediaError, StorageError
from omnieval.media.cache import EntryWriter, MediaCache
from omnieval.media.prepare import prepare_media
from omnieval.types import ImageEncoding, MediaPlan
from tests.media_files import make_video

KEY = "ab" * 32


def make(content: bytes = b"picture") -> Callable[[EntryWriter], None]:
    return lambda writer: writer.add("frame", ".jpg", "image/jpeg", content, 1.5)


def never(_: EntryWriter) -> None:
    raise AssertionError("the entry was made again")


def test_an_entry_is_made_once_and_read_afterwards(tmp_path: Path) -> None:
    first = MediaCache(tmp_path).get_or_make(KEY, {"note": 1}, make())
    again = MediaCache(tmp_path).get_or_make(KEY, {"note": 1}, never)
    assert again == first
    (file,) = again.files["frame"]
    assert (file.path.read_bytes(), file.mime, file.timestamp) == (b"picture", "image/jpeg", 1.5)
    assert file.path.parent == tmp_path / "v1" / "ab" / KEY
    manifest = json.loads((file.path.parent / "manifest.json").read_text())
    assert manifest["files"][0]["size"] == 7


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: (entry / "frame-0000.jpg").write_bytes(b"pict"),
        lambda entry: (entry / "frame-0000.jpg").unlink(),
        lambda entry: (entry / "manifest.json").unlink(),
        lambda entry: (entry / "manifest.json").write_text('{"layout": "v1"'),
        lambda entry: (entry / "manifest.json").write_text("[]"),
        lambda entry: (entry / "manifest.json").write_text(
            (entry / "manifest.json").read_text().replace(KEY, "0" * 64)
        ),
    ],
)
def test_a_damaged_entry_is_made_again(damage: Callable[[Path], object], tmp_path: Path) -> None:
    cache = MediaCache(tmp_path)
    cache.get_or_make(KEY, {}, make())
    damage(tmp_path / "v1" / "ab" / KEY)
    entry = cache.get_or_make(KEY, {}, make(b"another"))
    assert entry.files["frame"][0].path.read_bytes() == b"another"
    assert list((tmp_path / "v1" / "tmp").iterdir()) == []


def test_an_entry_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    def fail(writer: EntryWriter) -> None:
        make()(writer)
        raise MediaError("broken")

    cache = MediaCache(tmp_path)
    with pytest.raises(MediaError):
        cache.get_or_make(KEY, {}, fail)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert list((tmp_path / "v1" / "tmp").iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from omnieval.media.cache import MediaCache
def make(writer):
    writer.add("frame", ".jpg", "image/jpeg", b"half")
    os.kill(os.getpid(), signal.SIGKILL)
MediaCache(Path(sys.argv[1])).get_or_make(sys.argv[2], {}, make)
"""


def test_a_killed_process_leaves_nothing_that_is_trusted(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path, KEY], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "v1" / "tmp").iterdir())) == 1
    cache = MediaCache(tmp_path)
    assert list((tmp_path / "v1" / "tmp").iterdir()) == []
    assert cache.get_or_make(KEY, {}, make()).files["frame"][0].path.read_bytes() == b"picture"


def test_what_a_living_process_is_making_is_left_alone(tmp_path: Path) -> None:
    def open_a_second_cache(writer: EntryWriter) -> None:
        make()(writer)
        MediaCache(tmp_path)
        make()(writer)

    entry = MediaCache(tmp_path).get_or_make(KEY, {}, open_a_second_cache)
    assert len(entry.files["frame"]) == 2


RACE = """
import sys
from pathlib import Path
from omnieval.media.cache import MediaCache
cache = MediaCache(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(60):
    key = f"{number:02x}" * 32
    entry = cache.get_or_make(key, {}, lambda writer: writer.add("frame", ".jpg", "image/jpeg", key.encode()))
    assert entry.files["frame"][0].path.read_bytes() == key.encode()
"""


def test_processes_that_race_for_entries_all_get_whole_ones(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    assert [racer.wait(timeout=60) for racer in racers] == [0] * 4
    assert list((tmp_path / "v1" / "tmp").iterdir()) == []
    assert len(list(tmp_path.glob("v1/*/*/manifest.json"))) == 60


def test_a_folder_that_cannot_be_made_is_one_error_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"--cache-dir or OMNIEVAL_CACHE_DIR"):
        MediaCache(tmp_path / "file" / "cache")


def test_every_setting_and_the_content_of_the_source_are_part_of_the_key(tmp_path: Path) -> None:
    cache = MediaCache(tmp_path / "cache")
    video = make_video(tmp_path / "v.mp4", seconds=3, audio_seconds=3)
    plan = MediaPlan(video, None, "minicpm", 64)

    def place(changed: MediaPlan) -> Path:
        return prepare_media(changed, cache).frames[0].path.parent

    seen = [place(plan)]
    assert place(plan) == seen[0]
    seen.append(place(replace(plan, frame_plan="omnievalkit")))
    seen.append(place(replace(plan, max_frames=2)))
    seen.append(place(replace(plan, segments=False)))
    seen.append(place(replace(plan, image=ImageEncoding(quality=84))))
    seen.append(place(replace(plan, image=ImageEncoding("png"))))
    status = video.stat()
    os.utime(video, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    seen.append(place(plan))
    make_video(video, seconds=2, audio_seconds=2)
    os.utime(video, ns=(status.st_atime_ns, status.st_mtime_ns))
    seen.append(place(plan))
    assert len(set(seen)) == len(seen)
    moved = video.rename(tmp_path / "another name.mp4")
    assert place(replace(plan, video=moved)) == seen[-1]


def test_damage_that_keeps_the_size_is_found_when_a_process_first_reads_an_entry(tmp_path: Path) -> None:
    def make(writer: EntryWriter) -> None:
        writer.add("frame", ".jpg", "image/jpeg", b"x" * 1000)

    entry = MediaCache(tmp_path).get_or_make("ab" * 32, {}, make)
    (file,) = entry.files["frame"]
    file.path.write_bytes(b"y" * 1000)
    again = MediaCache(tmp_path)
    assert again.get("ab" * 32) is None
    again.get_or_make("ab" * 32, {}, make)
    assert file.path.read_bytes() == b"x" * 1000
