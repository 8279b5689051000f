"""Climbing the ladder: one plain run a rung, in one directory, and going on where that stopped."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from omnieval.backends.base import may_be_gone
from omnieval.diagnose.rungs import Ladder
from omnieval.engine.deployment import require_ready
from omnieval.engine.execute import Notify
from omnieval.engine.progress import Listener
from omnieval.engine.signals import run_to_end
from omnieval.errors import BackendError, ConfigError, DataError, MediaError, OmnievalError, StorageError
from omnieval.runlog.files import begin_directory, replace_json
from omnieval.runlog.store import exists, new_directory
from omnieval.scored import execute_and_score
from omnieval.wording import as_typed

DIAGNOSIS = "diagnose.json"
# Lines of a run that are said once of all rungs.
_OF_ONE_RUN = ("run directory", "media go as file://")


@dataclass(frozen=True)
class LadderExecution:
    """The directory as one call left it. ending: finished; interrupted by the user; stopped in the rung
    `stopped_at`, since the server is gone, as `failure` says. refused: (rung, why it could not be begun)."""

    directory: Path
    ending: Literal["finished", "interrupted", "stopped"]
    stopped_at: str | None = None
    failure: str | None = None
    refused: tuple[tuple[str, str], ...] = ()


def run_ladder(
    ladder: Ladder,
    *,
    out: Path | None = None,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
) -> LadderExecution:
    """Ask every rung what it has no answer to yet, from the simplest one up.

    out: the diagnosis' directory; one that holds the same is continued. A server that is gone, and a signal,
    end it; what was written stays. Raises ConfigError where `out` holds anything else, BackendError where no
    rung could be begun, which leaves nothing behind, StorageError.
    """
    run_to_end(lambda: require_ready(ladder.recipe, api_key, ladder.folders, notify))
    directory = _begin(ladder, out)
    notify(f"directory: {directory}")
    try:
        return _climb(ladder, directory, api_key, listener, notify)
    except StorageError as error:
        raise StorageError(
            f"{error}; to continue: the same command with --out {as_typed(directory)}"
        ) from error
    except OmnievalError:
        _leave_no_trace(directory)
        raise


def _climb(
    ladder: Ladder, directory: Path, api_key: str | None, listener: Listener, notify: Notify
) -> LadderExecution:
    begun = 0
    refused: list[tuple[str, str]] = []
    rungs = [rung for rung in ladder.rungs if rung.config is not None]
    for number, rung in enumerate(rungs, start=1):
        assert rung.config is not None
        notify(f"rung {number} of {len(rungs)}: {rung.name} ({rung.title})")
        try:
            execution = execute_and_score(
                rung.config, out=directory / rung.name, api_key=api_key, listener=listener,
                notify=lambda line: None if line.startswith(_OF_ONE_RUN) else notify(line),
            )  # fmt: skip
        except BackendError as error:
            if not begun:
                raise
            if not error.reached:
                return LadderExecution(directory, "stopped", rung.name, str(error), tuple(refused))
            refused.append((rung.name, str(error)))
            continue
        except (DataError, MediaError) as error:
            refused.append((rung.name, str(error)))
            continue
        except KeyboardInterrupt:  # while no request was out
            return LadderExecution(directory, "interrupted", rung.name, refused=tuple(refused))
        begun += 1
        failure = execution.end.failure
        if execution.end.reason == "interrupted":
            return LadderExecution(directory, "interrupted", rung.name, refused=tuple(refused))
        if failure is not None and may_be_gone(failure):
            hint = f" ({failure.hint})" if failure.hint else ""
            told = f"{failure.message}{hint}"
            return LadderExecution(directory, "stopped", rung.name, told, tuple(refused))
    return LadderExecution(directory, "finished", refused=tuple(refused))


def _begin(ladder: Ladder, out: Path | None) -> Path:
    directory = out or new_directory(
        ladder.recipe.runs_dir, f"diagnose-{ladder.recipe.recipe[:60]}", time.localtime()
    )
    if exists(directory):
        raise ConfigError(f"{directory}: holds a single run; give a new directory with --out")
    if not (directory / DIAGNOSIS).exists():
        begin_directory(directory)
        replace_json(directory / DIAGNOSIS, {"recipe": ladder.recipe.recipe})
    return directory


def _leave_no_trace(directory: Path) -> None:
    """Remove a directory in which nothing was begun."""
    with contextlib.suppress(OSError):
        if [path.name for path in directory.iterdir()] == [DIAGNOSIS]:
            (directory / DIAGNOSIS).unlink()
            directory.rmdir()
