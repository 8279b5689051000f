"""Multiple choice: does the parsed letter equal the gold letter?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnieval.parsing import lettered, parse_letter
from omnieval.runlog import Run
from omnieval.types import Response, Sample, Score


def score_choices(run: Run, responses: Mapping[str, Response], *, rule: str) -> Iterator[Score]:
    """One score a row of the data set, in its order. responses: the try that counts, by sample id."""
    for planned in run.samples():
        sample = planned.sample
        yield score_choice(sample, responses.get(sample.id), selected=planned.selected, rule=rule)


def score_choice(sample: Sample, response: Response | None, *, selected: bool, rule: str) -> Score:
    """How one question counts.

    response: the last finished try, or None when there was none. selected: whether the run asks this
    sample. rule: a parser's name. Every sample gets exactly one outcome; an answer that cannot be
    parsed is `unparsed`, which counts as wrong.
    """
    if not selected:
        return Score(sample.id, "not_asked", details={"reason": "not selected"})
    if sample.problem is not None:
        return Score(sample.id, "failed", failure_kind=sample.problem.kind)
    if sample.gold is None:
        return Score(sample.id, "no_gold")
    if response is None:
        return Score(sample.id, "not_asked", details={"reason": "not finished"})
    if response.error is not None:
        return Score(sample.id, "failed", failure_kind=response.error.kind)
    parsed = parse_letter(response.text, rule=rule, options=lettered(sample.options))
    details = {"span": parsed.span, "reason": parsed.reason}
    if parsed.letter is None:
        return Score(sample.id, "unparsed", rule=rule, details=details)
    correct = parsed.letter == sample.gold
    return Score(
        sample.id,
        "correct" if correct else "wrong",
        answer=parsed.letter,
        rule=rule,
        metrics={"accuracy": float(correct)},
        details=details,
    )
