"""Multiple choice: does the parsed letter equal the gold letter?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from omnieval.parsing import ParsedLetter, applicable, lettered, parse_letter
from omnieval.parsing.options import LETTERS
from omnieval.runlog import PlannedSample, Run
from omnieval.scoring.health import flag_identical, reply_flags
from omnieval.scoring.outcome import settled
from omnieval.types import Response, Sample, Score


def score_choices(
    run: Run, planned: Iterable[PlannedSample], responses: Mapping[str, Response], *, rule: str
) -> list[Score]:
    """One score a row of the data set, in its order, with every rule's reading and health flags.

    planned: the rows, as `run.samples()` has them. responses: the try that counts, by sample id.
    """
    constrained = bool(run.config.get("decode", {}).get("constrain"))
    scores = []
    questions: dict[str, str] = {}
    for row in planned:
        sample = row.sample
        questions[sample.id] = sample.origin or sample.id
        response = responses.get(sample.id)
        done = settled(sample, response, selected=row.selected)
        if done is None:
            assert response is not None
            done = _read(sample, response, rule, constrained=constrained)
        scores.append(done)
    texts = {s.sample_id: responses[s.sample_id].text for s in scores if s.readings}
    return flag_identical(scores, texts, questions)


def score_choice(sample: Sample, response: Response | None, *, selected: bool, rule: str) -> Score:
    """How one question counts.

    response: the last finished try, or None when there was none. selected: whether the run asks this
    sample. rule: a parser's name. Every sample gets exactly one outcome; an answer that cannot be
    parsed is `unparsed`, which counts as wrong.
    """
    done = settled(sample, response, selected=selected)
    if done is not None:
        return done
    assert response is not None
    return _judged(sample, parse_letter(response.text, rule=rule, options=lettered(sample.options)), rule)


def _read(sample: Sample, response: Response, rule: str, *, constrained: bool) -> Score:
    """The score of an answer by one rule, with what the others read."""
    options = lettered(sample.options)
    parsed = {
        name: parse_letter(response.text, rule=name, options=options)
        for name in dict.fromkeys((*applicable(options), rule))
    }
    return replace(
        _judged(sample, parsed[rule], rule),
        readings={name: parsed[name].letter for name in applicable(options)},
        flags=reply_flags(sample, response, constrained=constrained),
    )


def _judged(sample: Sample, parsed: ParsedLetter, rule: str) -> Score:
    details = {"span": parsed.span, "reason": parsed.reason}
    if parsed.letter is None:
        return Score(sample.id, "unparsed", rule=rule, details=details)
    if sample.order:
        details["option"] = _original(parsed.letter, sample)
    correct = parsed.letter == sample.gold
    return Score(
        sample.id,
        "correct" if correct else "wrong",
        answer=parsed.letter,
        rule=rule,
        metrics={"accuracy": float(correct)},
        details=details,
    )


def _original(letter: str, sample: Sample) -> str | None:
    """The letter that an option had before the options were put in another order."""
    shown = LETTERS.find(letter)
    return LETTERS[sample.order[shown]] if 0 <= shown < len(sample.order) else None
