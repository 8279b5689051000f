"""Running a recipe several times, and going on where that stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from omnieval.bench.against import require_same_data
from omnieval.bench.files import write_report
from omnieval.bench.report import BenchReport
from omnieval.bench.store import COLD, LEAST_REPEATS, Bench, begin_or_check, holds_bench, withdraw
from omnieval.config import RunConfig
from omnieval.engine.begin import run_name
from omnieval.engine.deployment import require_ready
from omnieval.engine.execute import Execution, Notify
from omnieval.engine.fill import fill_cache
from omnieval.engine.progress import Listener
from omnieval.engine.signals import run_to_end
from omnieval.errors import BackendError, ConfigError, DataError, ScoringError, StorageError
from omnieval.runlog import Run
from omnieval.runlog.store import exists, new_directory
from omnieval.scored import execute_and_score, score_with
from omnieval.scoring.spoken import Heard
from omnieval.settings import configure, restored
from omnieval.wording import as_typed, counted


@dataclass(frozen=True)
class BenchExecution:
    """The bench's directory as one call left it. ending: finished, when every run is; interrupted by the
    user; stopped, since the server is gone or refuses, as `failure` says."""

    bench: Bench
    ending: Literal["finished", "interrupted", "stopped"]
    failure: str | None = None


def plan_bench(
    recipe: str | Path, overrides: Sequence[tuple[str, Any]] = (), *, sample: bool = False
) -> RunConfig:
    """The configuration of a bench. Raises ConfigError for one whose runs would not be repetitions."""
    return _repeatable(configure(recipe, overrides, sample=sample))


def resumed(directory: Path | str, overrides: Sequence[tuple[str, Any]] = ()) -> tuple[RunConfig, int]:
    """The configuration of a bench's directory, with settings that may change, and its number of repeats.

    Raises ScoringError, ConfigError.
    """
    bench = Bench.load(directory)
    return _repeatable(restored(bench.info.config, overrides)), bench.info.repeats


def run_bench(
    config: RunConfig,
    *,
    repeats: int = LEAST_REPEATS,
    out: Path | None = None,
    against: Bench | None = None,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    heard: Heard = lambda _done, _total: None,
) -> BenchExecution:
    """Begin or continue a bench: prepare all media, then one cold run, then the repeats.

    Runs that are finished stay as they are; one that was interrupted is continued. against: a bench that
    must have asked the same data.
    Raises ConfigError, DataError before anything is asked; BackendError, StorageError.
    """
    if repeats < LEAST_REPEATS:
        raise ConfigError(
            f"{counted(repeats, 'repeat', 'repeats')}: at least {LEAST_REPEATS} are needed, since fewer "
            "cannot be told from noise"
        )
    directory = out or new_directory(config.runs_dir, f"bench-{run_name(config)}", time.localtime())
    begun = not holds_bench(directory)
    bench = begin_or_check(directory, config, repeats)
    notify(f"bench directory: {bench.directory}")
    missing = [name for name in bench.names if bench.finished(name) is None]
    ending: Literal["finished", "interrupted", "stopped"] = "finished"
    failure: str | None = None
    if missing:
        try:
            if against is not None:
                require_same_data(config, against)
            run_to_end(lambda: require_ready(config, api_key))
            notify("preparing all media first, so that no request waits for them")
            filled = fill_cache(config, listener=listener, notify=lambda _: None)
        except KeyboardInterrupt:  # what is ready stays
            return BenchExecution(bench, "interrupted")
        except (ConfigError, DataError, BackendError):
            if begun:
                withdraw(bench)
            raise
        for lost in filled.failures:
            notify(f"media failed: {lost.message}")
    try:
        for name in missing:
            notify(f"run {bench.names.index(name) + 1} of {len(bench.names)}: {name}")
            try:
                execution = execute_and_score(
                    _config_of(name, bench, config), out=bench.directory / name, api_key=api_key,
                    listener=listener, notify=notify, heard=heard,
                )  # fmt: skip
            except BackendError as error:
                if not any(bench.finished(other) for other in bench.names):
                    raise
                ending, failure = "stopped", str(error)
            else:
                ending, failure = _after(execution)
            if ending != "finished":
                break
    except StorageError as error:  # there is no place for a report either
        raise StorageError(f"{error}; to continue: omnieval bench --resume {as_typed(directory)}") from error
    except BaseException:
        _write_report(bench)
        raise
    _write_report(bench)
    return BenchExecution(bench, ending, failure)


def score_bench(
    bench: Bench,
    *,
    parser: str | None = None,
    data: Path | str | None = None,
    overrides: Sequence[tuple[str, Any]] = (),
    heard: Heard = lambda _done, _total: None,
    notify: Notify = lambda _: None,
) -> BenchReport:
    """Score every run that has begun again, each as `omnieval.scored.score_with` does, and write the report.

    Raises as that does, and ScoringError where no run is finished.
    """
    for name in bench.names:
        if exists(bench.directory / name):
            notify(f"scoring {name}")
            run = Run.load(bench.directory / name)
            score_with(run, parser=parser, data=data, heard=heard, overrides=overrides)
    return write_report(bench)


def _write_report(bench: Bench) -> None:
    """Where any run is finished."""
    with suppress(ScoringError):
        write_report(bench)


def _repeatable(config: RunConfig) -> RunConfig:
    if config.concurrency == "auto":
        raise ConfigError(
            "a bench compares runs under the same load: give --concurrency N instead of auto (a run with "
            "auto tells which N)"
        )
    if config.stop_when is not None:
        raise ConfigError("a bench asks the same in every run: leave out stop_when")
    return config


def _config_of(name: str, bench: Bench, config: RunConfig) -> RunConfig:
    """The cold run has nothing before its first request that could warm the server. The preflight asks once,
    before the first repeat."""
    changes: dict[str, Any] = {}
    if name == COLD:
        changes["warmup"] = 0
    if name != bench.names[1]:
        changes["preflight"] = "never"
    return config.model_copy(update=changes)


def _after(execution: Execution) -> tuple[Literal["finished", "interrupted", "stopped"], str | None]:
    """Whether the next run may follow this one."""
    end = execution.end
    if end.failure is not None:
        hint = f" ({end.failure.hint})" if end.failure.hint else ""
        return "stopped", f"{end.failure.message}{hint}"
    return ("interrupted" if end.reason == "interrupted" else "finished"), None
