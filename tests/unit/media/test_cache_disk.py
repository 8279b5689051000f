"""What lies in the cache is used without looking at the source again; a full disk is one clear error."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from omnieval.media.cache import MediaCache, source_identity
from omnieval.media.prepare import prepare_media
from omnieval.types import MediaPlan
from tests.media_files import frame_number, make_video


def shown(plan: MediaPlan, cache: MediaCache) -> list[int]:
    return [frame_number(np.asarray(Image.open(part.path))) for part in prepare_media(plan, cache).frames]


def test_a_hit_does_not_decode_the_source_again(tmp_path: Path) -> None:
    """Its pictures are blackened where the identity does not look, so that decoding would show."""
    video = make_video(tmp_path / "v.mkv", seconds=4, codec="rawvideo")
    plan = MediaPlan(video, None, "minicpm", 64, segments=False)
    cache = MediaCache(tmp_path / "cache")
    assert shown(plan, cache) == [0, 25, 50, 75]

    before = source_identity(video)
    content = bytearray(video.read_bytes())
    edge, middle = 70_000, len(content) // 2
    for start, end in ((edge, middle), (middle + edge, len(content) - edge)):
        content[start:end] = bytes(end - start)
    video.write_bytes(content)
    os.utime(video, ns=(before["mtime_ns"], before["mtime_ns"]))
    assert source_identity(video) == before

    assert shown(plan, cache) == [0, 25, 50, 75]


def test_a_folder_that_its_owner_takes_away_while_it_is_judged(tmp_path: Path) -> None:
    """Stands for the moment between listing and looking: a link whose target has gone."""
    temporary = tmp_path / "v1" / "tmp"
    temporary.mkdir(parents=True)
    (temporary / "another-machine-1-aa").symlink_to(tmp_path / "gone")
    cache = MediaCache(tmp_path)
    entry = cache.get_or_make("ab" * 32, {}, lambda writer: writer.add("frame", ".jpg", "image/jpeg", b"x"))
    assert entry.files["frame"][0].path.read_bytes() == b"x"


@pytest.mark.parametrize(("age_s", "kept"), [(3_600, True), (2 * 24 * 3_600, False)])
def test_what_another_machine_left_is_removed_after_a_day(age_s: int, kept: bool, tmp_path: Path) -> None:
    folder = tmp_path / "v1" / "tmp" / f"another-machine-1-{os.getpid()}-aa"
    folder.mkdir(parents=True)
    then = folder.stat().st_mtime - age_s
    os.utime(folder, (then, then))
    MediaCache(tmp_path)
    assert folder.exists() == kept


NEEDS_UNSHARE = pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare (util-linux)")


def in_own_namespace(flags: list[str], script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    probe = subprocess.run(["unshare", "--map-root-user", *flags, "true"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"this machine permits no own namespaces: {probe.stderr.strip()}")
    command = ["unshare", "--map-root-user", *flags, sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


FULL_DISK = """
import json, subprocess, sys
from pathlib import Path
root = Path(sys.argv[1])
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", root]).returncode != 0:
    sys.exit(77)
from omnieval.errors import StorageError
from omnieval.media.cache import MediaCache
def add(size):
    return lambda writer: [writer.add("frame", ".jpg", "image/jpeg", bytes(64 * 1024)) for _ in range(size)]
cache = MediaCache(root)
cache.get_or_make("aa" * 32, {}, add(1))
try:
    cache.get_or_make("bb" * 32, {}, add(20))
except StorageError as error:
    message = str(error)
left = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
cache.get_or_make("cc" * 32, {}, add(1))
print(json.dumps([message, left]))
"""


@NEEDS_UNSHARE
def test_a_full_disk_is_one_error_with_the_next_step_and_leaves_nothing(tmp_path: Path) -> None:
    done = in_own_namespace(["--mount"], FULL_DISK, tmp_path)
    if done.returncode == 77:
        pytest.skip("this machine permits no tmpfs of our own")
    assert done.returncode == 0, done.stderr
    message, left = json.loads(done.stdout)
    assert message.startswith(f"{tmp_path}: ")
    assert "No space left on device" in message
    assert "--cache-dir or OMNIEVAL_CACHE_DIR" in message
    key = "aa" * 32
    assert left == [f"v1/aa/{key}/frame-0000.jpg", f"v1/aa/{key}/manifest.json"]


OPEN_THE_CACHE = """
import sys
from pathlib import Path
from omnieval.media.cache import MediaCache
MediaCache(Path(sys.argv[1]))
"""


@NEEDS_UNSHARE
def test_a_container_of_the_same_host_name_leaves_our_work_alone(tmp_path: Path) -> None:
    """Our process number means nothing there."""
    cache = MediaCache(tmp_path)

    def meanwhile(writer: object) -> None:
        done = in_own_namespace(["--pid", "--fork"], OPEN_THE_CACHE, tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(list((tmp_path / "v1" / "tmp").iterdir())) == 1

    cache.get_or_make("ab" * 32, {}, meanwhile)
