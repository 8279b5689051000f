"""What is installed from a wheel is whole: recipes, references and the sample travel with it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import omnieval
from tests.command import environment

ROOT = Path(omnieval.__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(build, check=True, timeout=200)
    return next(folder.glob("*.whl"))


def test_the_sample_runs_from_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    show = "import omnieval; print(omnieval.__file__)"
    here = environment(PYTHONPATH=str(installed))
    where = subprocess.run(
        [sys.executable, "-c", show], env=here, cwd=tmp_path, capture_output=True, text=True
    )
    assert str(installed) in where.stdout
    done = subprocess.run(
        [sys.executable, "-m", "omnieval", "run", "daily-omni", "--sample", "--backend", "chance",
         "--cache-dir", tmp_path / "cache", "--out", tmp_path / "run"],
        env=here, cwd=tmp_path, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "78.28 %" in done.stdout
    assert (installed / "datasets_conv" / "daily_omni.py").exists()
    assert "Apache" in (next(installed.glob("*.dist-info")) / "licenses" / "LICENSE").read_text()
    assert (installed / "omnieval" / "py.typed").exists()
