"""Runs that lie beside a run and differ in one telling setting: without media, constrained, another order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from omnieval.config import OPERATIONAL
from omnieval.errors import ScoringError
from omnieval.report.proportion import Proportion
from omnieval.runlog import Run

# What each setting's other values are called in a report.
_TELLING: Mapping[str, Mapping[Any, str]] = {
    "media": {"none": "without media: what the text alone gives away", "full": "with media"},
    "decode.constrain": {"choice": "constrained to a letter", None: "free to write"},
    "options.order": {
        "original": "options in the data set's order",
        "shuffle": "options shuffled",
        "circular": "options in every order",
    },
}


@dataclass(frozen=True, slots=True)
class Companion:
    """name: what is different. official: of the questions that it answered."""

    name: str
    directory: str
    official: Proportion


def companions(run: Run, parser: str) -> tuple[Companion, ...]:
    """The runs in the same folder with the same data set, model, parser and settings but for a telling one.

    Of each kind the one that answered most, and of these the latest. A run that cannot be read is left out.
    """
    own = _settings(run)
    found: dict[str, Companion] = {}
    for other in _neighbours(run):
        theirs = _settings(other)
        differing = [key for key in own | theirs if own.get(key) != theirs.get(key)]
        if len(differing) != 1 or differing[0] not in _TELLING:
            continue
        value, official = theirs.get(differing[0]), _official(other, parser)
        name = _TELLING[differing[0]].get(value, f"{differing[0]} {value}")
        known = found.get(name)
        if official is not None and (known is None or official.total >= known.official.total):
            found[name] = Companion(name, other.directory.name, official)
    return tuple(found[name] for name in sorted(found))


def _neighbours(run: Run) -> Iterator[Run]:
    """Other runs of the folder, oldest first."""
    own = run.directory.resolve()
    runs = []
    for path in own.parent.iterdir():
        if path == own or not path.is_dir():
            continue
        try:
            runs.append(Run.load(path))
        except ScoringError:
            continue
    yield from sorted(runs, key=lambda other: (str(other.info["started"]), other.directory.name))


def _settings(run: Run) -> dict[str, Any]:
    """What must be equal, flat: the data, the model, and every key that moves the score."""
    measured = {key: value for key, value in run.config.items() if key not in OPERATIONAL | {"model"}}
    settings = {
        "dataset": run.info["dataset"].get("fingerprint"),
        "asked model": run.info["server"].get("model") or run.config.get("model"),
    }
    for key, value in measured.items():
        if isinstance(value, Mapping) and key in ("decode", "options"):
            settings |= {f"{key}.{name}": inner for name, inner in value.items()}
        else:
            settings[key] = value
    settings.setdefault("media", "full")
    settings.setdefault("question_place", "after")
    settings.setdefault("stack_frames", 1)
    settings.setdefault("options.order", "original")
    settings.setdefault("options.seed", 0)
    settings.setdefault("decode.constrain", None)
    return settings


def _official(run: Run, parser: str) -> Proportion | None:
    """Its accuracy as last scored; None when it was not, or by another parser."""
    try:
        report = run.report()
        if report["parser"] != parser:
            return None
        return TypeAdapter(Proportion).validate_python(report["official"])
    except (ScoringError, KeyError, TypeError, ValueError):
        return None
