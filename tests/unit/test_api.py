"""`omnieval.api`: the verbs of the command line, typed and documented."""

from __future__ import annotations

import inspect
import re
import typing

import pytest
import typer

from omnieval import api, datasets
from omnieval.cli import app
from omnieval.errors import ConfigError

# Verbs of the command line that go by another name in Python, or that only show something.
OTHER_NAMES = {"report": "load_report"}
SHOWN_ONLY = {"view", "list", "version", "cache"}
FUNCTIONS = sorted(
    name
    for name, value in vars(api).items()
    if inspect.isfunction(value) and value.__module__ == api.__name__ and not name.startswith("_")
)
# What the command line is made of.
BENEATH = {"check_config", "configure", "execute_and_score", "reconfigure", "score_recordings", "score_with"}


def test_every_public_function_is_exported() -> None:
    assert set(FUNCTIONS) <= set(api.__all__)
    assert all(hasattr(api, name) for name in api.__all__)


def test_every_verb_of_the_command_line_has_its_function() -> None:
    verbs = set(typer.main.get_command(app).commands) - SHOWN_ONLY - {"data"}  # type: ignore[attr-defined]
    assert len(verbs) >= 10
    missing = {verb for verb in verbs if OTHER_NAMES.get(verb, verb) not in FUNCTIONS}
    assert not missing
    assert {"check_data", "pull_data", "convert_daily_omni"} <= set(datasets.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_typed_and_its_docstring_tells_its_parameters(name: str) -> None:
    function = getattr(api, name)
    parameters = inspect.signature(function).parameters
    assert set(typing.get_type_hints(function)) == {*parameters, "return"}
    text = inspect.getdoc(function) or ""
    assert len(text) > 30
    if not any(words in text for words in ("as for `", "See `", "see `", "`check` of")):
        told = [name for name in parameters if name not in ("path", "directory", "run", "suite")]
        assert not [name for name in told if not re.search(rf"\b{name}\b", text)]


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - BENEATH))
def test_the_module_names_its_verbs(name: str) -> None:
    assert re.search(rf"\b{name}\b", (api.__doc__ or "").partition(">>>")[0])


def test_a_setting_that_is_misspelt_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean 'max_frames'"):
        api.run("daily-omni", sample=True, backend="chance", max_frame=4)
