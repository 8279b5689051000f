"""Conversion as a real process: killed, interrupted, with a full disk and little memory."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnieval.datasets.target import MOST_WAITING_BYTES
from tests.command import command, environment, omnieval
from tests.daily_omni_parquet import SCHEMA, media_of, row, write_shards

MB = 10**6


def random_release(folder: Path, *, videos: int, blob: int, repeats: int = 2, group: int = 4) -> Path:
    """Rows whose media are random bytes, written row group by row group."""
    (folder / "data").mkdir(parents=True)
    random = np.random.default_rng(0)
    with pq.ParquetWriter(folder / "data" / "test-00000-of-00001.parquet", SCHEMA) as writer:
        for start in range(0, videos, group // repeats):
            blobs = {f"v{i}": random.bytes(blob) for i in range(start, start + group // repeats)}
            table = [row(v, (b, b[:1000]), f"q{r}") for v, b in blobs.items() for r in range(repeats)]
            writer.write_table(pa.Table.from_pylist(table, SCHEMA))
    return folder


def arguments(release: Path, out: Path) -> list[str | Path]:
    return ["data", "convert", "daily-omni", "--src", release, "--dst", out]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_conversion_goes_on_where_it_stopped(how: signal.Signals, tmp_path: Path) -> None:
    release, out = random_release(tmp_path / "release", videos=150, blob=MB), tmp_path / "out"
    process = subprocess.Popen(
        command(*arguments(release, out)), env=environment(), stderr=subprocess.PIPE, text=True
    )
    while len(list(out.glob("Videos/*/*.mp4"))) < 20:
        assert process.poll() is None
        time.sleep(0.001)  # watches another process
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if how is signal.SIGINT else -9), errors
    assert "Traceback" not in errors
    assert not (out / "qa.json").exists()
    before = {path: path.stat().st_ino for path in out.glob("Videos/*/*_video.mp4")}
    assert 20 <= len(before) < 150
    assert all(path.stat().st_size == MB for path in before)

    done = omnieval(*arguments(release, out), "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["rows"], result["videos"], result["problems"]) == (300, 150, [])
    assert result["files_kept"] >= 2 * len(before) - 4
    assert result["files_written"] == 300 - result["files_kept"]
    same = sum(path.stat().st_ino == inode for path, inode in before.items())
    assert same >= len(before) - 2  # the last two may have been put there just before they were noted
    assert not list(out.rglob("*.part"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_unpacking_goes_on_where_it_stopped(how: signal.Signals, tmp_path: Path) -> None:
    src, out = tmp_path / "src", tmp_path / "out"
    src.mkdir()
    content = {f"v{i}": bytes([i]) * MB for i in range(150)}
    (src / "qa.json").write_text(json.dumps([{"video_id": video, "Question": "q"} for video in content]))
    with tarfile.open(src / "Videos.tar", "w") as archive:
        for video, clip in content.items():
            info = tarfile.TarInfo(f"Videos/{video}/{video}_video.mp4")
            info.size = len(clip)
            archive.addfile(info, io.BytesIO(clip))
    process = subprocess.Popen(
        command(*arguments(src, out)), env=environment(), stderr=subprocess.PIPE, text=True
    )
    while len(list(out.glob("Videos/*/*.mp4"))) < 20:
        assert process.poll() is None
        time.sleep(0.001)  # watches another process
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if how is signal.SIGINT else -9), errors
    assert "Traceback" not in errors and not (out / "qa.json").exists()
    before = list(out.glob("Videos/*/*_video.mp4"))
    assert 20 <= len(before) < 150

    done = omnieval(*arguments(src, out), "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["rows"], result["problems"]) == (150, [])
    assert result["files_kept"] >= len(before) - 1
    assert all((out / f"Videos/{v}/{v}_video.mp4").read_bytes() == clip for v, clip in content.items())
    assert not list(out.rglob("*.part"))


def test_memory_does_not_grow_with_the_size_of_a_file(tmp_path: Path) -> None:
    peaks = []
    for videos in (20, 120):
        release = random_release(tmp_path / f"r{videos}", videos=videos, blob=2 * MB)
        code = (
            "import sys; from pathlib import Path; from omnieval.datasets import convert_daily_omni\n"
            "convert_daily_omni(*map(Path, sys.argv[1:]))\n"
            "status = Path('/proc/self/status').read_text().splitlines()\n"
            "print(next(line.split()[1] for line in status if line.startswith('VmHWM')))"
        )
        out = tmp_path / f"out{videos}"
        done = subprocess.run(
            [sys.executable, "-c", code, release, out], env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout) / 1024)
    # The media of 100 videos more are 200 MB; of them a part may wait for the disk.
    assert peaks[1] - peaks[0] < MOST_WAITING_BYTES / MB + 20, peaks


def test_a_full_disk_is_told_and_the_next_run_goes_on(tmp_path: Path) -> None:
    release, out = random_release(tmp_path / "r", videos=8, blob=2 * MB), tmp_path / "out"
    limited = [
        "bash",
        "-c",
        'ulimit -f 1500; trap "" XFSZ; exec "$@"',
        "-",
        *command(*arguments(release, out)),
    ]
    done = subprocess.run(limited, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert "_video.mp4: cannot be written: File too large" in done.stderr
    assert "what was written stays" in done.stderr
    assert not list(out.rglob("*.mp4")) and not list(out.rglob("*.part"))
    assert omnieval(*arguments(release, out), "--strict").returncode == 0


def test_a_disk_without_space_is_told(tmp_path: Path) -> None:
    release, out = random_release(tmp_path / "r", videos=8, blob=2 * MB), tmp_path / "disk"
    out.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", out], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("this machine permits no tmpfs of our own")
    try:
        done = omnieval(*arguments(release, out / "data"))
        left = sorted(path.stat().st_size for path in out.rglob("*.mp4"))
    finally:
        subprocess.run(["umount", out], check=True)
    assert done.returncode == 1
    assert "No space left on device; free some space, then give the same command again" in done.stderr
    assert left in ([2 * MB], [2 * MB, 2 * MB])  # two are written at once


def test_a_folder_that_nobody_may_write_is_told(tmp_path: Path) -> None:
    release = random_release(tmp_path / "r", videos=2, blob=1000)
    done = omnieval(*arguments(release, Path("/sys/omnieval-out")))  # read-only for root as well
    assert done.returncode == 1
    assert "/sys/omnieval-out: cannot be written" in done.stderr


def test_two_conversions_do_not_write_into_one_folder(tmp_path: Path) -> None:
    from omnieval.datasets.target import Target

    release = random_release(tmp_path / "r", videos=2, blob=1000)
    with Target(tmp_path / "out"):
        done = omnieval(*arguments(release, tmp_path / "out"))
    assert done.returncode == 3
    assert "another conversion writes into this folder" in done.stderr


def test_the_module_converts_as_the_command_does(tmp_path: Path) -> None:
    media = media_of(tmp_path, "v1")
    release = write_shards(tmp_path / "r", [[row("v1", media, "q1", "no such option")]])
    module = [sys.executable, "-m", "datasets_conv.daily_omni", "--src", release, "--dst", tmp_path / "out"]
    done = subprocess.run([*module, "--strict"], env=environment(), capture_output=True, text=True)
    assert done.returncode == 3
    assert "1 row without an answer letter: v1: q1" in done.stdout
    assert subprocess.run(module, env=environment(), capture_output=True).returncode == 0
    assert (tmp_path / "out" / "Videos" / "v1" / "v1_video.mp4").read_bytes() == media[0]
