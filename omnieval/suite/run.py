"""Running the members of a suite one after the other, and going on where that stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from omnieval.backends.base import may_be_gone
from omnieval.engine.execute import Execution, Notify
from omnieval.engine.progress import Listener
from omnieval.errors import BackendError, ConfigError, OmnievalError, ScoringError, StorageError
from omnieval.report.speech import SpeechReport
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.files import RESUME, replace_json
from omnieval.runlog.store import exists, new_directory
from omnieval.scored import execute_and_score, score_with
from omnieval.scoring.spoken import Heard
from omnieval.settings import restored
from omnieval.suite.pages import write_report
from omnieval.suite.places import parse_places, place_of
from omnieval.suite.plan import (
    PlannedMember,
    Settings,
    SuitePlan,
    check_members,
    early_section,
    split_overrides,
)
from omnieval.suite.store import PROBLEMS, Suite, begin_or_check

Ending = Literal["finished", "interrupted", "stopped"]
ApiKey = Callable[[PlannedMember], str | None]


@dataclass(frozen=True)
class SuiteExecution:
    """The suite's directory as one call left it. ending: finished, when every member was run or cannot be;
    interrupted by the user; stopped, since the server is gone, as `failure` says."""

    suite: Suite
    ending: Ending
    failure: str | None = None


def run_members(
    plan: SuitePlan,
    *,
    out: Path | None,
    api_key: ApiKey = lambda _: None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    heard: Heard = lambda _done, _total: None,
) -> SuiteExecution:
    """Begin or continue a suite: check all members, then run those that are not finished, in order.

    A member that cannot be run (its data vanished, the server does not serve it) is noted, and the next one
    is run; a server that is gone, a full disk and a signal stop the suite. What was written stays.
    Raises ConfigError, DataError before anything is asked; StorageError.
    """
    check_members(plan, notify)
    moment = time.localtime()
    directory = out or new_directory(plan.members[0].config.runs_dir, f"suite-{plan.name[:60]}", moment)
    suite = begin_or_check(directory, plan)
    notify(f"suite directory: {directory}")
    problems: dict[str, str] = {}
    ending: Ending = "finished"
    failure: str | None = None
    try:
        for number, member in enumerate(plan.members, start=1):
            place = directory / member.name
            notify(f"member {number} of {len(plan.members)}: {member.name}")
            if _is_finished(place, member):
                notify(f"{member.name} was finished before")
                continue
            try:
                execution = execute_and_score(
                    member.config, out=place, gate_section=early_section(member), api_key=api_key(member),
                    listener=listener, notify=notify, heard=heard,
                )  # fmt: skip
            except StorageError:
                raise
            except OmnievalError as error:
                problems[member.name] = str(error)
                if isinstance(error, BackendError) and not error.reached:
                    ending, failure = "stopped", str(error)
                    break
                notify(f"{member.name} cannot be run: {error}")
                continue
            ending, failure = _after(execution)
            if ending != "finished":
                break
            if execution.end.failure is not None:
                problems[member.name] = f"stopped: {execution.end.failure.message}"
    finally:
        replace_json(directory / PROBLEMS, problems, then=RESUME)
        write_report(suite)
    return SuiteExecution(suite, ending, failure)


def resumed(directory: Path | str, overrides: Settings = (), data: Sequence[str] = ()) -> SuitePlan:
    """The plan of a suite's directory, with settings that may change, and data that lie elsewhere now.

    data: as `--data`. Raises ScoringError, ConfigError, DataError.
    """
    suite = Suite.load(directory)
    places = _places(suite, data)
    members = []
    for stored in suite.info.members:
        values = split_overrides(stored.name, suite.names, overrides)
        place = places(stored.name)
        config = restored(stored.config, [*values, ("data", place)] if place else values)
        members.append(PlannedMember(stored.name, config))
    return SuitePlan(suite.info.name, suite.info.gate, tuple(members))


def _places(suite: Suite, data: Sequence[str]) -> Callable[[str], str | None]:
    """Where the data of a member lie, by its name, as `--data` says; None where it says nothing."""
    configs = {member.name: member.config for member in suite.info.members}
    names = {name: [name, str(config["recipe"])] for name, config in configs.items()}
    benchmarks = {name: str(config["benchmark"]) for name, config in configs.items()}
    known = {*benchmarks.values(), *(part for parts in names.values() for part in parts)}
    named, folder = parse_places(data, known)
    return lambda name: place_of(names[name], benchmarks[name], named, folder)


def score_members(
    suite: Suite,
    *,
    parser: str | None = None,
    data: Sequence[str] = (),
    overrides: Sequence[tuple[str, Any]] = (),
    heard: Heard = lambda _done, _total: None,
    notify: Notify = lambda _: None,
) -> dict[str, str]:
    """Score every member that was begun and write the report anew; why some could not be scored, by name.

    parser: for members with letters. data: as `--data`, where the reference voices of spoken members lie now.
    overrides: recogniser and similarity, for spoken members, or `MEMBER.key` for one.
    Raises ConfigError for what concerns no member, StorageError.
    """
    faults: dict[str, str] = {}
    places = _places(suite, data)
    runs = suite.runs()
    speaking = {name for name, run in runs.items() if run.info.get("scoring") == "speech"}
    if runs and not speaking and (overrides or data):
        given = ", ".join([key for key, _ in overrides] or ["data"])
        raise ConfigError(
            f"{suite.directory}: no member that was begun is spoken, and only speech takes {given}"
        )
    if runs and len(speaking) == len(runs) and parser is not None:
        raise ConfigError(
            f"{suite.directory}: all members that were begun are spoken, without letters to parse"
        )
    for name, run in runs.items():
        notify(f"scoring {name}")
        spoken = name in speaking
        try:
            score_with(
                run,
                parser=None if spoken else parser,
                data=places(name) if spoken else None,
                heard=heard,
                overrides=split_overrides(name, suite.names, overrides) if spoken else (),
            )
        except StorageError:
            raise
        except OmnievalError as error:
            faults[name] = str(error)
    write_report(suite)
    return faults


def _after(execution: Execution) -> tuple[Ending, str | None]:
    """Whether the next member may be run after this one."""
    end = execution.end
    if end.reason == "interrupted":
        return "interrupted", None
    if end.failure is not None and may_be_gone(end.failure):
        hint = f" ({end.failure.hint})" if end.failure.hint else ""
        return "stopped", f"{end.failure.message}{hint}"
    return "finished", None


def _is_finished(place: Path, member: PlannedMember) -> bool:
    """Whether a member has an answer for every sample, and the figures that its run is to give."""
    if not exists(place):
        return False
    try:
        report = read_report(Run.load(place))
    except ScoringError:
        return False
    if isinstance(report, SpeechReport) and report.recogniser is None:
        return report.complete and not report.failures and member.config.flat()["score"] == "later"
    return report.complete and not report.failures
