"""The name of a run directory, which people look for."""

from __future__ import annotations

import pytest

from omnieval import api
from omnieval.engine.begin import run_name


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openbmb/MiniCPM-o-4_5", "daily-omni-minicpm-o-4-5"),
        ("models/MiniCPM-o-4_5/", "daily-omni-minicpm-o-4-5"),
        (".", "daily-omni"),
        (None, "daily-omni-openai-chat"),
    ],
)
def test_a_run_is_named_after_the_recipe_and_the_last_part_of_the_model(model: str | None, name: str) -> None:
    assert run_name(api.configure("daily-omni", [("model", model)], sample=True)) == name
