"""May two runs be compared, and what was done differently?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnieval.config import OPERATIONAL
from omnieval.errors import ConfigError
from omnieval.media.content_key import differ
from omnieval.runlog import Run

# What is under test, and what is asked: differences here are no fault of the comparison.
_EXPECTED = frozenset({"model", "backend", "backend_seed", "select", "server", "omnieval"})
# How replies are read, and who hears: compared by what the reports say was really used.
_SCORING = frozenset({"parser", "recogniser", "similarity", "score"})
_NOT_RECORDED = "(not recorded)"


@dataclass(frozen=True, slots=True)
class Setting:
    """A key in which two runs differ. first, second: its values as JSON. expected: whether it is what a
    comparison is for (another model, another selection), not another way to measure."""

    key: str
    first: str
    second: str
    expected: bool


def require_comparable(first: Run, second: Run) -> None:
    """Raises ConfigError where no figure of the two runs may be compared: another benchmark, other questions,
    or other media of questions that both asked."""
    pair = f"{first.directory} and {second.directory} cannot be compared"
    kinds = [run.info.get("scoring") or "choice" for run in (first, second)]
    if kinds[0] != kinds[1]:
        raise ConfigError(f"{pair}: one is a {kinds[0]} run, the other a {kinds[1]} run")
    names = [run.config["benchmark"] for run in (first, second)]
    if names[0] != names[1]:
        raise ConfigError(f"{pair}: one asks the benchmark {names[0]}, the other {names[1]}")
    prints = [run.info["dataset"]["fingerprint"] for run in (first, second)]
    if prints[0] != prints[1]:
        raise ConfigError(
            f"{pair}: they ask different data (fingerprints {prints[0]} and {prints[1]}, "
            f"{first.info['dataset']['rows']} and {second.info['dataset']['rows']} rows); run both on one "
            "data set"
        )
    _require_same_media(first, second)


def _require_same_media(first: Run, second: Run) -> None:
    if "none" in (first.config.get("media"), second.config.get("media")):
        return
    ours, theirs = first.media(), second.media()
    both = [name for name in ours if name in theirs]
    other = [name for name in both if differ(ours[name], theirs[name])]
    if other:
        raise ConfigError(
            f"{first.directory} and {second.directory} cannot be compared: they asked about different media "
            f"(of {len(other)} of {len(both)} samples, for example {', '.join(other[:3])}); run both on one "
            "data set"
        )


def differing_settings(first: Run, second: Run) -> tuple[Setting, ...]:
    """Every key that moves a figure and differs, those that were to be expected last."""
    ours, theirs = dict(_facts(first)), dict(_facts(second))
    found = [
        Setting(key, _shown(ours, key), _shown(theirs, key), key.partition(".")[0] in _EXPECTED)
        for key in sorted(ours | theirs)
        if _shown(ours, key) != _shown(theirs, key)
    ]
    return tuple(sorted(found, key=lambda setting: setting.expected))


def _facts(run: Run) -> Iterator[tuple[str, Any]]:
    for key, value in run.config.items():
        if key not in OPERATIONAL | _SCORING:
            yield from _flat(key, value)
    server = run.info["server"]
    yield "server.model", server.get("model")
    yield "server.version", server.get("version")
    versions = run.info["versions"]
    yield "omnieval", versions.get("commit") or versions["omnieval"]


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}", inner)
    else:
        yield key, value


def _shown(facts: Mapping[str, Any], key: str) -> str:
    return json.dumps(facts[key], ensure_ascii=False) if key in facts else _NOT_RECORDED
