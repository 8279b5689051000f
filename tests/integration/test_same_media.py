"""Two runs about different media are not compared, and a run whose media were replaced is not resumed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from omnieval.media.edges import EDGE_BYTES
from omnieval.runlog import Run
from omnieval.samples import sample_dir
from tests.command import omnieval


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_dir("daily-omni"), tmp_path / "data"))


def run(data: Path, out: Path, *more: str) -> tuple[int, str]:
    done = omnieval(
        "run", "daily-omni", "--data", data, "--backend", "chance", "--cache-dir", out.parent / "cache",
        "--out", out, *more,
    )  # fmt: skip
    return done.returncode, done.stderr


def replace_one_video(data: Path) -> str:
    """Exchange the video and sound of one id by those of another; its id."""
    first, second, *_ = sorted(path for path in (data / "Videos").iterdir() if path.is_dir())
    for ending in ("video.mp4", "audio.wav"):
        source = second / f"{second.name}_{ending}"
        if source.exists():
            shutil.copyfile(source, first / f"{first.name}_{ending}")
    return first.name


def test_runs_about_different_media_are_not_compared(data: Path, tmp_path: Path) -> None:
    assert run(data, tmp_path / "a")[0] == 0
    moved = Path(shutil.copytree(data, tmp_path / "moved"))
    assert run(moved, tmp_path / "b")[0] == 0
    same = omnieval("compare", tmp_path / "a", tmp_path / "b")
    assert same.returncode == 0, same.stderr

    name = replace_one_video(moved)
    assert run(moved, tmp_path / "c")[0] == 0
    other = omnieval("compare", tmp_path / "a", tmp_path / "c")
    about = sum(p.sample.cluster == name for p in Run.load(tmp_path / "a").samples())
    of = len(Run.load(tmp_path / "a").media())
    assert other.returncode == 2
    assert "different media" in other.stderr
    assert f"of {about} of {of} samples" in " ".join(other.stderr.split())


def test_one_other_byte_between_head_and_middle_makes_other_media(data: Path, tmp_path: Path) -> None:
    assert run(data, tmp_path / "a")[0] == 0
    sound = max(data.glob("Videos/*/*.wav"), key=lambda path: path.stat().st_size)
    content = bytearray(sound.read_bytes())
    place = EDGE_BYTES + 100
    assert place < len(content) // 2
    content[place] ^= 1
    sound.write_bytes(content)
    assert run(data, tmp_path / "b")[0] == 0
    assert "different media" in omnieval("compare", tmp_path / "a", tmp_path / "b").stderr


def test_a_run_is_not_resumed_on_replaced_media_but_on_moved_ones(data: Path, tmp_path: Path) -> None:
    assert run(data, tmp_path / "a")[0] == 0
    moved = Path(shutil.copytree(data, tmp_path / "moved"))
    code, said = run(moved, tmp_path / "a")
    assert code == 0, said
    name = replace_one_video(moved)
    code, said = run(moved, tmp_path / "a")
    assert code == 3
    assert "were replaced" in said
    assert name in said
