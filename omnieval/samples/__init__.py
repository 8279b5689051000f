"""Tiny real data sets that travel with the package."""

from __future__ import annotations

from pathlib import Path

from omnieval.config import suggest
from omnieval.errors import ConfigError

_FOLDERS = {"daily-omni": "daily_omni"}


def sample_dir(benchmark: str) -> Path:
    """The folder of a benchmark's bundled sample, in the benchmark's own layout.

    Raises ConfigError for a benchmark without one.
    """
    if benchmark not in _FOLDERS:
        raise ConfigError(f"no bundled sample for {benchmark!r}{suggest(benchmark, _FOLDERS)}")
    return Path(__file__).parent / _FOLDERS[benchmark]
