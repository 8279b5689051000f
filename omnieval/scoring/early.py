"""Ending a run early: the lines that must be decided, the order of asking, and what is known so far.

Only videos of which every question has an outcome count, and only those that come before the first in asking
order that is not whole yet: which answers come quickly must not decide which are looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from omnieval.stats import ERROR, sequential_interval, sequential_side
from omnieval.types import Sample, Score

Figure = Literal["accuracy", "strict", "unhealthy"]
Verdict = Literal["pass", "fail"]
EARLY_FIGURES: tuple[Figure, ...] = ("accuracy", "strict", "unhealthy")


@dataclass(frozen=True, slots=True)
class EarlyLine:
    """A line of a gate on an accuracy, or on the share of unhealthy replies. threshold: a fraction."""

    text: str
    figure: Figure
    operator: str
    threshold: float


@dataclass(frozen=True, slots=True)
class EarlyPlan:
    """What a run that may end early was begun with; in run.json, so that it cannot change on the way.

    gate: the file's name. seed: of the order of videos. error: the chance of a wrong verdict of one line.
    """

    gate: str
    lines: tuple[EarlyLine, ...]
    seed: int
    error: float = ERROR

    def settled_by(self, verdicts: Mapping[str, Verdict]) -> bool:
        """Whether nothing that is still open could change the gate's verdict."""
        return "fail" in verdicts.values() or len(verdicts) == len(self.lines)


def asking_order(samples: Sequence[Sample], seed: int) -> list[Sample]:
    """Whole clusters in an order that the seed decides; within one, as they are."""
    return sorted(samples, key=lambda sample: hashlib.sha256(f"{seed}:{sample.cluster}".encode()).digest())


class Tally:
    """Right and counted questions of whole videos, in asking order.

    samples: those to be asked; rows without a usable answer do not count.
    """

    def __init__(self, plan: EarlyPlan, samples: Iterable[Sample]) -> None:
        self.plan = plan
        self._clusters: list[dict[str, list[str]]] = []  # question -> ids of its askings
        places: dict[str, int] = {}
        counting = [sample for sample in samples if sample.problem is not None or sample.gold is not None]
        for sample in asking_order(counting, plan.seed):
            if sample.cluster not in places:
                places[sample.cluster] = len(self._clusters)
                self._clusters.append({})
            questions = self._clusters[places[sample.cluster]]
            questions.setdefault(sample.origin or sample.id, []).append(sample.id)
        self.sizes = [len(questions) for questions in self._clusters]
        self._asked = [sum(map(len, questions.values())) for questions in self._clusters]
        self._outcomes: dict[str, str] = {s.id: "failed" for s in counting if s.problem is not None}
        self._sick: set[str] = set()
        self._unhealthy: list[int] = []
        self._replies: list[int] = []
        self._right: list[int] = []
        self._answered: list[int] = []
        self._look_at = 1
        self._decided: dict[str, Verdict] = {}

    def add(self, score: Score) -> None:
        """One finished sample; not finished ones are passed over."""
        if score.outcome not in ("not_asked", "no_gold"):
            self._outcomes[score.sample_id] = score.outcome
            if set(score.flags) - {"identical"}:  # which replies are alike is known only at the end
                self._sick.add(score.sample_id)

    def decided(self) -> bool:
        """Whether every line is decided, or one is missed, so that the gate is. After the first videos it
        looks again with every hundredth more."""
        self._go_on()
        if len(self._right) >= self._look_at:
            self._look_at = len(self._right) + max(1, len(self._right) // 100)
            self.verdicts()
        return self.plan.settled_by(self._decided)

    def verdicts(self) -> dict[str, Verdict]:
        """Those of the lines that are decided, by their text."""
        self._go_on()
        for line in self.plan.lines:
            if line.text not in self._decided:
                counts = self._counts(line.figure)
                side = sequential_side(*counts, line.threshold, error=self.plan.error)
                if side is not None:
                    self._decided[line.text] = (
                        "pass" if (side == "above") is (">" in line.operator) else "fail"
                    )
        return dict(self._decided)

    def interval(self, figure: Figure) -> tuple[float, float]:
        """The confidence sequence of a figure of the whole set, as fractions."""
        self._go_on()
        return sequential_interval(*self._counts(figure), error=self.plan.error)

    @property
    def whole(self) -> tuple[int, int]:
        """(videos, questions) that count so far."""
        self._go_on()
        return len(self._right), sum(self.sizes[: len(self._right)])

    def _counts(self, figure: Figure) -> tuple[list[int], list[int], list[int]]:
        """What `sequential_side` takes: for `unhealthy` replies, for an accuracy questions."""
        if figure == "unhealthy":
            return self._unhealthy, self._replies, self._asked
        counted = self._answered if figure == "accuracy" else self.sizes[: len(self._right)]
        return self._right, counted, self.sizes

    def _go_on(self) -> None:
        """Take the next videos for as long as they are whole."""
        while len(self._right) < len(self._clusters):
            cluster = self._clusters[len(self._right)]
            questions: Any = [[self._outcomes.get(name) for name in askings] for askings in cluster.values()]
            if any(outcome is None for askings in questions for outcome in askings):
                return
            names = [name for askings in cluster.values() for name in askings]
            replies = [name for name in names if self._outcomes[name] != "failed"]
            self._replies.append(len(replies))
            self._unhealthy.append(sum(name in self._sick for name in replies))
            self._right.append(sum(all(outcome == "correct" for outcome in askings) for askings in questions))
            self._answered.append(sum("failed" not in askings for askings in questions))
