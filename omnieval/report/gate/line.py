"""One line of a gate: `FIGURE OPERATOR NUMBER [UNIT] [by value]`, or `config.KEY == VALUE`.

Figures are `accuracy`, `sim[wavlm-sv]`, `drop_vs(RUN)`, `rtf.median` and the like (see `FIGURES`); operators
>=, >, <=, < and, for counts that are exact, ==. A number without a unit is in the figure's own: a fraction
for shares, percent for `wer`, points of accuracy for `drop_vs`, seconds for times. Nothing of a line is ever
executed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from omnieval.scoring.early import EARLY_FIGURES, Figure
from omnieval.wording import suggest

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
_FORM = re.compile(
    r"(?P<name>[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)(?:\[(?P<key>[^\[\]]+)\]|\((?P<run>[^()]+)\))?\s*"
    r"(?P<operator>>=|<=|==|>|<)\s*(?P<number>-?\d+(?:\.\d+)?)\s*(?P<unit>%|points|ms|s)?"
    r"(?P<plain>\s+by value)?"
)
_CONFIG = re.compile(r"config\.(?P<key>[A-Za-z0-9_.]+)\s*==\s*(?P<value>\S.*)")
_EXAMPLE = "`accuracy >= 0.775` or `config.plan == minicpm`"


@dataclass(frozen=True, slots=True)
class FigureKind:
    """What a name stands for. runs: choice, speech or any. unit: of its values and thresholds. argument: what
    stands in brackets after it, None for nothing. exact: a count of this run, not an estimate."""

    runs: str
    unit: str
    argument: str | None = None
    exact: bool = False


_LATENCIES = ("ttft", "ttfp", "itl", "tpot", "e2e", "rtf")
_STATISTICS = ("mean", "median", "p90", "p95", "p99")
FIGURES: Mapping[str, FigureKind] = {
    "accuracy": FigureKind("choice", "fraction"),
    "strict": FigureKind("choice", "fraction"),
    "drop_vs": FigureKind("choice", "points", argument="(RUN)"),
    "wer": FigureKind("speech", "percent"),
    "lenient_wer": FigureKind("speech", "percent"),
    "sim": FigureKind("speech", "cosine", argument="[ENCODER]"),
    "unhealthy": FigureKind("any", "fraction"),
    "coverage": FigureKind("any", "fraction", exact=True),
    "rows": FigureKind("any", "count", exact=True),
    **{
        f"{figure}.{statistic}": FigureKind("any", "ratio" if figure == "rtf" else "seconds")
        for figure in _LATENCIES
        for statistic in _STATISTICS
    },
}
# Unit of a figure -> unit written in a line -> factor.
_UNITS: Mapping[str, Mapping[str, float]] = {
    "fraction": {"": 1.0, "%": 0.01},
    "percent": {"": 1.0, "%": 1.0},
    "points": {"": 1.0, "points": 1.0},
    "seconds": {"": 1.0, "s": 1.0, "ms": 0.001},
}
_MEASURED = {"points": "in points of accuracy", "percent": "in percent", "seconds": "in seconds"}
# Where a number of at most 1 with a percent sign is surely a fraction.
_HIGH = ("accuracy", "strict", "coverage")
# The known names as an error lists them.
KNOWN = (
    "accuracy, strict, drop_vs(RUN), wer, lenient_wer, sim[ENCODER], unhealthy, coverage, rows, config.KEY, "
    f"{{{','.join(_LATENCIES)}}}.{{{','.join(_STATISTICS)}}}"
)


@dataclass(frozen=True, slots=True)
class GateLine:
    """number: its line in the file, from 1. name: a key of FIGURES, or `config`. argument: encoder, run or
    configuration key. threshold: in the figure's unit, or the value that a setting must have. by_value: the
    interval is left out of account."""

    number: int
    text: str
    name: str
    argument: str | None
    operator: str
    threshold: Any
    by_value: bool = False

    @property
    def early_figure(self) -> Figure | None:
        """The figure by which a part of the questions can decide the line; None for any other line."""
        if self.name == "unhealthy" and self.by_value:
            return None
        return next((figure for figure in EARLY_FIGURES if figure == self.name), None)


def parse_line(text: str, number: int) -> GateLine:
    """Read one line. Raises ValueError that says what is wrong with it; the caller names file and line."""
    text = " ".join(text.split())
    setting = _CONFIG.fullmatch(text)
    if setting is not None:
        return GateLine(number, text, "config", setting["key"], "==", _plain(setting["value"]))
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"expected a figure, an operator and a number, such as {_EXAMPLE}")
    name = found["name"]
    kind = FIGURES.get(name)
    if kind is None:
        raise ValueError(f"unknown figure {name!r}{_near(name)}; known: {KNOWN}")
    _check_argument(name, kind, found)
    factors = _UNITS.get(kind.unit, {"": 1.0})
    unit = found["unit"] or ""
    if unit not in factors:
        raise ValueError(
            f"{name} is {_MEASURED.get(kind.unit, f'a {kind.unit}')}, which has no unit {unit!r}"
        )
    if name in _HIGH and unit == "%" and 0 < float(found["number"]) <= 1:
        raise ValueError(
            f"{name} of {found['number']} % is next to nothing: write {found['number']} without %"
        )
    threshold = round(float(found["number"]) * factors[unit], 12)
    if kind.unit == "fraction" and not 0 <= threshold <= 1:
        raise ValueError(f"{name} is a fraction: write 0.775, or 77.5 %, not {found['number']}")
    if found["operator"] == "==" and not kind.exact:
        raise ValueError(f"{name} is an estimate and never quite equals a number; use >=, >, <= or <")
    return GateLine(
        number, text, name, found["key"] or found["run"], found["operator"], threshold, bool(found["plain"])
    )


def _check_argument(name: str, kind: FigureKind, found: re.Match[str]) -> None:
    given = "[ENCODER]" if found["key"] else "(RUN)" if found["run"] else None
    if given != kind.argument:
        wanted = f"{name}{kind.argument or ''}"
        raise ValueError(f"write {wanted}, with nothing else in brackets")


def _plain(value: str) -> Any:
    """A value as a recipe would have it."""
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ValueError(f"the value {value!r} is not valid YAML") from error


def _near(name: str) -> str:
    near = suggest(name.replace(".p50", ".median"), FIGURES)
    return near if near.startswith(" (did") else ""
