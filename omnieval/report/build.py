"""A run's files to one Report: every row of the data set counted once, every number traceable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from omnieval.report.accounting import Count, FailureRow, accounting, failure_rows, identity, notes
from omnieval.report.audit import (
    Disagreement,
    HealthRow,
    LetterRow,
    RuleRow,
    chance,
    disagreements,
    health_rows,
    letter_rows,
    rule_rows,
    unhealthy,
)
from omnieval.report.busy import BusyRow, busy_lines, busy_rows
from omnieval.report.companions import Companion, companions
from omnieval.report.denominators import SCORED, official, strict
from omnieval.report.early import EarlyEnd
from omnieval.report.latency import Distribution, answered_latency
from omnieval.report.proportion import Proportion
from omnieval.report.reference import Reference, ReferenceTable
from omnieval.report.servers import ServerRow, server_rows
from omnieval.report.stages import StageRow, stage_lines, stage_rows
from omnieval.runlog import PlannedSample, Run
from omnieval.scoring.rotations import Pair, folded
from omnieval.types import Response, Score

_SHOWN_IDS = 5


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One value of a group. official counts answered questions only, strict every question asked for;
    reference is the (correct, total) of the first known result that has this value."""

    value: str
    official: Proportion
    strict: Proportion
    reference: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One known result. caveat says why it must not be compared as it stands, or is None."""

    name: str
    accuracy: float
    correct: int | None
    total: int | None
    caveat: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reader of a run needs; `report.json` is this, field by field.

    run: what identifies the run. headline: the settings without which the score cannot be compared.
    accounting adds up to `rows`, the rows of the data set. complete: every selected row has an outcome.
    each_asking: where questions are asked in several orders, the accuracy of the single askings; the other
    figures count questions. rules, disagreements, letters, health, unhealthy: see `audit`. chance: the
    accuracy of guessing. companions: runs beside this one that differ in one telling setting.
    early: what a run with `stop_when: gate` has decided, where not all was asked.
    """

    run: Mapping[str, Any]
    headline: Mapping[str, str]
    parser: str
    rows: int
    complete: bool
    official: Proportion
    strict: Proportion
    accounting: tuple[Count, ...]
    groups: Mapping[str, tuple[GroupRow, ...]]
    references: tuple[ReferenceRow, ...]
    failures: tuple[FailureRow, ...]
    notes: tuple[str, ...]
    latency: Mapping[str, Distribution]
    each_asking: Proportion | None = None
    rules: tuple[RuleRow, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    letters: tuple[LetterRow, ...] = ()
    health: tuple[HealthRow, ...] = ()
    unhealthy: Proportion | None = None
    chance: float | None = None
    companions: tuple[Companion, ...] = ()
    servers: tuple[ServerRow, ...] = ()
    busy: tuple[BusyRow, ...] = ()
    stages: tuple[StageRow, ...] = ()
    early: EarlyEnd | None = None
    kind: Literal["choice"] = "choice"


def build_report(
    run: Run,
    planned: Sequence[PlannedSample],
    scores: Sequence[Score],
    responses: Mapping[str, Response],
    references: ReferenceTable | None,
    *,
    parser: str,
    early: EarlyEnd | None = None,
) -> Report:
    """Count a scored run. planned: the rows of the data set. scores: one of each, in their order."""
    askings = list(zip(planned, scores, strict=True))
    pairs = folded(askings)
    every = scores
    scores = [score for _, score in pairs]
    known = references.results if references else ()
    busy, stages = busy_rows(run), stage_rows(responses.values())
    return Report(
        run=identity(run),
        headline=run.info["headline"],
        parser=parser,
        rows=len(pairs),
        complete=not any(score.details.get("reason") == "not finished" for score in every),
        official=official(pairs),
        strict=strict(pairs),
        accounting=accounting(scores, always=SCORED),
        groups={key: _group_rows(key, pairs, known) for key in run.info["group_keys"]},
        references=_reference_rows(run, pairs, references),
        failures=failure_rows(pairs, responses),
        notes=(*notes(run, responses, every), *busy_lines(busy), *stage_lines(stages)),
        latency=answered_latency(responses.values()),
        each_asking=official(askings) if len(every) > len(pairs) else None,
        rules=rule_rows(askings, parser),
        disagreements=disagreements(askings, responses),
        letters=letter_rows(askings),
        health=health_rows(askings),
        unhealthy=unhealthy(askings),
        chance=chance(askings),
        companions=companions(run, parser),
        servers=server_rows(responses.values()),
        busy=busy,
        stages=stages,
        early=early,
    )


def _group_rows(key: str, pairs: Sequence[Pair], references: Sequence[Reference]) -> tuple[GroupRow, ...]:
    members: dict[str, list[Pair]] = defaultdict(list)
    for planned, score in pairs:
        members[planned.sample.groups.get(key, "unknown")].append((planned, score))
    rows = []
    for value in sorted(members):
        asked = strict(members[value])
        if asked.total:
            reference = next(
                (r.groups[key][value] for r in references if value in r.groups.get(key, {})), None
            )
            rows.append(GroupRow(value, official(members[value]), asked, reference))
    return tuple(rows)


def _reference_rows(
    run: Run, pairs: Sequence[Pair], references: ReferenceTable | None
) -> tuple[ReferenceRow, ...]:
    if references is None:
        return ()
    rows, selected = len(pairs), sum(planned.selected for planned, _ in pairs)
    ended_early = any(score.details.get("reason") == "ended early" for _, score in pairs)
    table = []
    for reference in references.results:
        caveats = []
        if rows not in references.rows:
            caveats.append(
                f"another data set ({' or '.join(map(str, references.rows))} questions, here {rows})"
            )
        elif selected < rows or ended_early:
            caveats.append("this run asks a part of the set")
        if not reference.setting:
            caveats.append("its setting was not published")
        different = [
            f"{key} {value}"
            for key, value in reference.setting.items()
            if run.config.get(key, value) != value
        ]
        different += _usual(run)
        if different:
            caveats.append("measured with " + ", ".join(different))
        table.append(
            ReferenceRow(
                reference.name,
                reference.accuracy,
                reference.correct,
                reference.total,
                "; ".join(caveats) or None,
            )
        )
    return tuple(table)


def _usual(run: Run) -> list[str]:
    """What known results were measured with, where this run does otherwise."""
    config = run.config
    usual = {
        "all media": config.get("media", "full") == "full",
        "the options' own order": config.get("options", {}).get("order", "original") == "original",
        "the question after its media": config.get("question_place", "after") == "after",
        "single frames": config.get("stack_frames", 1) == 1,
        "free letters": config.get("decode", {}).get("constrain") is None,
    }
    return [setting for setting, same in usual.items() if not same]
