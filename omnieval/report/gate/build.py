"""A run and a gate to verdicts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from omnieval.errors import ConfigError, ScoringError
from omnieval.report.build import Report
from omnieval.report.compare import Side, compare_runs, load_side
from omnieval.report.gate.file import Gate
from omnieval.report.gate.line import FIGURES, OPERATORS, GateLine
from omnieval.report.gate.reading import Reading, read_figure
from omnieval.report.speech import SpeechReport
from omnieval.scoring.early import Figure
from omnieval.stats import RTF_NOISE, RTF_REAL
from omnieval.wording import counted, suggest

Verdict = Literal["pass", "fail", "undecided"]
# What is known of a run that has not ended.
_KNOWN_EARLY = frozenset({"coverage", "rows", "config"})


@dataclass(frozen=True, slots=True)
class LineResult:
    """line: of the gate file. value, low, high: in the figure's unit; None where there is none."""

    line: int
    text: str
    verdict: Verdict
    reason: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class GateResult:
    """verdict: fail if any line fails, else undecided if any is, else pass. gate: the file's name.
    not_kept: why the verdicts are not in the run's directory, as of one that may only be read."""

    run: Mapping[str, Any]
    gate: str
    verdict: Verdict
    lines: tuple[LineResult, ...]
    not_kept: str | None = None


def judge_run(side: Side, gate: Gate, *, section: str | None = None) -> GateResult:
    """Judge every line of the gate that is for this run.

    section: whose lines to take, instead of those for the run's recipe. A line is undecided where the 95 %
    interval straddles it, where RTF differs from it by no more than noise, where the figure was not measured,
    and, but for counts, where the run has not ended.
    Raises ConfigError for a line that this kind of run cannot have, or that names a run that is none.
    """
    lines = tuple(
        _judged(line, side, gate.path) for line in gate.lines(str(side.run.config["recipe"]), section)
    )
    return GateResult(side.report.run, gate.path.name, _overall(lines), lines)


def _overall(lines: Sequence[LineResult]) -> Verdict:
    verdicts = {line.verdict for line in lines}
    return "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"


def _judged(line: GateLine, side: Side, path: Path) -> LineResult:
    if line.name == "config":
        return _setting(line, side)
    kind = "speech" if isinstance(side.report, SpeechReport) else "choice"
    if FIGURES[line.name].runs not in ("any", kind):
        raise ConfigError(
            f"{path}, line {line.number}: a {kind} run has no {line.name}; "
            "put the line into a section of its own, named like the recipe that it is for"
        )
    if line.name == "drop_vs":
        reading = _drop(line, side, path)
    else:
        reading = read_figure(side, line.name, line.argument)
    verdict, reason = _verdict(line, reading)
    figure = line.early_figure
    if _ended_early(side) and figure is not None:
        return _decided_early(line, figure, side.report, reading)
    if _ended_early(side) and line.name not in _KNOWN_EARLY and not line.by_value:
        verdict, reason = (
            "undecided",
            "the run ended early, and a part decides only accuracy, strict and unhealthy",
        )
    if line.name not in _KNOWN_EARLY and not side.report.complete:
        verdict, reason = "undecided", "the run has not ended; resume it"
    return LineResult(line.number, line.text, verdict, reason, reading.value, reading.low, reading.high)


def _ended_early(side: Side) -> bool:
    early = None if isinstance(side.report, SpeechReport) else side.report.early
    return early is not None and early.ended


def _decided_early(
    line: GateLine, figure: Figure, report: Report | SpeechReport, reading: Reading
) -> LineResult:
    """By the confidence sequence, for what the whole set would give; an interval that takes the number of
    questions as given does not hold where the answers decided when to end."""
    assert isinstance(report, Report)
    early = report.early
    assert early is not None
    low, high = early.interval(figure)
    value = reading.value
    verdict: Verdict = next(
        (found.verdict or "undecided" for found in early.lines if found.text == line.text), "undecided"
    )
    holds = OPERATORS[line.operator]
    if verdict == "undecided" and holds(low, line.threshold) == holds(high, line.threshold):
        verdict = "pass" if holds(low, line.threshold) else "fail"
    if figure == "unhealthy" and verdict == "pass" and (value is None or not holds(value, line.threshold)):
        verdict = "undecided"  # replies that are alike count too, and no sequence foretells them
    told = f"ended early: by {early.counted} of {early.questions} questions the whole set"
    reason = f"{told} may lie on either side" if verdict == "undecided" else (
        f"{told} surely {'meets' if verdict == 'pass' else 'misses'} the line (wrong with a chance of at "
        f"most {100 * early.error:g} %)"
    )  # fmt: skip
    return LineResult(line.number, line.text, verdict, reason, value, low, high)


def _verdict(line: GateLine, reading: Reading) -> tuple[Verdict, str]:
    if reading.value is None:
        return "undecided", reading.missing or "not measured"
    holds, exact = OPERATORS[line.operator], FIGURES[line.name].exact
    told = f" ({reading.told})" if reading.told else ""
    if line.operator == "==":
        met = math.isclose(reading.value, line.threshold, rel_tol=1e-9)
    else:
        met = holds(reading.value, line.threshold)
    decided: Verdict = "pass" if met else "fail"
    shown = f"{'meets' if met else 'misses'} the line"
    if line.by_value or exact or FIGURES[line.name].unit == "seconds":
        return decided, f"the value {shown}{told}"
    if FIGURES[line.name].unit == "ratio":
        return _beside_noise(abs(reading.value - line.threshold), decided, shown, told)
    if reading.low is None or reading.high is None:
        return "undecided", f"the value {shown}, but so few, or all alike, have no interval{told}"
    if holds(reading.low, line.threshold) == holds(reading.high, line.threshold) == met:
        return decided, f"the whole 95 % interval {shown}{told}"
    return "undecided", f"the value {shown}, but its 95 % interval straddles it{told}"


def _beside_noise(distance: float, decided: Verdict, shown: str, told: str) -> tuple[Verdict, str]:
    if distance < RTF_NOISE:
        return "undecided", f"the value {shown}, by less than the noise of {RTF_NOISE}{told}"
    if distance <= RTF_REAL:
        return "undecided", f"the value {shown}, by less than the {RTF_REAL} that are surely real{told}"
    return decided, f"the value {shown} by more than {RTF_REAL}{told}"


def _drop(line: GateLine, side: Side, path: Path) -> Reading:
    """How many points of accuracy were lost against another run, which is named from the gate's folder."""
    place = path.parent / Path(line.argument or "").expanduser()
    try:
        before = load_side(place)
    except (ScoringError, ConfigError) as error:
        raise ConfigError(f"{path}, line {line.number}: {error}") from error
    try:
        found = compare_runs(before, side)
    except (ScoringError, ConfigError) as error:
        return Reading(None, missing=str(error))
    change = None if found.choice is None else found.choice.official.paired
    if change is None:
        return Reading(None, missing="no question was answered by both runs")
    shared = counted(change.count, "question", "questions")
    told = "; ".join([f"over {shared} answered by both", *found.warnings])
    value, low, high = (100 * (0.0 - part) for part in (change.difference, change.high, change.low))  # no -0
    return Reading(value, low, high, told=told)


def _setting(line: GateLine, side: Side) -> LineResult:
    config: Any = side.run.config
    *sections, last = (line.argument or "").split(".")
    for section in sections:
        config = config.get(section) if isinstance(config, Mapping) else None
    if not isinstance(config, Mapping) or last not in config:
        known = config if isinstance(config, Mapping) and not sections else ()
        near = suggest(last, known) if known else ""
        return LineResult(
            line.number, line.text, "fail", f"the run has no such setting{near}", None, None, None
        )
    found = config[last]
    shown = json.dumps(found, ensure_ascii=False)
    verdict: Verdict = "pass" if found == line.threshold else "fail"
    return LineResult(line.number, line.text, verdict, f"the run has {shown}", None, None, None)
