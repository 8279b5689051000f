"""What a run was made with: versions of the program and its parts, and the client's machine."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import omnieval
from omnieval.types import JsonDict

# Packages that can move a score: decoding, encoding, numbers, and the embedded recogniser.
_PACKAGES = ("av", "httpx", "numpy", "pillow", "scipy", "faster-whisper", "ctranslate2")


def versions() -> JsonDict:
    """Versions of omnieval (with the commit, in a source checkout), Python and the packages installed."""
    found: JsonDict = {"omnieval": omnieval.__version__, "python": platform.python_version()}
    commit = _commit()
    if commit:
        found["commit"] = commit
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def hardware() -> JsonDict:
    """The machine that ran the client: system, processor, cores, memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
    }


def _commit() -> str | None:
    root = Path(omnieval.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
