"""Every sample has exactly one outcome."""

from __future__ import annotations

import pytest

from omnieval.scoring.choice import score_choice
from omnieval.types import Failure, Response, Sample

RULE = "daily-omni-official"


def sample(gold: str | None = "B", problem: Failure | None = None) -> Sample:
    return Sample("s", "b", "?", ("A. x", "B. y", "C. z", "D. w"), gold, {}, "c", {}, 0, problem)


def reply(text: str, error: Failure | None = None) -> Response:
    return Response("s", text=text, error=error)


BUSY = Failure("busy", "x", retryable=True)


@pytest.mark.parametrize(
    ("given", "response", "selected", "outcome", "detail"),
    [
        (sample(), reply("B"), True, "correct", "B"),
        (sample(), reply("The answer is C."), True, "wrong", "C"),
        (sample(), reply("no idea"), True, "unparsed", None),
        (sample(), reply(""), True, "unparsed", None),
        (sample(), reply("B", BUSY), True, "failed", "busy"),
        (sample(problem=Failure("data", "x")), None, True, "failed", "data"),
        (sample(gold=None), None, True, "no_gold", None),
        (sample(), None, True, "not_asked", "not finished"),
        (sample(), reply("B"), False, "not_asked", "not selected"),
        (sample(gold=None, problem=Failure("data", "x")), None, False, "not_asked", "not selected"),
    ],
)
def test_outcomes(
    given: Sample, response: Response | None, selected: bool, outcome: str, detail: str | None
) -> None:
    score = score_choice(given, response, selected=selected, rule=RULE)
    assert score.outcome == outcome
    assert (score.answer or score.failure_kind or score.details.get("reason")) == detail or detail is None
    assert (score.metrics.get("accuracy") == 1.0) == (outcome == "correct")


def test_a_score_says_which_rule_and_which_part_of_the_reply_decided() -> None:
    score = score_choice(sample(), reply("I say (C)."), selected=True, rule=RULE)
    assert score.rule == RULE
    assert score.details["span"] == (7, 8)
