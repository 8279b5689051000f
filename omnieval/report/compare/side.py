"""One side of a comparison: a run, or a folder of its repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from omnieval.errors import ConfigError
from omnieval.report.build import Report
from omnieval.report.latency import Distribution
from omnieval.report.speech import SpeechReport
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.store import exists


@dataclass(frozen=True)
class Side:
    """run: whose answers are compared, with its report. latencies: the figures of every run whose times
    count; cold: whether the first one was left out of them, since it sent no warm-up requests."""

    run: Run
    report: Report | SpeechReport
    latencies: tuple[Mapping[str, Distribution], ...]
    cold: bool = False

    @property
    def name(self) -> str:
        return self.run.name


def load_side(path: Path) -> Side:
    """A run directory, or a folder of nothing but repetitions of one run.

    Of repetitions the first one's answers are compared, and the times of all; those of the first are left out
    where it may have met a cold server. Raises ScoringError where there is no scored run, ConfigError where
    the runs of a folder are not repetitions of each other.
    """
    if exists(path) or not path.is_dir():
        return _single(Run.load(path))
    runs = [Run.load(folder) for folder in sorted(path.iterdir()) if exists(folder)]
    if not runs:
        return _single(Run.load(path))
    first, *others = sorted(runs, key=lambda run: (str(run.info["started"]), run.directory.name))
    for other in others:
        if _measure(other) != _measure(first):
            raise ConfigError(
                f"{path}: {first.directory.name} and {other.directory.name} are not repetitions of one run "
                "(they differ in data, model or settings); name single runs instead"
            )
    side = _single(first)
    if not others:
        return side
    repeated = [read_report(run).latency for run in others]
    cold = not first.config.get("warmup", 0)
    latencies = repeated if cold else [*side.latencies, *repeated]
    return Side(first, side.report, tuple(latencies), cold)


def _single(run: Run) -> Side:
    report = read_report(run)
    return Side(run, report, (report.latency,))


def _measure(run: Run) -> tuple[object, ...]:
    model = run.info["server"].get("model") or run.config["model"]
    return run.info["recipe_hash"], run.info["dataset"]["fingerprint"], model
