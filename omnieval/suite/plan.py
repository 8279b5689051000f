"""A suite with the settings of its caller to one configuration a member, all checked before any is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import PATH_VARIABLES, RunConfig, load_recipe
from omnieval.engine.execute import load_askable
from omnieval.errors import ConfigError, MediaError, OmnievalError
from omnieval.recipe_files import find_recipe
from omnieval.report.gate import Gate, early_plan, find_gate, load_gate
from omnieval.settings import configure, flattened
from omnieval.suite.file import SuiteFile, SuiteMember, gathered
from omnieval.suite.places import parse_places, place_of

Settings = Sequence[tuple[str, Any]]
HEARD_LATER = "spoken answers are heard after the run, too late to end it early"


@dataclass(frozen=True)
class PlannedMember:
    """One run of a suite. name: of its folder."""

    name: str
    config: RunConfig


@dataclass(frozen=True)
class SuitePlan:
    """A suite, resolved. gate: name of a bundled one or absolute path; None for a suite without."""

    name: str
    gate: str | None
    members: tuple[PlannedMember, ...]


def plan_suite(
    recipes: Sequence[str | Path],
    overrides: Settings = (),
    *,
    data: Sequence[str] = (),
    sample: bool = False,
    gate: str | None = None,
) -> SuitePlan:
    """Resolve every member.

    overrides: (dotted key, value), for all, or `MEMBER.key` for one. data: as `--data`.

    Raises ConfigError, DataError that names every member that cannot be run as configured.
    """
    name, written = gathered(recipes)
    members = _named(written)
    gate = written.gate if gate is None else _absolute(gate)
    named, folder = _places(written, members, data, sample=sample)
    planned = []
    faults: list[tuple[str, OmnievalError]] = []
    for member, source in members.items():
        try:
            values = [
                *flattened(written.settings),
                *flattened(source.settings),
                *split_overrides(member, members, overrides),
            ]
            place = None if sample else place_of(
                [member, Path(source.recipe).stem], _benchmark(source), named, folder
            )  # fmt: skip
            if place is not None:
                values.append(("data", place))
            config = configure(source.recipe, values, sample=sample)
            planned.append(PlannedMember(member, config))
        except OmnievalError as error:
            faults.append((member, error))
    _raise_all(faults)
    return SuitePlan(name, gate, tuple(_with_gate(planned, gate)))


def check_members(plan: SuitePlan, notify: Callable[[str], None]) -> None:
    """Read every member's data and the gate. Raises ConfigError or DataError naming all that is amiss.

    notify: gets a line for media that are missing, and for a member that cannot end early.
    """
    faults: list[tuple[str, OmnievalError]] = []
    gate = None if plan.gate is None else load_gate(find_gate(plan.gate))
    ends_early = any(member.config.stop_when is not None for member in plan.members)
    for member in plan.members:
        try:
            early_plan(member.config, early_section(member))
            missing, asked = _missing_media(member.config)
            if gate is not None:
                section_lines(gate, member.name, member.config.recipe)
        except OmnievalError as error:
            faults.append((member.name, error))
            continue
        if missing:
            notify(f"{member.name}: the media of {missing} of {asked} samples are missing; they will fail")
        if ends_early and spoken(member.config):
            notify(f"{member.name}: asked whole; {HEARD_LATER}")
    _raise_all(faults)


def early_section(member: PlannedMember) -> str | None:
    """Whose lines of its gate may end a member early, where it is not its recipe; None without an early end.

    Raises ConfigError for a gate that cannot be read.
    """
    config = member.config
    if config.stop_when is None or config.gate is None:
        return None
    return section_of(load_gate(find_gate(config.gate)), member.name, config.recipe)


def spoken(config: RunConfig) -> bool:
    """Whether the answers are sounds, which are heard only after the run."""
    return bool(BENCHMARKS.load(config.benchmark).scoring == "speech")


def split_overrides(name: str, members: Collection[str], overrides: Settings) -> Settings:
    """Of (dotted key, value) those for all members, then those for this one, without its name."""
    for_all, own = [], []
    for key, value in overrides:
        member = max((known for known in members if key.startswith(f"{known}.")), key=len, default=None)
        if member is None:
            for_all.append((key, value))
        elif member == name:
            own.append((key.removeprefix(f"{name}."), value))
    return [*for_all, *own]


def section_of(gate: Gate, member: str, recipe: str) -> str | None:
    """The gate's section for a member: the one of its own name before that of its recipe."""
    return member if member != recipe and member in gate.sections else None


def section_lines(gate: Gate, member: str, recipe: str) -> int:
    """How many lines are for a member. Raises ConfigError where it would pass for want of them."""
    return len(gate.lines(recipe, section_of(gate, member, recipe)))


def _named(written: SuiteFile) -> dict[str, SuiteMember]:
    members: dict[str, SuiteMember] = {}
    for member in written.members:
        assert isinstance(member, SuiteMember)
        name = member.name or Path(member.recipe).stem
        if name in members:
            raise ConfigError(f"the member {name!r} is there twice; give one of them another `name`")
        if not name or name != Path(name).name or name.startswith(".") or "=" in name:
            raise ConfigError(f"{name!r} cannot be a member's name, since it is that of a folder")
        if name in RunConfig.model_fields:
            raise ConfigError(f"{name!r} is a setting, and cannot be a member's name; give another `name`")
        members[name] = member
    return members


def _places(
    written: SuiteFile, members: Mapping[str, SuiteMember], data: Sequence[str], *, sample: bool
) -> tuple[dict[str, str], str | None]:
    """What the suite file, the environment and the command line say of where data lie, the last one first."""
    if sample:
        if data:
            raise ConfigError("give either data folders or the bundled samples, not both")
        return {}, None
    known = {
        *members,
        *(Path(member.recipe).stem for member in members.values()),
        *(_benchmark(member) for member in members.values()),
    }
    variable = next(name for name, key in PATH_VARIABLES.items() if key == "data")
    held = written.data if isinstance(written.data, str) else os.environ.get(variable)
    in_file = [] if written.data is None or isinstance(written.data, str) else [
        f"{name}={place}" for name, place in written.data.items()
    ]  # fmt: skip
    named, folder = parse_places([*in_file, *data], known)
    return named, folder or held


def _with_gate(members: Sequence[PlannedMember], gate: str | None) -> list[PlannedMember]:
    """A member may end early by the suite's gate, unless it is spoken: that one is asked whole.

    Raises ConfigError where --stop-when is for spoken members only.
    """
    early = [member for member in members if member.config.stop_when is not None]
    if early and all(spoken(member.config) for member in early):
        raise ConfigError(f"{', '.join(m.name for m in early)}: {HEARD_LATER}; leave out --stop-when")
    return [
        member if member not in early else PlannedMember(
            member.name,
            member.config.model_copy(
                update={"stop_when": None} if spoken(member.config) else {"gate": member.config.gate or gate}
            ),
        )
        for member in members
    ]  # fmt: skip


def _benchmark(member: SuiteMember) -> str:
    return str(load_recipe(find_recipe(member.recipe)).get("benchmark"))


def _missing_media(config: RunConfig) -> tuple[int, int]:
    """(samples whose media file is not there, samples asked). Raises DataError where all are missing."""
    benchmark, _, chosen = load_askable(config, lambda _: None)
    asked = [sample for sample in chosen if sample.problem is None and sample.gold is not None]
    missing: list[str] = []
    for sample in asked:
        try:
            benchmark.plan(sample)
        except MediaError as error:
            missing.append(str(error))
    if len(missing) == len(asked):
        raise MediaError(f"the media of all {len(asked)} samples are missing, such as {missing[0]}")
    return len(missing), len(asked)


def _raise_all(faults: Sequence[tuple[str, OmnievalError]]) -> None:
    """One error that names every member at fault, of the kind of the first."""
    if not faults:
        return
    told = [f"{name}: {error}" for name, error in faults]
    if any(isinstance(error, ConfigError) for _, error in faults):
        told.append("a setting for one member is written with its name: --set MEMBER.KEY=VALUE")
    raise type(faults[0][1])("\n".join(told))


def _absolute(gate: str) -> str:
    path = Path(gate).expanduser()
    return str(path.absolute()) if path.suffix in (".yaml", ".yml") or len(path.parts) > 1 else gate
