"""What became of the right answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from omnieval.report.compare.pairing import Paired
from omnieval.report.denominators import accuracy, is_answered, is_asked
from omnieval.report.proportion import Proportion
from omnieval.scoring.rotations import Pair
from omnieval.stats import PairedFraction, holm, paired_fraction, visible_difference
from omnieval.types import Score

Both = tuple[str, Pair, Pair]


@dataclass(frozen=True, slots=True)
class AccuracyChange:
    """first, second: accuracies over the same questions. paired: their difference, None for no questions.
    p_adjusted: the p-value after Holm over the values of a group; None where it is one figure alone."""

    first: Proportion
    second: Proportion
    paired: PairedFraction | None
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that only one run has right. first, second: the letter, or why there is none."""

    sample_id: str
    groups: Mapping[str, str]
    gold: str | None
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class ChoiceComparison:
    """official: over the questions that both answered. strict: over those that both were to ask. groups:
    official, by group key and value. lost: right to wrong; gained: wrong to right; among the questions that
    both were to ask. visible: the difference that so many questions, flipping so often, show with 80 % power;
    None where nothing flips.
    """

    parser: str
    official: AccuracyChange
    strict: AccuracyChange
    groups: Mapping[str, Mapping[str, AccuracyChange]]
    lost: tuple[Flip, ...]
    gained: tuple[Flip, ...]
    visible: float | None


def compare_choices(pairs: Paired, group_keys: Sequence[str], parser: str) -> ChoiceComparison:
    """Count the questions that both runs have."""
    answered = _where(pairs.both, is_answered)
    asked = _where(pairs.both, is_asked)
    official = _change(answered)
    error = None if official.paired is None else official.paired.standard_error
    return ChoiceComparison(
        parser=parser,
        official=official,
        strict=_change(asked),
        groups={key: _by_group(answered, key) for key in group_keys},
        lost=_flips(asked, was=True),
        gained=_flips(asked, was=False),
        visible=visible_difference(error) if error else None,
    )


def _where(both: Iterable[Both], counts: Callable[[Score], bool]) -> list[Both]:
    return [item for item in both if counts(item[1][1]) and counts(item[2][1])]


def _change(both: Sequence[Both]) -> AccuracyChange:
    first, second = [item[1] for item in both], [item[2] for item in both]
    clusters = [planned.sample.cluster for planned, _ in first]
    found = paired_fraction(_right(first), _right(second), clusters)
    return AccuracyChange(accuracy(first), accuracy(second), found)


def _right(pairs: Sequence[Pair]) -> list[bool]:
    return [score.outcome == "correct" for _, score in pairs]


def _by_group(both: Sequence[Both], key: str) -> dict[str, AccuracyChange]:
    members: dict[str, list[Both]] = defaultdict(list)
    for item in both:
        members[item[1][0].sample.groups.get(key, "unknown")].append(item)
    changes = {value: _change(members[value]) for value in sorted(members)}
    adjusted = holm([change.paired.p_value for change in changes.values() if change.paired is not None])
    return {
        value: replace(change, p_adjusted=p_value)
        for (value, change), p_value in zip(changes.items(), adjusted, strict=True)
    }


def _flips(both: Iterable[Both], *, was: bool) -> tuple[Flip, ...]:
    """Questions that only the first run (was) or only the second has right."""
    return tuple(
        Flip(name, planned.sample.groups, planned.sample.gold, _told(first), _told(second))
        for name, (planned, first), (_, second) in both
        if (first.outcome == "correct") is was and (second.outcome == "correct") is not was
    )


def _told(score: Score) -> str:
    if score.outcome == "failed":
        return f"failed: {score.failure_kind}"
    if score.outcome == "not_asked":
        return "not finished"
    return score.answer or "no letter"
