"""What the rungs gave: one row each, what broke, and where first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from omnieval.diagnose.asked import Asked
from omnieval.diagnose.breaks import Break, breaks, not_asked
from omnieval.diagnose.run import LadderExecution
from omnieval.diagnose.rungs import Ladder, Rung
from omnieval.report.accounting import FailureRow
from omnieval.report.audit import HealthRow
from omnieval.report.denominators import official
from omnieval.report.proportion import Proportion
from omnieval.runlog import Run
from omnieval.runlog.store import REPORT_JSON, exists
from omnieval.stats import PairedFraction

# Settings that a server may take without heeding them; where it does, the prompt has other tokens.
_CHANGES_PROMPT = ("image-id", "thinking")


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


def build_diagnosis(ladder: Ladder, execution: LadderExecution) -> Diagnosis:
    """From the rungs' own reports as last written. Raises ScoringError for a damaged one."""
    asked = {
        rung.name: Asked.load(Run.load(place))
        for rung in ladder.rungs
        if rung.config is not None and (place := execution.directory / rung.name) and _is_scored(place)
    }
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


def _is_scored(place: Path) -> bool:
    """Not so where there is no run, or one that was killed before its report."""
    return exists(place) and (place / REPORT_JSON).exists()


def _row(rung: Rung, asked: Mapping[str, Asked], execution: LadderExecution) -> RungRow:
    if rung.config is None:
        return RungRow(rung.name, rung.title, "left out", left_out=rung.left_out)
    outside = not_asked(rung.name, execution)
    if rung.name not in asked:
        killed = exists(execution.directory / rung.name)
        return RungRow(rung.name, rung.title, "unfinished" if killed else "not begun", breaks=outside)
    own = asked[rung.name]
    against = next((name for name in rung.against if name in asked), None)
    other = None if against is None else asked[against]
    report, latency = own.report, own.report.latency
    return RungRow(
        rung.name,
        rung.title,
        "done" if report.complete else "unfinished",
        against=against,
        accuracy=report.official,
        difference=None if other is None else own.against(other),
        asked=len(own.pairs),
        failed=own.failed,
        unread=own.unread,
        unhealthy=report.unhealthy,
        health=report.health,
        failures=report.failures,
        prompt_tokens=own.prompt_tokens,
        ttft_s=latency["ttft_s"].median if "ttft_s" in latency else None,
        e2e_s=latency["e2e_s"].median if "e2e_s" in latency else None,
        breaks=(*outside, *breaks(rung.name, own, other)),
        report=f"{rung.name}/report.html",
    )


def _notes(ladder: Ladder, asked: Mapping[str, Asked]) -> Iterator[str]:
    if ladder.recipe.backend == "chance":
        yield "the backend chance draws letters and looks at no media: its rungs tell nothing of a model"
    text, base = asked.get("text"), asked.get(ladder.base)
    if base is None:
        return
    for name in _CHANGES_PROMPT:
        if name in asked and asked[name].more_tokens_than(base) == 0:
            yield (
                f"{name}: its prompts have as many tokens as the recipe's, so the server, or the model's "
                "chat template, does not seem to heed the setting"
            )
    if text is None or text is base:
        return
    blind, seeing = official(text.pairs), official(base.pairs)
    if blind.value is not None and seeing.value is not None and seeing.value <= blind.value:
        yield (
            f"the media bring nothing on these samples: {blind.correct} of {blind.total} are right by the "
            f"text alone, {seeing.correct} of {seeing.total} with the recipe; take more samples (--limit) to "
            "be sure"
        )
