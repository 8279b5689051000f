"""Imports go one way only, and the rule would notice one that does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import omnieval

ROOT = Path(omnieval.__file__).parent.parent


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command as c; c()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--config", "pyproject.toml"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def copy_of_package(folder: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "omnieval", folder / "omnieval", ignore=shutil.ignore_patterns("*.mp4", "*.wav"))
    return folder


def test_the_layers_are_kept(tmp_path: Path) -> None:
    checked = lint_imports(copy_of_package(tmp_path))
    assert checked.returncode == 0, checked.stdout
    assert "1 kept, 0 broken" in checked.stdout


def test_an_import_against_the_direction_is_noticed(tmp_path: Path) -> None:
    copy = copy_of_package(tmp_path)
    with (copy / "omnieval" / "types.py").open("a") as file:
        file.write("\nimport omnieval.media.plan\n")
    checked = lint_imports(copy)
    assert checked.returncode == 1
    assert "omnieval.types -> omnieval.media.plan" in checked.stdout
