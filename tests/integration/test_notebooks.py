"""The notebooks run from their first cell to the last, and are stored without output."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    client = pytest.importorskip("nbclient")
    monkeypatch.setenv("OMNIEVAL_CACHE_DIR", str(cache_dir))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    book = nbformat.read(path, as_version=4)
    client.NotebookClient(book, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
