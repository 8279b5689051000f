"""Every bundled recipe on its sample, from the command line, with the embedded backend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import omnieval, report

pytestmark = pytest.mark.embedded


# rows, and how many the backend must have right at least (measured: 5, 7, 5, 4, 3).
@pytest.mark.parametrize(
    ("recipe", "rows", "floor"),
    [("video-mme", 9, 4), ("video-mme-short", 9, 5), ("video-mme-subs", 9, 4), ("mcq-pictures", 4, 3), ("mcq-sounds", 5, 2)],
)  # fmt: skip
def test_a_recipe_runs_on_its_sample(
    recipe: str, rows: int, floor: int, cache_dir: Path, tmp_path: Path
) -> None:
    done = omnieval("run", recipe, "--sample", "--cache-dir", cache_dir, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    content = report(tmp_path / "run")
    assert sum(line["count"] for line in content["accounting"]) == rows
    assert content["official"]["total"] == rows
    assert content["official"]["correct"] >= floor > rows / 4


def test_a_file_of_ones_own_needs_no_recipe(cache_dir: Path, tmp_path: Path) -> None:
    rows = [
        {"question": f"Is {i} even?", "options": ["Yes", "No"], "answer": "Yes" if i % 2 == 0 else "No"}
        for i in range(6)
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = [
        "run",
        "mcq",
        "--data",
        tmp_path / "mine.jsonl",
        "--backend",
        "chance",
        "--cache-dir",
        cache_dir,
    ]
    done = omnieval(*arguments, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert report(tmp_path / "run")["chance"] == 0.5


def test_circular_says_what_it_costs_before_the_start(cache_dir: Path, tmp_path: Path) -> None:
    arguments = [
        "run",
        "mcq-pictures",
        "--sample",
        "--set",
        "options.order=circular",
        "--cache-dir",
        cache_dir,
    ]
    done = omnieval(*arguments, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "every order of the options is asked: 16 requests for 4 questions" in done.stdout
    assert report(tmp_path / "run")["rows"] == 4


def test_scoring_again_by_another_parser_needs_no_model(cache_dir: Path, tmp_path: Path) -> None:
    arguments = ["run", "mcq-pictures", "--sample", "--cache-dir", cache_dir, "--out", tmp_path / "run"]
    assert omnieval(*arguments).returncode == 0
    done = omnieval("score", tmp_path / "run", "--parser", "lmms-eval")
    assert done.returncode == 0, done.stderr
    assert report(tmp_path / "run")["parser"] == "lmms-eval"
    wrong = omnieval("score", tmp_path / "run", "--parser", "carefull")
    assert wrong.returncode == 2
    assert "did you mean 'careful'" in wrong.stderr
