"""What a run that ended before all was asked has decided, and what it saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from omnieval.report.page import Table
from omnieval.runlog import PlannedSample, Run
from omnieval.scoring.early import EarlyPlan, Figure, Tally, Verdict
from omnieval.scoring.rotations import folded
from omnieval.types import Score

REASON = "ended early"


@dataclass(frozen=True, slots=True)
class EarlyLineResult:
    """verdict: None while it is open."""

    text: str
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """ended: all lines are decided or one is missed, so that the rest was not asked. error: the chance that
    the verdict of one line is wrong. The verdicts and intervals are from `counted` questions of `clusters`
    whole videos, and say what all `questions` would give. asked: questions with an outcome. accuracy, strict,
    unhealthy: confidence sequences, as fractions; the last without the flag `identical`."""

    gate: str
    ended: bool
    seed: int
    error: float
    clusters: int
    all_clusters: int
    counted: int
    asked: int
    questions: int
    lines: tuple[EarlyLineResult, ...]
    accuracy: tuple[float, float]
    strict: tuple[float, float]
    unhealthy: tuple[float, float] = (0.0, 1.0)

    def interval(self, figure: Figure) -> tuple[float, float]:
        return {"accuracy": self.accuracy, "strict": self.strict, "unhealthy": self.unhealthy}[figure]


def early_end(run: Run, planned: Sequence[PlannedSample], scores: Sequence[Score]) -> EarlyEnd | None:
    """What is decided; None for a run that was not to end early, or of which all was asked."""
    stored: Any = run.info.get("early")
    if stored is None or not any(_unfinished(score) for score in scores):
        return None
    plan = TypeAdapter(EarlyPlan).validate_python(stored)
    pairs = list(zip(planned, scores, strict=True))
    tally = Tally(plan, [row.sample for row in planned if row.selected])
    for score in scores:
        tally.add(score)
    verdicts = tally.verdicts()
    clusters, counted = tally.whole
    return EarlyEnd(
        gate=plan.gate,
        ended=plan.settled_by(verdicts),
        seed=plan.seed,
        error=plan.error,
        clusters=clusters,
        all_clusters=len(tally.sizes),
        counted=counted,
        asked=sum(score.outcome not in ("not_asked", "no_gold") for _, score in folded(pairs)),
        questions=sum(tally.sizes),
        lines=tuple(EarlyLineResult(line.text, verdicts.get(line.text)) for line in plan.lines),
        accuracy=tally.interval("accuracy"),
        strict=tally.interval("strict"),
        unhealthy=tally.interval("unhealthy"),
    )


def marked(scores: Sequence[Score], early: EarlyEnd | None) -> list[Score]:
    """The scores; what an early end left out is not unfinished."""
    if early is None or not early.ended:
        return list(scores)
    return [
        replace(score, details={**score.details, "reason": REASON}) if _unfinished(score) else score
        for score in scores
    ]


def early_warning(early: EarlyEnd | None) -> list[str]:
    """What belongs above every number of a run that ended early."""
    if early is None or not early.ended:
        return []
    saved = early.questions - early.asked
    return [
        f"PARTIAL: ended after {early.asked} of {early.questions} questions ({saved} saved), since "
        f"{early.gate} is decided, each line wrongly with a chance of at most {100 * early.error:g} %; the "
        "figures below are of the part that was asked, and not the result of the data set"
    ]


def early_table(early: EarlyEnd | None) -> Table:
    """One row a line of the gate."""
    if early is None:
        return Table("Early end", (), ())
    rows: list[tuple[str, str]] = [(line.text, line.verdict or "open") for line in early.lines]
    for name, (low, high) in (
        (f"official accuracy of all {early.questions}", early.accuracy),
        (f"strict accuracy of all {early.questions}", early.strict),
        ("unhealthy replies of all, without `identical`", early.unhealthy),
    ):
        rows.append((name, f"{100 * low:.1f} to {100 * high:.1f} % (95 %, at every moment)"))
    title = f"Early end: {early.counted} questions of {early.clusters} of {early.all_clusters} videos count"
    return Table(title, ("line", "verdict"), tuple(rows))


def _unfinished(score: Score) -> bool:
    return score.outcome == "not_asked" and score.details.get("reason") == "not finished"
