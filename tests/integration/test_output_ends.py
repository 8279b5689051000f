"""Output whose reader leaves, or whose disk is full, ends a command in good order."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.command import command, environment, lines, omnieval, report
from tests.runs import choice_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return choice_run(tmp_path / "run", ["correct", "wrong"]).directory


def with_no_reader(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command with a pipe for its output, the other end of which is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            command(*arguments),
            env=environment(),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    finally:
        os.close(writing)


def test_a_run_whose_reader_leaves_asks_everything_and_writes_its_report(
    tmp_path: Path, cache_dir: Path
) -> None:
    arguments = ["--sample", "--backend", "chance", "--set", "media=none", "--cache-dir", cache_dir]
    done = with_no_reader("run", "daily-omni", *arguments, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert report(tmp_path / "run")["complete"] is True
    assert len(lines(tmp_path / "run" / "responses.jsonl")) == report(tmp_path / "run")["rows"]


@pytest.mark.parametrize("verb", ["report", "compare", "gate"])
def test_what_is_only_shown_ends_in_silence(verb: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("- coverage == 1.0\n")
    more: dict[str, list[str | Path]] = {"compare": [run], "gate": ["--gate", tmp_path / "gate.yaml"]}
    done = with_no_reader(verb, run, *more.get(verb, []))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [("report",), ("report", "--json"), ("report", "--markdown")])
def test_a_full_disk_behind_the_output_is_one_error(arguments: tuple[str, ...], run: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(arguments[0], run, *arguments[1:]), env=environment(), stdout=full, stderr=subprocess.PIPE,
            text=True, timeout=120,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: No space left on device; check the path\n"


def test_a_run_in_a_folder_whose_name_is_no_text_is_shown_compared_and_exported(
    run: Path, tmp_path: Path
) -> None:
    odd = tmp_path / os.fsdecode(b"bad\xffname")
    try:
        run.rename(odd)
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    (tmp_path / "gate.yaml").write_text("- coverage == 1.0\n")
    other = choice_run(tmp_path / "other", ["wrong", "wrong"]).directory
    for arguments in (
        ("report", odd), ("score", odd), ("gate", odd, "--gate", tmp_path / "gate.yaml"),
        ("compare", odd, other, "--out", odd / "compared"),
            ("compare", other, odd, "--html", tmp_path / "page.html"),
        ("export", odd, "--format", "csv"), ("export", odd, "--format", "parquet"),
        ("export", odd, "--format", "vllm-bench"), ("export", odd, "--format", "lm-eval"),
    ):  # fmt: skip
        done = omnieval(*arguments, cwd=tmp_path)
        assert done.returncode == 0, (arguments, done.stderr)
    assert "bad\ufffdname" in Path(os.fsdecode(bytes(odd) + b".csv")).read_text()
    assert "./bad%FFname/report.html" in (tmp_path / "page.html").read_text()


def test_a_report_of_the_folder_one_stands_in_has_its_name(run: Path) -> None:
    assert omnieval("score", ".", cwd=run).returncode == 0
    assert json.loads((run / "report.json").read_text())["run"]["directory"] == "run"
