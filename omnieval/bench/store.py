"""A bench on disk: bench.json, and a plain run directory for every run of the recipe.

bench.json        the configuration and the number of repeats; written before anything is asked
cold/             the first run, without warm-up requests
repeats/run-1/... the runs whose figures count
report.json, report.md, report.html  made anew from the runs' own
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from omnieval.config import RunConfig, differences
from omnieval.errors import ConfigError, ScoringError
from omnieval.report.build import Report
from omnieval.report.speech import SpeechReport
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.files import begin_directory, replace_json
from omnieval.runlog.store import exists
from omnieval.runlog.versioned import Versioned, read_versioned
from omnieval.stats.noise import LEAST_RUNS

FORMAT = 1
BENCH, COLD, REPEATS = "bench.json", "cold", "repeats"
# Fewer cannot be told from noise.
LEAST_REPEATS = LEAST_RUNS
# What decides how much work the server has at once, though not what it is asked.
LOAD = ("concurrency", "request_rate")


class BenchInfo(Versioned):
    """bench.json. config: flat, as a recipe would write it."""

    repeats: int = Field(ge=LEAST_REPEATS)
    config: dict[str, Any]


@dataclass(frozen=True)
class BenchRun:
    """One finished run of a bench. name: its place in the bench's directory."""

    name: str
    run: Run
    report: Report | SpeechReport


@dataclass(frozen=True)
class Bench:
    """A bench's directory, for reading."""

    directory: Path
    info: BenchInfo

    @classmethod
    def load(cls, directory: Path | str) -> Bench:
        """Raises ScoringError when the directory holds no bench."""
        absent = f"a bench (no {BENCH} in it); name one that `omnieval bench` wrote"
        info = read_versioned(BenchInfo, Path(directory) / BENCH, FORMAT, absent=absent)
        return cls(Path(directory), info)

    @property
    def names(self) -> list[str]:
        """Of the runs, in asking order: the cold one, then the repeats."""
        return [COLD, *(f"{REPEATS}/run-{number}" for number in range(1, self.info.repeats + 1))]

    def finished(self, name: str) -> BenchRun | None:
        """The run of that name, or None while it has not come to its end and been scored.

        Raises ScoringError for a damaged one.
        """
        place = self.directory / name
        if not exists(place):
            return None
        run = Run.load(place)
        try:
            report = read_report(run)
        except ScoringError:
            return None
        return BenchRun(name, run, report) if report.complete else None


def holds_bench(directory: Path) -> bool:
    """Whether a directory is that of a bench."""
    return (directory / BENCH).is_file()


def repeats_of(place: Path) -> Path:
    """The folder of repetitions in a bench's directory; any other place as it is."""
    return place / REPEATS if holds_bench(place) else place


def begin_or_check(directory: Path, config: RunConfig, repeats: int) -> Bench:
    """The bench of a directory, begun here if there is none; more repeats than it was begun with are added.

    Raises ConfigError where the directory holds another bench, or anything else; StorageError.
    """
    flat = config.flat()
    if holds_bench(directory):
        stored = Bench.load(directory)
        _check_same(stored, config)
        repeats = max(repeats, stored.info.repeats)
    else:
        begin_directory(directory)
    info = BenchInfo(format=FORMAT, repeats=repeats, config=flat)
    replace_json(directory / BENCH, info.model_dump(mode="json"))
    return Bench(directory, info)


def withdraw(bench: Bench) -> None:
    """Undo the beginning of a bench that cannot be run."""
    with suppress(OSError):
        (bench.directory / BENCH).unlink()
        bench.directory.rmdir()


def _check_same(stored: Bench, config: RunConfig) -> None:
    new = config.flat()
    keys = [*config.measured(), *LOAD]
    lines = differences(_chosen(stored.info.config, keys, new), _chosen(new, keys, new))
    if lines:
        listed = "\n".join(f"  {line}" for line in lines)
        raise ConfigError(
            f"{stored.directory} was begun with another configuration:\n{listed}\n"
            "Undo these changes to continue it, or start a new bench in another directory."
        )


def _chosen(flat: Mapping[str, Any], keys: list[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Keys that a later version added count as they are now."""
    return {key: flat.get(key, defaults[key]) for key in keys}
