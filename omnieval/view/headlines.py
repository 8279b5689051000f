"""What the list of runs says of each: its figure, what was run, and what is amiss; suites as a group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from omnieval.errors import OmnievalError
from omnieval.runlog import Run
from omnieval.runlog.store import GATE_JSON, REPORT_JSON, RUN
from omnieval.suite import Suite, SuiteReport, build_suite_report, holds_suite
from omnieval.suite.report import MemberRow
from omnieval.suite.store import PROBLEMS, SUITE
from omnieval.view.folders import RunPlace


@dataclass(frozen=True)
class Headline:
    """figure: the official one, or ''. about: what was run. remark: what is amiss, or ''. speech: whether
    it is of utterances."""

    figure: str = ""
    about: str = ""
    remark: str = ""
    speech: bool = False


@dataclass(frozen=True)
class Line:
    """A run in the list; place: None for a member of a suite that was not begun. verdict: of its gate."""

    name: str
    place: RunPlace | None
    headline: Headline
    verdict: str = ""


@dataclass(frozen=True)
class Block:
    """Runs that belong together. title: '' for runs on their own. verdict: of the suite's gate."""

    title: str
    about: str
    verdict: str
    lines: tuple[Line, ...]


def blocks(places: Iterable[RunPlace]) -> Iterator[Block]:
    """The list of runs, in the order given; neighbours of the same folder are one block."""
    for group, members in groupby(places, key=lambda place: place.group):
        lines = tuple(Line(place.name, place, headline(place.path)) for place in members)
        if group is None:
            yield Block("", "", "", lines)
        elif holds_suite(group):
            yield _suite(group, lines)
        else:
            yield Block(group.name, "", "", lines)


def _suite(directory: Path, lines: tuple[Line, ...]) -> Block:
    try:
        report = _suite_report(directory, _suite_stamps(directory))
    except OmnievalError as error:
        return Block(directory.name, str(error), "", lines)
    except Exception as error:  # noqa: BLE001 - a suite from elsewhere may be anything; its runs are shown
        return Block(directory.name, f"Its report cannot be made: {type(error).__name__}", "", lines)
    known = {line.name: line for line in lines}
    members = [
        _member(row, known.pop(row.name, None))
        for row in report.members
        if row.name in known or row.state in ("not begun", "cannot be run")
    ]  # others stand on another page of the list
    return Block(report.name, _told(report), report.verdict or "", (*members, *known.values()))


def _suite_stamps(directory: Path) -> tuple[tuple[str, int, int], ...]:
    """Of every file that a suite's report is made from."""
    own = [directory / name for name in (SUITE, PROBLEMS, GATE_JSON)]
    of_members = sorted(path for name in (RUN, REPORT_JSON) for path in directory.glob(f"*/{name}"))
    return tuple((str(path), *_stamp(path)) for path in (*own, *of_members))


@lru_cache(maxsize=1_000)
def _suite_report(directory: Path, _stamps: tuple[tuple[str, int, int], ...]) -> SuiteReport:
    return build_suite_report(Suite.load(directory))


def _member(row: MemberRow, line: Line | None) -> Line:
    if line is None:
        told = Headline(about=f"{row.recipe} · {row.model}", remark=row.problem or row.state)
        return Line(row.name, None, told)
    return replace(line, verdict=row.gate or "")


def _told(report: SuiteReport) -> str:
    finished = sum(row.state == "finished" for row in report.members)
    gate = f" · gate {report.gate}" if report.gate else ""
    return f"suite {report.directory} · {finished} of {len(report.members)} members finished{gate}"


def headline(run: Path) -> Headline:
    """What is known of a run, read again when its files changed."""
    return _headline(run, *(_stamp(run / name) for name in (RUN, REPORT_JSON)))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        facts = path.stat()
    except OSError:
        return 0, 0
    return facts.st_size, facts.st_mtime_ns


@lru_cache(maxsize=20_000)
def _headline(directory: Path, _run: tuple[int, int], _report: tuple[int, int]) -> Headline:
    try:
        run = Run.load(directory)
    except OmnievalError as error:
        return Headline(remark=str(error))
    config = run.config
    about = " · ".join(str(config[key]) for key in ("recipe", "model", "backend") if config.get(key))
    about = f"{about} · {run.info['started'][:16].replace('T', ' ')}"
    speech = run.info.get("scoring") == "speech"
    try:
        report = json.loads((directory / REPORT_JSON).read_bytes())
        if report["kind"] == "speech":
            return Headline(_spoken(report), about, "" if report["complete"] else "Not complete.", True)
        official = report["official"]
        figure = f"{100 * official['value']:.1f} % of {official['total']:,}"
        return Headline(figure, about, "" if report["complete"] else "Not complete.")
    except FileNotFoundError:
        return Headline("", about, "Not scored yet.", speech)
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return Headline("", about, "No figure yet.", speech)


def _spoken(report: dict[str, dict[str, float] | None]) -> str:
    wer, similarity = report["wer"], report["similarity"]
    figures = [] if wer is None else [f"WER {wer['official_percent']:.2f} %"]
    return ", ".join(figures + ([] if similarity is None else [f"SIM {similarity['mean']:.3f}"]))
