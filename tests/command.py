"""The command line as a real process, with a clean environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_STEERING = ("OMNIEVAL_", "OPENAI_", "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


def environment(**extra: str) -> dict[str, str]:
    """The environment without anything that would steer omnieval, plus `extra`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_STEERING)}
    return kept | {"COLUMNS": "160", "PYTHONUNBUFFERED": "1"} | extra


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "omnieval", *map(str, arguments)]


def omnieval(
    *arguments: str | Path, cwd: Path | None = None, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run to the end; output as text."""
    return subprocess.run(
        command(*arguments), env=environment(**extra), cwd=cwd, capture_output=True, text=True, timeout=250
    )


def start(*arguments: str | Path, **extra: str) -> subprocess.Popen[str]:
    """Start and return at once; stdout and stderr are joined."""
    return subprocess.Popen(
        command(*arguments),
        env=environment(**extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def report(directory: Path) -> dict[str, Any]:
    """report.json without what differs between any two runs: names, times, latencies."""
    content: dict[str, Any] = json.loads((directory / "report.json").read_text())
    return {key: value for key, value in content.items() if key not in ("run", "latency")}


def lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON lines file."""
    return [json.loads(line) for line in path.read_text().splitlines()]
