"""The base install is light: help needs no heavy library, and no dependency leads to torch."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement

from tests.command import environment

LIBRARIES = {
    "numpy",
    "scipy",
    "av",
    "PIL",
    "httpx",
    "pandas",
    "pyarrow",
    "torch",
    "faster_whisper",
    "ctranslate2",
}
HEAVY = LIBRARIES | {"pydantic", "yaml", "omnieval.api", "omnieval.engine", "omnieval.media"}
# typer, click and rich with what they import of the standard library; a heavy library alone adds hundreds.
MOST_MODULES = 420

SHOW = "import sys, atexit; atexit.register(lambda: print('MODULES', *sys.modules)); sys.argv = {argv!r}\n"


def modules_loaded_by(*arguments: str) -> set[str]:
    return modules_after("from omnieval.cli import main; main()", *arguments)


def modules_after(code: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW.format(argv=["omnieval", *arguments]) + code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stdout.rpartition("MODULES ")[2].split())


def test_help_imports_nothing_heavy() -> None:
    loaded = modules_loaded_by("--help")
    assert not loaded & HEAVY
    assert len(loaded) < MOST_MODULES


def test_help_of_a_command_imports_nothing_heavy_of_ours() -> None:
    # The command line library itself looks at pydantic when it reads a command's parameters.
    assert not modules_loaded_by("run", "--help") & (HEAVY - {"pydantic"})


def test_python_callers_import_heavy_libraries_only_for_what_they_do() -> None:
    loaded = modules_after("import omnieval.api")
    assert "omnieval.parsing.letter" in loaded
    assert not loaded & (LIBRARIES | {"omnieval.parsing.careful"})


def test_a_run_is_scored_and_compared_without_the_large_half_of_scipy(tmp_path: Path) -> None:
    loaded = modules_after(
        "from omnieval import api\n"
        f"sides = [{str(tmp_path)!r} + name for name in ('/first', '/second')]\n"
        "for side in sides:\n"
        "    api.run('daily-omni', sample=True, backend='chance', limit=4, out=side, max_frames=1)\n"
        "api.compare(*sides)"
    )
    assert {"omnieval.parsing.careful", "scipy.special"} <= loaded
    assert not loaded & {"scipy.stats", "scipy.signal", "pandas", "pyarrow", "torch"}


def test_no_base_dependency_leads_to_torch() -> None:
    pending, seen = ["omnieval"], set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pending.append(re.sub(r"[-_.]+", "-", requirement.name).lower())
    assert {"httpx", "av", "pydantic", "scipy"} <= seen
    assert "torch" not in seen
