"""The official Daily-Omni parser returns what the reference returns, for every reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.errors import ConfigError
from omnieval.parsing import parse_letter

RULE = "daily-omni-official"
CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "answer_letter.json").read_text())[
    "cases"
]


def test_it_equals_the_reference_in_every_case() -> None:
    assert len(CASES) > 100
    for case in CASES:
        parsed = parse_letter(case["reply"], rule=RULE, options=case["options"])
        assert parsed.letter == case["refs"]["daily_omni_official"], case["reply"]
        if parsed.span is not None:
            start, end = parsed.span
            assert case["reply"][start:end].upper() == parsed.letter


@given(st.one_of(st.text(), st.text(alphabet="AaBbDdE .):：答是选assistant\n*ẚßŉ"), st.binary().map(repr)))
def test_it_never_raises_and_points_at_its_letter(reply: str) -> None:
    parsed = parse_letter(reply, rule=RULE)
    assert parsed == parse_letter(reply, rule=RULE)
    if parsed.letter is None:
        assert parsed.span is None
    else:
        assert parsed.span is not None
        assert reply[slice(*parsed.span)].upper()[0] == parsed.letter
        assert parsed.letter in "ABCD"


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'daily-omni-official'"):
        parse_letter("B", rule="daily-omni-oficial")
