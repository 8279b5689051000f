"""Prompts equal the references, character by character."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnieval.benchmarks.prompts import daily_omni_official, omnievalkit_choice

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "prompts.json").read_text())[
    "cases"
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['style']}-{case['question'][:12]}")
def test_the_prompt_equals_the_reference(case: dict[str, Any]) -> None:
    if case["style"] == "omnievalkit":
        prompt = omnievalkit_choice(case["question"], case["options"])
    else:
        prompt = daily_omni_official(case["question"], case["options"], case["input_mode"])
    assert prompt == case["text"]


def test_both_styles_are_among_the_cases() -> None:
    assert {case["style"] for case in CASES} == {"omnievalkit", "daily-omni-official (vllm-omni wording)"}
