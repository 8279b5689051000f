"""Which questions an accuracy is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from omnieval.report.proportion import Proportion
from omnieval.scoring.rotations import Pair
from omnieval.types import Score

SCORED = ("correct", "wrong", "unparsed")


def is_answered(score: Score) -> bool:
    """Whether the official accuracy counts it."""
    return score.outcome in SCORED


def is_asked(score: Score) -> bool:
    """Whether the strict accuracy counts it: the run was to ask it, did not end before it, and it has
    a usable answer."""
    return score.outcome != "no_gold" and score.details.get("reason") not in ("not selected", "ended early")


def official(pairs: Iterable[Pair]) -> Proportion:
    """Right answers of the answered questions."""
    return accuracy([pair for pair in pairs if is_answered(pair[1])])


def strict(pairs: Iterable[Pair]) -> Proportion:
    """Right answers of every question asked for."""
    return accuracy([pair for pair in pairs if is_asked(pair[1])])


def accuracy(pairs: Sequence[Pair]) -> Proportion:
    """Right answers of all these."""
    return Proportion.over(
        [score.outcome == "correct" for _, score in pairs], [planned.sample.cluster for planned, _ in pairs]
    )
