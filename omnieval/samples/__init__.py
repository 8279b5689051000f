"""Tiny real data sets that travel with the package."""

from __future__ import annotations

from pathlib import Path

from omnieval.errors import ConfigError
from omnieval.wording import suggest

# By recipe or benchmark.
_FOLDERS = {
    "daily-omni": "daily_omni",
    "video-mme": "video_mme",
    "mcq-pictures": "mcq_pictures",
    "mcq-sounds": "mcq_sounds",
    "seed-tts": "seed_tts",
}


# What a sample needs set so that it is scored at once, with what packages carry.
_SETTINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "seed-tts": (
        ("score", "now"),
        ("recogniser.name", "faster-whisper"),
        ("similarity.encoder", "ge2e"),
    ),
}


def sample_settings(benchmark: str) -> list[tuple[str, str]]:
    """(dotted key, value) of the settings that a bundled sample is run with; what a user gives wins."""
    return list(_SETTINGS.get(benchmark, ()))


def sample_dir(benchmark: str, recipe: str | None = None) -> Path:
    """The folder of the bundled sample of a recipe, or else of a benchmark, in the benchmark's own layout.

    Raises ConfigError for a benchmark without one.
    """
    name = recipe if recipe in _FOLDERS else benchmark
    if name not in _FOLDERS:
        raise ConfigError(f"no bundled sample for {benchmark!r}{suggest(benchmark, _FOLDERS)}")
    return Path(__file__).parent / _FOLDERS[name]
