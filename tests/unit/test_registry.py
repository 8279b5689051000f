"""Plug-ins are found by name; third parties add theirs through entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from omnieval.backends.registry import BACKENDS
from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.errors import ConfigError
from omnieval.registry import Registry


def test_every_built_in_name_loads() -> None:
    for registry in (BACKENDS, BENCHMARKS):
        for name in registry.builtin:
            assert callable(registry.load(name))


def test_third_parties_are_listed_and_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def points(group: str) -> list[EntryPoint]:
        assert group == "g"
        return [EntryPoint("theirs", "json:dumps", group), EntryPoint("broken", "no_such_module:x", group)]

    monkeypatch.setattr("omnieval.registry.entry_points", points)
    registry = Registry(kind="thing", group="g", builtin={"ours": "json:loads"})
    assert registry.names() == ["ours", "broken", "theirs"]
    loaded: Any = registry.load("theirs")
    assert loaded([1]) == "[1]"
    with pytest.raises(ConfigError, match="'broken' cannot be loaded: No module"):
        registry.load("broken")
    with pytest.raises(ConfigError, match=r"unknown thing 'our' \(did you mean 'ours'\?\)"):
        registry.load("our")
