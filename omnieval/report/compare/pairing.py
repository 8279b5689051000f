"""The questions of two runs, side by side and read by one parser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from omnieval.errors import ScoringError
from omnieval.runlog import PlannedSample, Run
from omnieval.runlog.files import read_lines
from omnieval.runlog.store import RESTORE, SAMPLES, SCORES, score_again
from omnieval.scoring.rotations import Pair, folded
from omnieval.types import Outcome, Sample, Score


@dataclass(frozen=True)
class Paired:
    """both: (question, pair of the first run, pair of the second) of every question that both have, in the
    first run's order. first, second: all pairs of either run."""

    both: list[tuple[str, Pair, Pair]]
    first: list[Pair]
    second: list[Pair]


def paired(first: Run, second: Run, rules: tuple[str | None, str | None]) -> Paired:
    """rules: the parser by which to read each run's replies anew; None leaves the scores as they are.

    Raises ScoringError for a run that was not scored, or whose replies that parser cannot read.
    """
    ours, theirs = _questions(first, rules[0]), _questions(second, rules[1])
    return Paired(
        [(name, pair, theirs[name]) for name, pair in ours.items() if name in theirs],
        list(ours.values()),
        list(theirs.values()),
    )


def _questions(run: Run, rule: str | None) -> dict[str, Pair]:
    """The pair of every question; of one asked in several orders that which decides."""
    pairs = folded(_pairs(run, rule))
    return {planned.sample.origin or planned.sample.id: (planned, score) for planned, score in pairs}


def _pairs(run: Run, rule: str | None) -> Iterator[Pair]:
    """Every asking, with what a comparison looks at and nothing else: there may be very many."""
    scores = read_lines(run.directory / SCORES, _Score, then=score_again(run.directory))
    for row in read_lines(run.directory / SAMPLES, _Row, then=RESTORE):
        score = next(scores, None)
        if score is None or score.sample_id != row.sample.id:
            raise _not_scored(run)
        yield row.planned(), score.score() if rule is None else score.read_by(rule, row.sample.gold, run)
    if next(scores, None) is not None:
        raise _not_scored(run)


def _not_scored(run: Run) -> ScoringError:
    return ScoringError(f"{run.directory}: not scored as it stands; run `omnieval score` on it")


# Parts of the lines of samples.jsonl and scores.jsonl; reading only these takes half the time of reading all.
@dataclass(frozen=True, slots=True)
class _Sample:
    id: str
    benchmark: str
    gold: str | None
    groups: dict[str, str]
    cluster: str
    row: int
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    sample: _Sample
    selected: bool

    def planned(self) -> PlannedSample:
        part = self.sample
        sample = Sample(
            part.id, part.benchmark, "", (), part.gold, part.groups, part.cluster, {}, part.row,
            origin=part.origin,
        )  # fmt: skip
        return PlannedSample(sample, self.selected)


@dataclass(frozen=True, slots=True)
class _Details:
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Score:
    sample_id: str
    outcome: Outcome
    answer: str | None = None
    rule: str | None = None
    failure_kind: str | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    readings: dict[str, str | None] = field(default_factory=dict)
    details: _Details = field(default_factory=_Details)

    def score(self) -> Score:
        details = {"reason": self.details.reason} if self.outcome == "not_asked" else {}
        return Score(
            self.sample_id, self.outcome, self.answer, self.rule, self.failure_kind, self.metrics,
            details=details,
        )  # fmt: skip

    def read_by(self, rule: str, gold: str | None, run: Run) -> Score:
        """The score by another parser, from what it read in the same reply."""
        if self.outcome not in ("correct", "wrong", "unparsed"):
            return self.score()
        if rule not in self.readings:
            raise ScoringError(
                f"{run.directory}: sample {self.sample_id} was not read by the parser {rule}, which cannot "
                "read these options, or did not exist when the run was scored; choose another --parser, or "
                "run `omnieval score` on it"
            )
        letter = self.readings[rule]
        if letter is None:
            return Score(self.sample_id, "unparsed", rule=rule)
        return Score(self.sample_id, "correct" if letter == gold else "wrong", answer=letter, rule=rule)
