"""The notebooks run from their first cell to the last, and are stored without output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.report.build import Report
from omnieval.report.speech import SpeechReport
from omnieval.runlog import Run

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MARKS = {"speech": (pytest.mark.embedded, pytest.mark.slow), "frame_count_ablation": (pytest.mark.slow,)}

nbformat = pytest.importorskip("nbformat", reason="pip install '.[notebooks]'")


def test_they_are_found() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_holds_no_output(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    assert path.stat().st_size < 20_000


@pytest.mark.parametrize("path", [pytest.param(p, marks=MARKS.get(p.stem, ()), id=p.stem) for p in NOTEBOOKS])
def test_a_notebook_runs(
    path: Path, tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIEVAL_CACHE_DIR", str(cache_dir))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    book = nbformat.read(path, as_version=4)
    execute(book, path.name, tmp_path)
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
    runs = {file.parent.name: api.load_run(file.parent) for file in tmp_path.glob("*/*/run.json")}
    text = "\n".join(output.get("text") or plain(output) for output in shown)
    missing = [figure for figure in FIGURES[path.stem](runs) if figure not in text]
    assert not missing, text


def accuracy_figures(runs: Mapping[str, Run]) -> list[str]:
    report = api.load_report(runs["chance"])
    assert isinstance(report, Report) and report.official.value is not None
    return [
        f"{report.official.value:.1%} of {report.official.total}",
        *(row.value for row in report.groups["type"]),
    ]


def flips(runs: Mapping[str, Run]) -> list[str]:
    [comparison] = api.compare(runs["monday"].directory, runs["tuesday"].directory)
    choice = comparison.choice
    assert choice is not None
    found = [flip.sample_id for flip in (*choice.lost, *choice.gained)]
    assert found
    return [*found, f"Right to wrong: {len(choice.lost)}"]


def accuracies_by_frames(runs: Mapping[str, Run]) -> list[str]:
    assert sorted(runs) == ["1", "16", "4"]
    assert {name: run.config["max_frames"] for name, run in runs.items()} == {"1": 1, "4": 4, "16": 16}
    reports = [api.load_report(run) for run in runs.values()]
    return [f"{report.official.value:.6f}" for report in reports if isinstance(report, Report)]


def word_errors(runs: Mapping[str, Run]) -> list[str]:
    report = api.load_report(runs["speech"])
    assert isinstance(report, SpeechReport) and report.wer is not None
    rows = runs["speech"].to_pandas()
    heard = rows[rows.selected]
    assert heard.wer.notna().all() and heard.rtf.notna().all()
    return [f"WER {report.wer.official_percent} % over {len(heard)} utterances", *heard.sample_id]


FIGURES: dict[str, Callable[[Mapping[str, Run]], list[str]]] = {
    "accuracy_by_category": accuracy_figures,
    "compare_two_builds": flips,
    "frame_count_ablation": accuracies_by_frames,
    "speech": word_errors,
}


def plain(output: Any) -> str:
    data = output.get("data", {})
    return str(data.get("text/markdown") or data.get("text/plain", ""))


def test_a_run_that_is_not_there_is_named_with_the_next_step(tmp_path: Path) -> None:
    """As the first cell of the speech notebook says: another run is read by `api.load_run`."""
    book = nbformat.read(FOLDER / "speech.ipynb", as_version=4)
    cell = next(cell for cell in book.cells if cell.cell_type == "code")
    start = cell.source.index("run = api.run(")
    end = cell.source.index("report = ")
    cell.source = cell.source[:start] + 'run = api.load_run("runs/monday")\n' + cell.source[end:]
    errors = pytest.importorskip("nbclient.exceptions")
    with pytest.raises(errors.CellExecutionError) as raised:
        execute(book, "speech.ipynb", tmp_path)
    assert raised.value.ename == "ScoringError"
    told = "runs/monday: not a run directory (no run.json in it); name one that `omnieval run` wrote"
    assert raised.value.evalue == told


def test_a_kernel_that_dies_is_told_with_the_notebook(tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import os; os.kill(os.getpid(), 9)")])
    with pytest.raises(pytest.fail.Exception, match=r"speech\.ipynb: its kernel died, as for want of memory"):
        execute(book, "speech.ipynb", tmp_path)


def execute(book: Any, name: str, folder: Path) -> None:
    """Run all cells in a folder; the first that fails is raised, and a dead kernel fails the test by name."""
    client = pytest.importorskip("nbclient")
    errors = pytest.importorskip("nbclient.exceptions")
    try:
        client.NotebookClient(book, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    except errors.DeadKernelError:
        pytest.fail(f"{name}: its kernel died, as for want of memory; run it alone to see where")
