"""A suite on disk: suite.json, a run directory for every member, and what was made of them together.

suite.json    name, gate, members with their resolved configurations; written before anything is asked
problems.json members that could not be run when the suite was last run, and why
{member}/     plain run directories
report.json, report.md, gate.json  made anew from the members' own
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from omnieval.config import RunConfig, differences
from omnieval.errors import ConfigError
from omnieval.runlog import Run
from omnieval.runlog.files import begin_directory, replace_json
from omnieval.runlog.store import exists
from omnieval.runlog.versioned import Versioned, read_versioned
from omnieval.suite.plan import SuitePlan

FORMAT = 1
SUITE, PROBLEMS = "suite.json", "problems.json"


class StoredMember(BaseModel):
    """config: flat, as a recipe would write it."""

    name: str
    config: dict[str, Any]


class SuiteInfo(Versioned):
    """suite.json."""

    name: str
    gate: str | None
    started: str
    members: list[StoredMember]


@dataclass(frozen=True)
class Suite:
    """A suite's directory, for reading."""

    directory: Path
    info: SuiteInfo

    @classmethod
    def load(cls, directory: Path | str) -> Suite:
        """Raises ScoringError when the directory holds no suite."""
        absent = f"a suite (no {SUITE} in it)"
        info = read_versioned(SuiteInfo, Path(directory) / SUITE, FORMAT, absent=absent)
        return cls(Path(directory), info)

    @property
    def names(self) -> list[str]:
        """Of the members, in asking order."""
        return [member.name for member in self.info.members]

    def runs(self) -> dict[str, Run]:
        """The members that were begun, by name. Raises ScoringError for a damaged one."""
        begun = [name for name in self.names if exists(self.directory / name)]
        return {name: Run.load(self.directory / name) for name in begun}

    def problems(self) -> Mapping[str, str]:
        """Why members could not be run, by name."""
        try:
            return TypeAdapter(dict[str, str]).validate_json((self.directory / PROBLEMS).read_bytes())
        except (FileNotFoundError, ValidationError):
            return {}


def holds_suite(directory: Path) -> bool:
    """Whether a directory is that of a suite."""
    return (directory / SUITE).is_file()


def member_of(directory: Path) -> tuple[Suite, StoredMember] | None:
    """The suite that a run directory is a member of, and as which; None for a run that stands alone.

    Raises ScoringError for a damaged suite.
    """
    place = directory.resolve()
    if not holds_suite(place.parent):
        return None
    suite = Suite.load(place.parent)
    return next(((suite, member) for member in suite.info.members if member.name == place.name), None)


def common_members(directories: Sequence[Path]) -> list[str]:
    """The members that were begun in each of these suites, in the first one's order.

    Raises ConfigError for a directory that holds no suite, or where they have none in common.
    """
    for directory in directories:
        if not holds_suite(directory):
            member = f"{directories[0]}/{Suite.load(directories[0]).names[0]}"
            raise ConfigError(
                f"{directory}: not the directory of a suite (no {SUITE} in it); compare suites with suites, "
                f"and a run with a member by its name, such as {member}"
            )
    begun = [list(Suite.load(directory).runs()) for directory in directories]
    names = [name for name in begun[0] if all(name in others for others in begun[1:])]
    if not names:
        raise ConfigError(
            f"{' and '.join(map(str, directories))}: no member that was begun in all; their members are "
            + " and ".join(", ".join(members) or "none" for members in begun)
        )
    return names


def compared_pairs(places: Sequence[Path]) -> list[tuple[Path, Path]]:
    """What is compared with what: every further place with the first one, suites member by member."""
    first, *others = places
    if not holds_suite(first):
        return [(first, other) for other in others]
    return [(first / name, other / name) for name in common_members(places) for other in others]


def alone_members(directories: Sequence[Path]) -> list[str]:
    """`SUITE/MEMBER` of every member that was not begun in all of these suites."""
    common = common_members(directories)
    return [
        f"{directory}/{name}"
        for directory in directories
        for name in Suite.load(directory).runs()
        if name not in common
    ]


def begin_or_check(directory: Path, plan: SuitePlan) -> Suite:
    """The suite of a directory, begun here if there is none.

    Raises ConfigError where the directory holds another suite, or anything else; StorageError.
    """
    if holds_suite(directory):
        suite = Suite.load(directory)
        _check_same(suite, plan)
        return suite
    begin_directory(directory)
    info = SuiteInfo(
        format=FORMAT,
        name=plan.name,
        gate=plan.gate,
        started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        members=[StoredMember(name=member.name, config=member.config.flat()) for member in plan.members],
    )
    replace_json(directory / SUITE, info.model_dump(mode="json"))
    return Suite(directory, info)


def _check_same(suite: Suite, plan: SuitePlan) -> None:
    names = [member.name for member in plan.members]
    if suite.names != names:
        raise ConfigError(
            f"{suite.directory} holds a suite of {', '.join(suite.names)}, not of {', '.join(names)}; give "
            "another --out"
        )
    for stored, member in zip(suite.info.members, plan.members, strict=True):
        lines = differences(_measured(stored.config, member.config), member.config.measured())
        if lines:
            listed = "\n".join(f"  {member.name}.{line}" for line in lines)
            raise ConfigError(
                f"{suite.directory} was begun with another configuration:\n{listed}\n"
                "Undo these changes to resume it, or start a new suite in another directory."
            )


def _measured(stored: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:
    """The stored keys that decide what is measured; keys of a later version count as they are now."""
    return {key: stored.get(key, value) for key, value in config.measured().items()}
