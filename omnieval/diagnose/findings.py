"""What the rungs gave: one row each, what broke, and where first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from omnieval.backends.base import OF_THIS_MACHINE
from omnieval.diagnose.causes import cause_of
from omnieval.diagnose.run import LadderExecution
from omnieval.diagnose.rungs import Ladder, Rung
from omnieval.report.accounting import FailureRow
from omnieval.report.audit import HealthRow
from omnieval.report.build import Report
from omnieval.report.denominators import is_answered, official
from omnieval.report.proportion import Proportion
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.store import exists
from omnieval.scoring.rotations import Pair, folded
from omnieval.stats import PairedFraction, paired_fraction

BreakKind = Literal["server", "refused", "media", "failures", "health", "unread", "ignored", "accuracy"]

# A share of the samples by which a rung must be worse than the one it is held against, and at least two.
WORSE = 0.25
SIGNIFICANT = 0.05
# Rungs that add a kind of media to the one before, and the tokens that wording alone may differ by.
_ADDS_MEDIA = frozenset({"one-frame", "sound", "frames-and-sound", "stacked"})
_WORDING_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Break:
    """One way in which a rung is worse. found: in words."""

    kind: BreakKind
    found: str
    cause: str
    fix: str


@dataclass(frozen=True, slots=True)
class RungRow:
    """One rung. state: `done`; `unfinished`, where answers are still missing; `not begun`; `left out`, as
    `left_out` says why. against: the rung that it is held against. difference: of their accuracies, over the
    samples that both answered. unread: answers without a letter. prompt_tokens, ttft_s, e2e_s: medians.
    report: its own, from the diagnosis' directory."""

    name: str
    title: str
    state: Literal["done", "unfinished", "not begun", "left out"]
    left_out: str | None = None
    against: str | None = None
    accuracy: Proportion | None = None
    difference: PairedFraction | None = None
    asked: int = 0
    failed: int = 0
    unread: int = 0
    unhealthy: Proportion | None = None
    health: tuple[HealthRow, ...] = ()
    failures: tuple[FailureRow, ...] = ()
    prompt_tokens: float | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None
    breaks: tuple[Break, ...] = ()
    report: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """base: the rung that is the recipe unchanged. first_break: name of the first rung that breaks, None
    where all hold. complete: every rung that is not left out was asked to its end."""

    recipe: str
    model: str
    backend: str
    directory: str
    samples: int
    base: str
    complete: bool
    first_break: str | None
    rungs: tuple[RungRow, ...]
    notes: tuple[str, ...] = ()
    kind: Literal["diagnosis"] = "diagnosis"


@dataclass(frozen=True)
class _Asked:
    """A rung's run as scored."""

    report: Report
    pairs: Sequence[Pair]
    prompt_tokens: float | None
    failed: int
    failed_here: int
    unread: int

    @classmethod
    def load(cls, run: Run) -> _Asked:
        report = read_report(run)
        assert isinstance(report, Report)
        pairs = [
            (planned, score)
            for planned, score in folded(list(zip(run.samples(), run.scores(), strict=True)))
            if planned.selected
        ]
        tokens = [
            response.usage.prompt_tokens
            for response in run.last_responses().values()
            if response.answered and response.usage is not None and response.usage.prompt_tokens is not None
        ]
        kinds = [score.failure_kind for _, score in pairs if score.outcome == "failed"]
        return cls(
            report,
            pairs,
            median(tokens) if tokens else None,
            len(kinds),
            sum(kind in OF_THIS_MACHINE for kind in kinds),
            sum(score.outcome == "unparsed" for _, score in pairs),
        )


def build_diagnosis(ladder: Ladder, execution: LadderExecution) -> Diagnosis:
    """From the rungs' own reports as last written. Raises ScoringError for a damaged one."""
    runs = {
        rung.name: Run.load(execution.directory / rung.name)
        for rung in ladder.rungs
        if rung.config is not None and exists(execution.directory / rung.name)
    }
    asked = {name: _Asked.load(run) for name, run in runs.items()}
    rows = tuple(_row(rung, asked, execution) for rung in ladder.rungs)
    models = [str(one.report.run["model"]) for one in asked.values()]
    return Diagnosis(
        recipe=ladder.recipe.recipe,
        model=models[0] if models else str(ladder.recipe.model),
        backend=ladder.recipe.backend,
        directory=execution.directory.name,
        samples=max((len(one.pairs) for one in asked.values()), default=0),
        base=ladder.base,
        complete=all(row.state in ("done", "left out") for row in rows),
        first_break=next((row.name for row in rows if row.breaks), None),
        rungs=rows,
        notes=tuple(_notes(ladder, asked)),
    )


def _row(rung: Rung, asked: Mapping[str, _Asked], execution: LadderExecution) -> RungRow:
    if rung.config is None:
        return RungRow(rung.name, rung.title, "left out", left_out=rung.left_out)
    outside = _outside(rung.name, execution)
    if rung.name not in asked:
        return RungRow(rung.name, rung.title, "not begun", breaks=outside)
    own = asked[rung.name]
    against = next((name for name in rung.against if name in asked), None)
    other = None if against is None else asked[against]
    difference = None if other is None else _difference(other, own)
    report, latency = own.report, own.report.latency
    return RungRow(
        rung.name,
        rung.title,
        "done" if report.complete else "unfinished",
        against=against,
        accuracy=report.official,
        difference=difference,
        asked=len(own.pairs),
        failed=own.failed,
        unread=own.unread,
        unhealthy=report.unhealthy,
        health=report.health,
        failures=report.failures,
        prompt_tokens=own.prompt_tokens,
        ttft_s=latency["ttft_s"].median if "ttft_s" in latency else None,
        e2e_s=latency["e2e_s"].median if "e2e_s" in latency else None,
        breaks=(*outside, *_breaks(rung.name, own, other, difference)),
        report=f"{rung.name}/report.html",
    )


def _difference(first: _Asked, second: _Asked) -> PairedFraction | None:
    """Over the samples that both answered."""
    earlier = {planned.sample.id: score for planned, score in first.pairs if is_answered(score)}
    both = [
        (earlier[planned.sample.id].outcome == "correct", score.outcome == "correct", planned.sample.cluster)
        for planned, score in second.pairs
        if is_answered(score) and planned.sample.id in earlier
    ]
    return paired_fraction([was for was, _, _ in both], [now for _, now, _ in both], [c for *_, c in both])


def _outside(name: str, execution: LadderExecution) -> tuple[Break, ...]:
    """What kept a rung from being asked."""
    if execution.stopped_at == name and execution.failure is not None:
        return (_break(name, "server", f"the server is gone: {execution.failure}"),)
    refused = dict(execution.refused).get(name)
    return () if refused is None else (_break(name, "refused", f"cannot be asked: {refused}"),)


def _breaks(name: str, own: _Asked, other: _Asked | None, difference: PairedFraction | None) -> list[Break]:
    """Every way in which a rung is clearly worse than the other, or by itself where there is no other."""
    count, found = len(own.pairs), []
    rows = own.report.failures
    if _is_worse(own.failed_here, 0 if other is None else other.failed_here, count):
        told = next(row.message for row in rows if row.kind in OF_THIS_MACHINE)
        found.append(_break(name, "media", f"{own.failed_here} of {count} samples lack their media: {told}"))
    at_server = own.failed - own.failed_here
    if _is_worse(at_server, 0 if other is None else other.failed - other.failed_here, count):
        row = next(row for row in rows if row.kind not in OF_THIS_MACHINE)
        hint = f" ({row.hint})" if row.hint else ""
        told = f"{at_server} of {count} requests fail: {row.kind}: {row.message}{hint}"
        found.append(_break(name, "failures", told))
    sick, sick_before = _sick(own), 0 if other is None else _sick(other)
    if _is_worse(sick, sick_before, count):
        flags = ", ".join(f"{row.count} {row.flag.replace('_', ' ')}" for row in own.report.health)
        found.append(_break(name, "health", f"{sick} of {count} replies are unhealthy: {flags}"))
    elif _is_worse(own.unread, 0 if other is None else other.unread, count):
        found.append(_break(name, "unread", f"{own.unread} of {count} replies hold no letter"))
    if other is not None and name in _ADDS_MEDIA and _adds_nothing(own, other):
        told = f"its prompts count {own.prompt_tokens:g} tokens, those without it {other.prompt_tokens:g}"
        found.append(_break(name, "ignored", told))
    if difference is not None and difference.difference < 0 and difference.p_value <= SIGNIFICANT:
        found.append(
            _break(
                name, "accuracy",
                f"accuracy falls by {-100 * difference.difference:.0f} points over {difference.count} "
                f"samples (p = {difference.p_value:.3g})",
            )
        )  # fmt: skip
    return found


def _break(rung: str, kind: BreakKind, found: str) -> Break:
    return Break(kind, found, *cause_of(rung, kind))


def _is_worse(own: int, other: int, count: int) -> bool:
    return own - other >= max(WORSE * count, min(2, count))


def _sick(asked: _Asked) -> int:
    return 0 if asked.report.unhealthy is None else asked.report.unhealthy.correct


def _adds_nothing(own: _Asked, other: _Asked) -> bool:
    if own.prompt_tokens is None or other.prompt_tokens is None:
        return False
    return own.prompt_tokens <= other.prompt_tokens + _WORDING_TOKENS


def _notes(ladder: Ladder, asked: Mapping[str, _Asked]) -> list[str]:
    text, base = asked.get("text"), asked.get(ladder.base)
    if text is None or base is None or text is base:
        return []
    blind, seeing = official(text.pairs), official(base.pairs)
    if blind.value is None or seeing.value is None or seeing.value > blind.value:
        return []
    return [
        f"the media bring nothing on these samples: {blind.correct} of {blind.total} are right by the text "
        f"alone, {seeing.correct} of {seeing.total} with the recipe; take more samples (--limit) to be sure"
    ]
