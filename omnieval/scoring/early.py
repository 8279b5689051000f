"""Ending a run early: the lines that must be decided, the order of asking, and what is known so far.

Only videos of which every question has an outcome count, and only those that come before the first in asking
order that is not whole yet: which answers come quickly must not decide which are looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from omnieval.stats import ERROR, sequential_interval, sequential_side
from omnieval.types import Sample, Score

Figure = Literal["accuracy", "strict"]
Verdict = Literal["pass", "fail"]


@dataclass(frozen=True, slots=True)
class EarlyLine:
    """A line of a gate on an accuracy. threshold: a fraction."""

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
        self._outcomes: dict[str, str] = {s.id: "failed" for s in counting if s.problem is not None}
        self._right: list[int] = []
        self._answered: list[int] = []
        self._look_at = 1
        self._decided: dict[str, Verdict] = {}

    def add(self, score: Score) -> None:
        """One finished sample; not finished ones are passed over."""
        if score.outcome not in ("not_asked", "no_gold"):
            self._outcomes[score.sample_id] = score.outcome

    def decided(self) -> bool:
        """Whether every line is decided. After the first videos it looks again with every hundredth more."""
        self._go_on()
        if len(self._right) >= self._look_at:
            self._look_at = len(self._right) + max(1, len(self._right) // 100)
            self.verdicts()
        return len(self._decided) == len(self.plan.lines)

    def verdicts(self) -> dict[str, Verdict]:
        """Those of the lines that are decided, by their text."""
        self._go_on()
        for line in self.plan.lines:
            if line.text not in self._decided:
                side = sequential_side(
                    self._right, self._counted(line.figure), self.sizes, line.threshold, error=self.plan.error
                )
                if side is not None:
                    self._decided[line.text] = (
                        "pass" if (side == "above") is (">" in line.operator) else "fail"
                    )
        return dict(self._decided)

    def interval(self, figure: Figure) -> tuple[float, float]:
        """The confidence sequence of an accuracy of the whole set, as fractions."""
        self._go_on()
        return sequential_interval(self._right, self._counted(figure), self.sizes, error=self.plan.error)

    @property
    def whole(self) -> tuple[int, int]:
        """(videos, questions) that count so far."""
        self._go_on()
        return len(self._right), sum(self.sizes[: len(self._right)])

    def _counted(self, figure: Figure) -> list[int]:
        return self._answered if figure == "accuracy" else self.sizes[: len(self._right)]

    def _go_on(self) -> None:
        """Take the next videos for as long as they are whole."""
        while len(self._right) < len(self._clusters):
            questions: Any = [
                [self._outcomes.get(name) for name in askings]
                for askings in self._clusters[len(self._right)].values()
            ]
            if any(outcome is None for askings in questions for outcome in askings):
                return
            self._right.append(sum(all(outcome == "correct" for outcome in askings) for askings in questions))
            self._answered.append(sum("failed" not in askings for askings in questions))
