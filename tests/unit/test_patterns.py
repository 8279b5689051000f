"""Patterns mean the same on every Python that omnieval runs on."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import omnieval.parsing

SINGLE = (codes.IN, codes.LITERAL, codes.NOT_LITERAL, codes.ANY)


def possessive_groups(parsed: Any) -> Iterator[Any]:
    """Possessive repetitions, at any depth, of more than one character."""
    if isinstance(parsed, _parser.SubPattern | list | tuple):
        for item in parsed:
            if isinstance(item, tuple) and item and item[0] is codes.POSSESSIVE_REPEAT:
                repeated = item[1][2]
                if len(repeated) != 1 or repeated[0][0] not in SINGLE:
                    yield item
            yield from possessive_groups(item)


def compiled() -> dict[str, re.Pattern[Any]]:
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.iter_modules(omnieval.parsing.__path__, "omnieval.parsing.")
    ]
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern)
    }


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python 3.11.0 to 3.11.4 match `(?:ab|a)*+` wrongly (github.com/python/cpython/issues/106052); an atomic
    group, `(?>(?:ab|a)*)`, means the same."""
    patterns = compiled()
    assert len(patterns) > 100
    found = [
        name
        for name, pattern in patterns.items()
        if any(possessive_groups(_parser.parse(pattern.pattern, pattern.flags)))
    ]
    assert found == []


def test_what_is_looked_for_would_be_found() -> None:
    assert any(possessive_groups(_parser.parse(r"x(?:y(?:ab|a)*+|z)")))
    assert any(possessive_groups(_parser.parse(r"(?<!q)(?:ab){1,4}+")))
    assert not any(possessive_groups(_parser.parse(r"[ab]*+\\s{0,6}+(?>(?:ab|a)*)")))
