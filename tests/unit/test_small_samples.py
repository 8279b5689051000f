"""The small samples of Video-MME and of multiple-choice sets are sound, and can be made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnieval import api
from omnieval.engine.execute import load_selected
from omnieval.samples import sample_dir
from omnieval.samples.build_small_sets import build

MADE_BY_A_LIBRARY = {".parquet", ".png"}  # whose bytes differ from version to version


def test_they_are_made_anew_file_by_file(tmp_path: Path) -> None:
    build(tmp_path)
    for name in ("video_mme", "mcq_pictures", "mcq_sounds"):
        kept = sample_dir({"video_mme": "video-mme"}.get(name, "mcq"), name.replace("_", "-"))
        assert kept.name == name
        made = {path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*") if path.is_file()}
        there = {path.relative_to(kept) for path in kept.rglob("*") if path.is_file()}
        assert there - made == {Path("README.md")}
        assert made <= there
        for path in made:
            if path.suffix not in MADE_BY_A_LIBRARY:
                assert (tmp_path / name / path).read_bytes() == (kept / path).read_bytes(), path


@pytest.mark.parametrize(
    ("recipe", "rows"),
    [("video-mme", 9), ("video-mme-short", 9), ("video-mme-subs", 9), ("mcq-pictures", 4), ("mcq-sounds", 5)],
)
def test_every_row_can_be_asked_and_judged(recipe: str, rows: int) -> None:
    _, dataset, chosen = load_selected(api.configure(recipe, sample=True), lambda _: None)
    assert len(dataset.samples) == len(chosen) == rows
    assert all(sample.problem is None and sample.gold for sample in chosen)


def test_they_are_small_and_carry_a_licence_note() -> None:
    for name in ("video-mme", "mcq-pictures", "mcq-sounds"):
        folder = sample_dir("mcq", name)
        assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 500_000
        assert "CC0" in (folder / "README.md").read_text()
