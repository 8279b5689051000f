"""`omnieval gate` on a run of the bundled sample, as a process: verdicts become exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.command import omnieval


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    done = omnieval(
        "run", "daily-omni", "--sample", "--backend", "chance", "--out", folder / "run", "--cache-dir",
        folder / "cache",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "run"


def written(folder: Path, *lines: str) -> Path:
    path = folder / "gate.yaml"
    path.write_text("".join(f"- {line}\n" for line in lines))
    return path


def test_a_passed_gate_ends_with_0_and_is_kept_with_the_run(run: Path, tmp_path: Path) -> None:
    gate = written(tmp_path, "accuracy <= 0.9", "coverage == 1.0", "config.backend == chance")
    done = omnieval("gate", run, "--gate", gate, "--junit", tmp_path / "junit.xml")
    assert done.returncode == 0, done.stderr
    assert "PASS" in done.stdout
    kept = json.loads((run / "gate.json").read_text())
    assert (kept["verdict"], [line["verdict"] for line in kept["lines"]]) == ("pass", ["pass"] * 3)
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("failures") == "0"
    assert json.loads(omnieval("gate", run, "--gate", gate, "--json").stdout) == kept
    assert omnieval("gate", run, "--gate", gate, "--markdown").stdout.startswith("# PASS")


@pytest.mark.parametrize(("line", "word"), [("accuracy >= 0.99", "FAIL"), ("accuracy >= 0.2", "UNDECIDED")])
def test_a_gate_that_is_not_surely_met_ends_with_1(run: Path, tmp_path: Path, line: str, word: str) -> None:
    done = omnieval("gate", run, "--gate", written(tmp_path, line))
    assert (done.returncode, word in done.stdout) == (1, True)


def test_a_bad_gate_ends_with_2_and_names_the_line(run: Path, tmp_path: Path) -> None:
    done = omnieval("gate", run, "--gate", written(tmp_path, "rows >= 1", "acuracy >= 0.5"))
    assert done.returncode == 2
    assert "gate.yaml, line 2: 'acuracy >= 0.5': unknown figure 'acuracy'" in done.stderr
    assert omnieval("gate", run, "--gate", "no-such-gate").returncode == 2


def test_the_bundled_gate_is_listed_and_judges_the_sample(run: Path) -> None:
    assert "minicpm-challenge" in omnieval("list", "gates").stdout.split()
    done = omnieval("gate", run, "--gate", "minicpm-challenge")
    assert done.returncode == 1
    assert "rows >= 1196" in done.stdout
