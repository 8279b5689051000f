"""Every reference's rule returns what the reference returns, for every reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnieval.parsing import parse_letter

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "answer_letter.json").read_text())[
    "cases"
]
COLUMNS = {
    "daily-omni-official": "daily_omni_official",
    "daily-omni-upstream": "daily_omni_upstream_script",
    "videomme-official": "videomme_official",
    "lmms-eval": "lmms_eval_mcq",
    "omnievalkit": "omnievalkit_rules",
    "vlmevalkit": "vlmevalkit_can_infer",
}


@pytest.mark.parametrize("rule", COLUMNS)
def test_it_equals_the_reference_in_every_case(rule: str) -> None:
    assert len(CASES) > 100
    for case in CASES:
        parsed = parse_letter(case["reply"], rule=rule, options=case["options"])
        assert parsed.letter == case["refs"][COLUMNS[rule]], case["reply"]


@pytest.mark.parametrize(
    ("rule", "reply", "letter"),
    [
        ("daily-omni-upstream", "b", "B"),
        ("daily-omni-upstream", "the assistant says\n d", None),
        ("daily-omni-upstream", "user: which?\nassistant\n d", "D"),
        ("videomme-official", "The answer is that a dog barks", None),
        ("videomme-official", "The best answer is Dogs", "D"),
        ("lmms-eval", "it is (B), not (C)", "C"),
        ("lmms-eval", "I pick B but C", "C"),
        ("lmms-eval", "b", None),
        ("omnievalkit", "the sound is clear", "C"),
        ("omnievalkit", "[c]", "C"),
        ("vlmevalkit", "B was said by one and only one person there", None),
        ("vlmevalkit", "Cannot determine the answer B", None),
        ("vlmevalkit", "Nothing changes at all", "D"),
    ],
)
def test_their_known_ways(rule: str, reply: str, letter: str | None) -> None:
    options = {"A": "A red bicycle", "B": "A window", "C": "Two dogs are barking", "D": "Nothing changes"}
    assert parse_letter(reply, rule=rule, options=options).letter == letter
