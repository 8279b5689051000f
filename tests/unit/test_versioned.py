"""The files that name a suite or a bench are read alike: what is wrong with one is named with its path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from omnieval.bench.store import Bench
from omnieval.errors import ScoringError
from omnieval.suite.store import Suite

Load = Callable[[Path], object]
KINDS = [(Suite.load, "suite"), (Bench.load, "bench")]


@pytest.mark.parametrize(("load", "kind"), KINDS)
def test_what_is_wrong_is_named(load: Load, kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"{kind}.json"
    with pytest.raises(ScoringError, match=f"{tmp_path}: not the directory of a {kind} \\(no {file.name}"):
        load(tmp_path)
    for content, told in (
        ('{"format": 2, "of": "another time"}', "written in format 2, and this version reads 1"),
        ('{"format": 1}', "cannot be read: .*; restore the file"),
        ("[1]", "cannot be read"),
        ('{"format": 1, "na', "cannot be read"),
    ):
        file.write_text(content)
        with pytest.raises(ScoringError, match=f"(?s){file}: {told}"):
            load(tmp_path)


@pytest.mark.parametrize(("load", "kind"), KINDS)
def test_a_file_instead_of_a_directory_holds_none(load: Load, kind: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ScoringError, match=f"not the directory of a {kind}"):
        load(tmp_path / "file")
