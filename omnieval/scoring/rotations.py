"""Questions that were asked in several orders of their options, counted as one question each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from omnieval.runlog import PlannedSample
from omnieval.types import Score

Pair = tuple[PlannedSample, Score]

# Of a question's askings, the first of these outcomes decides; it is right only if all are.
_WEAKEST_FIRST = ("failed", "not_asked", "no_gold", "wrong", "unparsed", "correct")


def folded(pairs: Iterable[Pair]) -> list[Pair]:
    """One pair a question: that of its weakest asking. Questions asked once stay as they are."""
    by_question: dict[str, list[Pair]] = {}
    for planned, score in pairs:
        by_question.setdefault(planned.sample.origin or planned.sample.id, []).append((planned, score))
    return [askings[0] if len(askings) == 1 else _weakest(askings) for askings in by_question.values()]


def _weakest(askings: Sequence[Pair]) -> Pair:
    return min(askings, key=lambda pair: _WEAKEST_FIRST.index(pair[1].outcome))
