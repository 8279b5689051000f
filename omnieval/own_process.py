"""A module of this very package as a process of its own, however the package was found by this one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import omnieval


def command(module: str, *arguments: str) -> list[str]:
    """Runs `module`, such as `omnieval.media.worker`; files of the working folder are no modules to it."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """That of this process, with the package on the search path."""
    parent = str(Path(omnieval.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [parent, os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path}
