"""From a configuration to a diagnosis on disk: plan, ask, judge, write."""

from __future__ import annotations

from pathlib import Path

from omnieval.config import RunConfig
from omnieval.diagnose.findings import Diagnosis, build_diagnosis
from omnieval.diagnose.run import LadderExecution, run_ladder
from omnieval.diagnose.rungs import plan_ladder
from omnieval.diagnose.store import write_diagnosis
from omnieval.engine.execute import Notify
from omnieval.engine.progress import Listener


def diagnose(
    config: RunConfig,
    *,
    out: Path | None = None,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
) -> tuple[Diagnosis, LadderExecution]:
    """Plan the ladder of a configuration, ask what is missing, and write what that tells.

    Raises what `plan_ladder` and `run_ladder` do.
    """
    ladder = plan_ladder(config, notify)
    execution = run_ladder(ladder, out=out, api_key=api_key, listener=listener, notify=notify)
    diagnosis = build_diagnosis(ladder, execution)
    write_diagnosis(diagnosis, execution.directory)
    return diagnosis, execution
