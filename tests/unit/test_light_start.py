"""The base install is light: help needs no heavy library, and no dependency leads to torch."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement

from tests.command import environment

HEAVY = {
    "numpy", "scipy", "av", "PIL", "httpx", "pydantic", "yaml", "torch", "faster_whisper", "ctranslate2",
    "omnieval.api", "omnieval.engine", "omnieval.media",
}  # fmt: skip
# typer, click and rich with what they import of the standard library; a heavy library alone adds hundreds.
MOST_MODULES = 420

SHOW = "import sys, atexit; atexit.register(lambda: print('MODULES', *sys.modules)); sys.argv = {argv!r}\n"


def modules_loaded_by(*arguments: str) -> set[str]:
    code = SHOW.format(argv=["omnieval", *arguments]) + "from omnieval.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
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
