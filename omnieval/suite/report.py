"""The members of a suite as one report: a line for each, and what belongs above the figures of any."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from omnieval.errors import ScoringError
from omnieval.report.build import Report
from omnieval.report.gate import Verdict
from omnieval.report.pages import page_of
from omnieval.report.proportion import Proportion
from omnieval.report.speech import SpeechReport
from omnieval.report.stored import read_report
from omnieval.runlog.store import GATE_JSON, REPORT_HTML, REPORT_JSON, exists
from omnieval.suite.gate import SuiteGateResult
from omnieval.suite.store import Suite
from omnieval.types import JsonDict

State = Literal["finished", "unfinished", "not begun", "not scored", "cannot be run"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A headline figure: accuracy or WER in percent, or cosine similarity. low, high: its 95 % interval.
    reference: the first known result; comparable: whether it was measured alike."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    reference: float | None = None
    reference_name: str | None = None
    comparable: bool = False


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One member. answered of asked samples; failed: those without an answer. gate: its verdict, if judged.
    problem: why it could not be run or reported. unheard: its sounds wait for a recogniser. whole: asked
    whole, since it is spoken, where others may end early. report: its own report, from the suite's
    directory."""

    name: str
    recipe: str
    model: str
    state: State
    figures: tuple[Figure, ...] = ()
    unhealthy: Proportion | None = None
    answered: int = 0
    asked: int = 0
    failed: int = 0
    gate: Verdict | None = None
    problem: str | None = None
    unheard: bool = False
    warnings: tuple[str, ...] = ()
    report: str | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """report.json of a suite. complete: every member is finished. verdict: of the gate by which it was last
    judged, None before."""

    name: str
    directory: str
    started: str
    gate: str | None
    verdict: Verdict | None
    complete: bool
    members: tuple[MemberRow, ...]
    kind: Literal["suite"] = "suite"


def build_suite_report(suite: Suite) -> SuiteReport:
    """From the members' own reports as last written."""
    judged = _judged(suite)
    verdicts = {} if judged is None else {name: result.verdict for name, result in judged.members.items()}
    problems = suite.problems()
    rows = tuple(_member(suite, name, verdicts.get(name), problems.get(name)) for name in suite.names)
    return SuiteReport(
        name=suite.info.name,
        directory=suite.directory.name,
        started=suite.info.started,
        gate=suite.info.gate if judged is None else judged.gate,
        verdict=None if judged is None else judged.verdict,
        complete=all(row.state == "finished" for row in rows),
        members=rows,
    )


def report_json(report: SuiteReport) -> JsonDict:
    """Everything in it, JSON-ready."""
    content: JsonDict = TypeAdapter(SuiteReport).dump_python(report, mode="json")
    return content


def _judged(suite: Suite) -> SuiteGateResult | None:
    """The verdicts, unless a member was scored after they were given."""
    reports = [suite.directory / name / REPORT_JSON for name in suite.names]
    try:
        judged = (suite.directory / GATE_JSON).stat().st_mtime_ns
        if any(path.stat().st_mtime_ns > judged for path in reports if path.exists()):
            return None
        return TypeAdapter(SuiteGateResult).validate_json((suite.directory / GATE_JSON).read_bytes())
    except (OSError, ValidationError):
        return None


def _member(suite: Suite, name: str, verdict: Verdict | None, problem: str | None) -> MemberRow:
    stored = next(member.config for member in suite.info.members if member.name == name)
    recipe, model = str(stored["recipe"]), str(stored.get("model") or stored.get("backend"))
    directory = suite.directory / name
    if not exists(directory):
        state: State = "not begun" if problem is None else "cannot be run"
        return MemberRow(name, recipe, model, state, problem=problem)
    run = suite.runs()[name]
    try:
        report = read_report(run)
    except ScoringError as error:
        return MemberRow(name, recipe, model, "not scored", problem=problem or str(error))
    early = any(member.config.get("stop_when") is not None for member in suite.info.members)
    figures = _spoken(report) if isinstance(report, SpeechReport) else (_accuracy(report),)
    asked = report.asked if isinstance(report, SpeechReport) else report.strict.total
    waiting = sum(count.count for count in report.accounting if count.label == "not asked: not finished")
    failed = sum(row.count for row in report.failures)
    return MemberRow(
        name,
        recipe,
        str(report.run["model"] or report.run["backend"]),
        "finished" if report.complete and problem is None else "unfinished",
        figures,
        report.unhealthy,
        asked - waiting - failed,
        asked,
        failed,
        verdict,
        problem,
        isinstance(report, SpeechReport) and report.recogniser is None and not report.not_measured,
        page_of(report).warnings,
        f"{name}/{REPORT_HTML}",
        early and isinstance(report, SpeechReport),
    )


def _accuracy(report: Report) -> Figure:
    low, high = report.official.interval or (None, None)
    value = report.official.value
    known = report.references[0] if report.references else None
    return Figure(
        "accuracy",
        _percent(value),
        _percent(low),
        _percent(high),
        None if known is None else 100 * known.accuracy,
        None if known is None else known.name,
        known is not None and known.caveat is None,
    )


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _spoken(report: SpeechReport) -> tuple[Figure, ...]:
    figures = []
    if report.wer is not None:
        wer = report.wer
        figures.append(_beside(Figure("WER", wer.official_percent, wer.low, wer.high), report, "wer"))
    if report.similarity is not None:
        sim = report.similarity
        figures.append(_beside(Figure("SIM", sim.mean, sim.low, sim.high), report, "similarity"))
    return tuple(figures)


def _beside(figure: Figure, report: SpeechReport, field: Literal["wer", "similarity"]) -> Figure:
    """The figure with the first known result that has one."""
    for row in report.references:
        known: float | None = getattr(row, field)
        if known is not None:
            alike = row.caveat is None and getattr(row, f"{field}_caveat") is None
            return replace(figure, reference=known, reference_name=row.name, comparable=alike)
    return figure
