"""Whatever happened to the files of a scored run, each verb works or names the file and the next step."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from omnieval import api
from omnieval.errors import OmnievalError, ScoringError
from tests.runs import choice_run, speech_run

FILES = (
    "run.json", "samples.jsonl", "responses.jsonl", "scores.jsonl", "report.json", "events.jsonl",
    "media.jsonl", "telemetry.jsonl", "report.html",
)  # fmt: skip


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if path.exists() else b"{")


def overwritten(path: Path) -> None:
    content = path.read_bytes() if path.exists() else b"{}\n" * 20
    path.write_bytes(content[:20] + bytes(30) + content[50:])


def of_another_kind(path: Path) -> None:
    path.write_text("[1, 2]\n[3]\n")


def a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


DAMAGES = (Path.unlink, emptied, halved, overwritten, of_another_kind, a_folder)
Verb = Callable[[Path, Path, Path], object]
VERBS: dict[str, Verb] = {
    "report": lambda run, other, out: api.load_report(run),
    "compare": lambda run, other, out: api.compare(run, other),
    "compared": lambda run, other, out: api.compare(other, run),
    "gate": lambda run, other, out: api.gate(run, gate_file(out)),
    "csv": lambda run, other, out: api.export(run, "csv", out=out / "rows.csv"),
    "vllm-bench": lambda run, other, out: api.export(run, "vllm-bench", out=out / "bench.json"),
    "lm-eval": lambda run, other, out: api.export(run, "lm-eval", out=out / "folder"),
    "score": lambda run, other, out: api.score(run),
}


def gate_file(folder: Path) -> Path:
    path = folder / "gate.yaml"
    path.write_text("- coverage == 1.0\n")
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two scored runs, `one` and `two`."""
    folder = tmp_path_factory.mktemp("whole")
    choice_run(folder / "one", ["correct", "wrong"])
    choice_run(folder / "two", ["wrong", "wrong"])
    return folder


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", FILES)
def test_each_verb_works_or_names_what_is_damaged(
    name: str, damage: Callable[[Path], None], whole: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(whole, tmp_path / "runs")
    run, other = folder / "one", folder / "two"
    for extra in ("media.jsonl", "telemetry.jsonl", "events.jsonl"):
        (run / extra).touch()
    damage(run / name)
    for verb, call in VERBS.items():
        try:
            call(run, other, folder)
        except OmnievalError as error:
            assert str(run) in str(error), verb
            next_steps = ("omnieval ", "restore", "name ", "cannot be", "nothing to export")
            assert any(word in str(error) for word in next_steps), verb


def test_scores_that_are_not_of_the_rows_are_made_anew_and_judged_then(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "run", ["correct", "wrong"]).directory
    scores = run / "scores.jsonl"
    scores.write_bytes(scores.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ScoringError, match=r"scores\.jsonl: not one score a row; run `omnieval score "):
        api.gate(run, gate_file(tmp_path))
    api.score(run)
    assert api.gate(run, gate_file(tmp_path)).verdict == "pass"


@pytest.mark.parametrize("make", [choice_run, speech_run])
def test_a_damaged_score_says_that_scoring_writes_it_anew_and_a_damaged_row_does_not(
    make: Callable[..., object], tmp_path: Path
) -> None:
    make(tmp_path / "run", ["correct"] if make is choice_run else [{"wer": 0.0}])
    run = api.load_run(tmp_path / "run")
    (run.directory / "scores.jsonl").write_text("{}\n")
    (run.directory / "samples.jsonl").write_text("{}\n")
    with pytest.raises(ScoringError, match=r"scores\.jsonl: line 1 is damaged .*; `omnieval score .*anew"):
        list(run.scores())
    with pytest.raises(ScoringError, match=r"samples\.jsonl: line 1 is damaged .*; restore the file$"):
        list(run.samples())
