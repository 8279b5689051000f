"""What stands behind an accuracy: every rule's reading, letters picked, sick replies, and the floors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from omnieval.parsing import option_letters
from omnieval.report.proportion import Proportion
from omnieval.runlog import PlannedSample
from omnieval.scoring.health import FLAGS, MOST_UNHEALTHY
from omnieval.types import Response, Score

Pair = tuple[PlannedSample, Score]

_SHOWN_IDS = 5
_SHOWN_CHARACTERS = 160
# So many answers, and so large a share of one letter that is right half as often at most, are no accident.
_LETTERS_FROM, _ONE_LETTER = 20, 0.9


@dataclass(frozen=True, slots=True)
class RuleRow:
    """What one rule makes of the same replies. none: replies without a letter. differs: replies that it
    reads otherwise than the rule of the run."""

    rule: str
    accuracy: Proportion
    none: int
    differs: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A reply that the rules read differently. readings: rule -> letter; reply: its beginning or end."""

    sample_id: str
    gold: str | None
    readings: Mapping[str, str | None]
    reply: str


@dataclass(frozen=True, slots=True)
class LetterRow:
    """How often a letter was picked, how often it was right, and how often picked rightly."""

    letter: str
    picked: int
    gold: int
    correct: int


@dataclass(frozen=True, slots=True)
class HealthRow:
    """One flag: how many replies have it, and the first of them."""

    flag: str
    count: int
    sample_ids: tuple[str, ...]


def rule_rows(pairs: Sequence[Pair], parser: str) -> tuple[RuleRow, ...]:
    """Accuracy of the answered questions under every rule that applies to all of them."""
    read = [(planned, score) for planned, score in pairs if score.readings]
    named = {tuple(score.readings) for _, score in read}
    rules = set.intersection(*map(set, named)) if named else set()
    rows = []
    for rule in sorted(rules, key=lambda name: (name != parser, name != "careful", name)):
        letters = [(planned.sample.gold, score.answer, score.readings[rule]) for planned, score in read]
        rows.append(
            RuleRow(
                rule,
                Proportion.of(sum(gold == letter for gold, _, letter in letters), len(letters)),
                sum(letter is None for _, _, letter in letters),
                sum(answer != letter for _, answer, letter in letters),
            )
        )
    return tuple(rows)


def disagreements(pairs: Iterable[Pair], responses: Mapping[str, Response]) -> tuple[Disagreement, ...]:
    """Every reply that the rules do not all read alike."""
    return tuple(
        Disagreement(
            score.sample_id,
            planned.sample.gold,
            score.readings,
            shortened(responses[score.sample_id].text) if score.sample_id in responses else "",
        )
        for planned, score in pairs
        if len(set(score.readings.values())) > 1
    )


def letter_rows(pairs: Iterable[Pair]) -> tuple[LetterRow, ...]:
    """Letters as the model was shown them, over the answered questions."""
    answered = [(planned.sample, score) for planned, score in pairs if score.outcome in _ANSWERED]
    picked = Counter(score.answer for _, score in answered if score.answer is not None)
    gold = Counter(sample.gold for sample, _ in answered if sample.gold is not None)
    correct = Counter(score.answer for _, score in answered if score.outcome == "correct")
    offered = {letter for sample, _ in answered for letter in option_letters(sample.options)}
    letters = sorted(offered | set(picked))
    return tuple(LetterRow(letter, picked[letter], gold[letter], correct[letter]) for letter in letters)


def health_rows(pairs: Iterable[Pair], order: Sequence[str] = FLAGS) -> tuple[HealthRow, ...]:
    """The flags that occur, in the given order."""
    by_flag: dict[str, list[str]] = defaultdict(list)
    for _, score in pairs:
        for flag in score.flags:
            by_flag[flag].append(score.sample_id)
    flags = [*order, *sorted(set(by_flag) - set(order))]
    return tuple(
        HealthRow(flag, len(by_flag[flag]), tuple(by_flag[flag][:_SHOWN_IDS]))
        for flag in flags
        if flag in by_flag
    )


def unhealthy(pairs: Iterable[Pair]) -> Proportion:
    """Replies with any flag, of all replies."""
    scores = [score for _, score in pairs if score.outcome in _ANSWERED]
    return Proportion.of(sum(bool(score.flags) for score in scores), len(scores))


def chance(pairs: Iterable[Pair]) -> float | None:
    """The accuracy to expect from guessing, over the answered questions; one that is asked in several orders
    must be guessed each time."""
    guessed: dict[str, float] = {}
    for planned, score in pairs:
        count = len(option_letters(planned.sample.options))
        if score.outcome in _ANSWERED and count:
            question = planned.sample.origin or planned.sample.id
            guessed[question] = guessed.get(question, 1.0) / count
    return sum(guessed.values()) / len(guessed) if guessed else None


def health_warning(rows: Sequence[HealthRow], share: Proportion) -> str | None:
    """The line for the headline, or None when few enough replies are sick."""
    if share.value is None or share.value <= MOST_UNHEALTHY:
        return None
    named = ", ".join(f"{row.count} {row.flag.replace('_', ' ')}" for row in rows)
    return f"UNHEALTHY: {100 * share.value:.1f} % of the replies ({share.correct}/{share.total}): {named}"


def letter_warning(rows: Sequence[LetterRow]) -> str | None:
    """A model that answers with one letter, whatever is asked."""
    total = sum(row.picked for row in rows)
    top = max(rows, key=lambda row: row.picked, default=None)
    if top is None or total < _LETTERS_FROM or top.picked < _ONE_LETTER * total:
        return None
    if top.gold > total / 2:
        return None
    return f"ONE LETTER: {top.picked} of {total} answers are {top.letter}, which is right {top.gold} times"


_ANSWERED = ("correct", "wrong", "unparsed", "scored", "unscored")


def shortened(text: str, longest: int = _SHOWN_CHARACTERS) -> str:
    """A text as a table shows it: in one line; of a long one its beginning and end."""
    flat = " ".join(text.split())
    if len(flat) <= longest:
        return flat
    half = longest // 2
    return f"{flat[:half]} … {flat[-half:]}"
