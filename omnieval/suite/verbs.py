"""What is done with suites from Python; `omnieval.api` has these verbs beside its others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omnieval.engine.execute import Notify
from omnieval.engine.progress import Listener
from omnieval.errors import ScoringError
from omnieval.scoring.spoken import Heard
from omnieval.settings import flattened
from omnieval.suite.gate import SuiteGateResult, judge_suite
from omnieval.suite.pages import write_report
from omnieval.suite.plan import plan_suite
from omnieval.suite.report import SuiteReport, build_suite_report
from omnieval.suite.run import resumed, run_members, score_members
from omnieval.suite.store import Suite


def run_suite(
    recipes: str | Path | Sequence[str | Path],
    *,
    out: Path | str | None = None,
    sample: bool = False,
    data: str | Path | Mapping[str, str | Path] | None = None,
    gate: str | Path | None = None,
    members: Mapping[str, Mapping[str, Any]] | None = None,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> Suite:
    """Run several recipes as one, or a suite by its name or file, and score them.

    out: the suite's directory; one that holds the same suite is continued. data: one folder that holds all
    data sets under their usual names, or one by member. gate: instead of the suite's own. members: settings
    of single members, by name; settings: for all. The others are as for `run`.
    Returns the suite's directory; `load_suite_report` reads what came of it. A member that cannot be run does
    not end it, a server that is gone does.
    Raises ConfigError, DataError before anything is asked, StorageError.
    """
    names = [recipes] if isinstance(recipes, str | Path) else list(recipes)
    plan = plan_suite(
        names,
        _of_members(settings, members),
        data=_places(data),
        sample=sample,
        gate=None if gate is None else str(gate),
    )
    return run_members(
        plan,
        out=None if out is None else Path(out).expanduser(),
        api_key=lambda _: api_key,
        listener=listener,
        notify=notify,
    ).suite


def resume_suite(
    directory: Path | str,
    *,
    data: str | Path | Mapping[str, str | Path] | None = None,
    members: Mapping[str, Mapping[str, Any]] | None = None,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> Suite:
    """Continue a suite where it stopped: members that are finished stay as they are; see `resume`.

    data: where data sets lie that were moved since. data and members are as for `run_suite`.
    """
    plan = resumed(directory, _of_members(settings, members), _places(data))
    return run_members(
        plan, out=Path(directory), api_key=lambda _: api_key, listener=listener, notify=notify
    ).suite


def score_suite(
    suite: Suite | Path | str,
    *,
    parser: str | None = None,
    data: str | Path | Mapping[str, str | Path] | None = None,
    members: Mapping[str, Mapping[str, Any]] | None = None,
    heard: Heard = lambda _done, _total: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> SuiteReport:
    """Score every member of a suite that was begun, as `score` does, and write the suite's report.

    parser: for members with letters; the rest is for spoken ones: data, where the reference voices lie now,
    and members, as for `run_suite`; heard and settings, as for `score`. notify: is told each member.
    Raises ScoringError naming the members that could not be scored, after all others were; ConfigError,
    StorageError.
    """
    loaded = suite if isinstance(suite, Suite) else Suite.load(suite)
    faults = score_members(
        loaded,
        parser=parser,
        data=_places(data),
        overrides=_of_members(settings, members),
        heard=heard,
        notify=notify,
    )
    if faults:
        raise ScoringError("; ".join(f"{name}: {told}" for name, told in faults.items()))
    return build_suite_report(loaded)


def load_suite_report(suite: Suite | Path | str) -> SuiteReport:
    """The combined report of a suite, from its members' reports as last written. Raises ScoringError."""
    return build_suite_report(suite if isinstance(suite, Suite) else Suite.load(suite))


def gate_suite(suite: Suite | Path | str, gate: Path | str | None = None) -> SuiteGateResult:
    """Judge every member of a suite by the lines for it; gate: None for the suite's own. See `gate`."""
    loaded = suite if isinstance(suite, Suite) else Suite.load(suite)
    result = judge_suite(loaded, gate)
    if result.not_kept is None:
        write_report(loaded)
    return result


def _of_members(
    settings: Mapping[str, Any], members: Mapping[str, Mapping[str, Any]] | None
) -> list[tuple[str, Any]]:
    overrides = list(flattened(settings))
    for name, given in (members or {}).items():
        overrides += [(f"{name}.{key}", value) for key, value in flattened(given)]
    return overrides


def _places(data: str | Path | Mapping[str, str | Path] | None) -> list[str]:
    """As `--data` would be typed."""
    if isinstance(data, Mapping):
        return [f"{name}={place}" for name, place in data.items()]
    return [] if data is None else [str(data)]
