"""`omnieval compare` on runs of the bundled sample, as a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import omnieval


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two runs of the bundled sample by guessing, with another seed each."""
    folder = tmp_path_factory.mktemp("runs")
    directories = {name: folder / name for name in ("monday", "tuesday")}
    for seed, directory in enumerate(directories.values()):
        done = omnieval(
            "run", "daily-omni", "--sample", "--backend", "chance", "--set", f"backend_seed={seed}",
            "--cache-dir", folder / "cache", "--out", directory,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return directories


def test_two_runs_are_compared_on_the_terminal_as_json_and_in_files(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    shown = omnieval("compare", runs["monday"], runs["tuesday"], "--out", tmp_path / "out")
    assert shown.returncode == 0, shown.stderr
    for words in (
        "run B tuesday against A monday",
        "95 % interval",
        "Right to wrong",
        "By type",
        "backend_seed",
    ):
        assert words in shown.stdout
    printed = omnieval("compare", runs["monday"], runs["tuesday"], "--json")
    stored = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert json.loads(printed.stdout) == stored
    markdown = omnieval("compare", runs["monday"], runs["tuesday"], "--markdown")
    assert markdown.stdout == (tmp_path / "out" / "compare.md").read_text()
    choice = stored["comparisons"][0]["choice"]
    first, second = (json.loads((run / "report.json").read_text())["official"] for run in runs.values())
    assert choice["official"]["first"]["correct"] == first["correct"]
    assert choice["official"]["second"]["correct"] == second["correct"]
    assert len(choice["gained"]) - len(choice["lost"]) == second["correct"] - first["correct"]


def test_one_run_alone_and_a_stranger_are_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    alone = omnieval("compare", runs["monday"])
    assert (alone.returncode, "at least two runs" in alone.stderr) == (2, True)
    (tmp_path / "empty").mkdir()
    stranger = omnieval("compare", runs["monday"], tmp_path / "empty")
    assert (stranger.returncode, "not a run directory" in stranger.stderr) == (3, True)


def test_a_part_is_compared_over_what_both_asked(runs: dict[str, Path], tmp_path: Path) -> None:
    done = omnieval(
        "run", "daily-omni", "--sample", "--backend", "chance", "--limit", "5", "--out", tmp_path / "part",
        "--cache-dir", runs["monday"].parent / "cache",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(omnieval("compare", runs["monday"], tmp_path / "part", "--json").stdout)
    comparison = found["comparisons"][0]
    assert comparison["questions"] == comparison["choice"]["strict"]["paired"]["count"] == 5
    assert any("left out" in line for line in comparison["warnings"])
