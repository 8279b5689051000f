"""One gate over all members of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from omnieval.errors import ConfigError, ScoringError, StorageError
from omnieval.report.compare import Side, load_side
from omnieval.report.gate import Gate, GateResult, Verdict, find_gate, gate_page, judge_run, load_gate
from omnieval.report.gate.file import ALL
from omnieval.report.html import VERDICT_TONES, Tile, counted_lines, report_html, to_html
from omnieval.report.page import Page, Table
from omnieval.runlog import Run
from omnieval.runlog.files import replace_file, replace_json
from omnieval.runlog.store import GATE_JSON, REPORT_HTML, exists
from omnieval.suite.plan import section_of
from omnieval.suite.store import Suite, member_of


@dataclass(frozen=True, slots=True)
class SuiteGateResult:
    """verdict: fail if any member fails, else undecided if any is, or cannot be judged yet, else pass.
    unjudged: members without a scored run, and why. unused: sections of the gate that are for no member.
    not_kept: why the verdicts are not in the suite's directory."""

    suite: str
    gate: str
    verdict: Verdict
    members: Mapping[str, GateResult]
    unjudged: Mapping[str, str]
    unused: tuple[str, ...]
    not_kept: str | None = None


def gate_for(run: Run, name: str | Path | None, section: str | None) -> tuple[Gate, str | None]:
    """The gate and the section by which one run is judged; those of its suite where it is a member of one.

    name, section: what was asked for, which goes before anything else. Raises ConfigError for a bad gate, or
    where neither the run nor its suite has one; ScoringError for a damaged suite.
    """
    found = member_of(run.directory) if name is None or section is None else None
    chosen = run.config.get("gate") if name is None else name
    if chosen is None and found is not None:
        chosen = found[0].info.gate
    if chosen is None:
        raise ConfigError(f"{run.directory}: this run has no gate of its own; give --gate FILE")
    gate = load_gate(find_gate(chosen))
    if section is None and found is not None:
        section = section_of(gate, found[1].name, str(run.config["recipe"]))
    return gate, section


def judged(side: Side, gate: Gate, section: str | None) -> GateResult:
    """The verdicts on one run, kept in its gate.json and report.html; else `not_kept` tells why."""
    result = judge_run(side, gate, section=section)
    directory = side.run.directory
    try:
        replace_json(directory / GATE_JSON, TypeAdapter(GateResult).dump_python(result, mode="json"))
        if (directory / REPORT_HTML).is_file():
            replace_file(directory / REPORT_HTML, [report_html(side.run, side.report).encode()])
    except StorageError as error:
        return replace(result, not_kept=str(error))
    return result


def judge_suite(suite: Suite, name: str | Path | None = None) -> SuiteGateResult:
    """Judge every member by the lines for it, and keep the verdicts, each with its run and all as gate.json.

    name: of a bundled gate, or a path; None takes the suite's own.
    Raises ConfigError for a bad gate, or a suite without one.
    """
    chosen = suite.info.gate if name is None else name
    if chosen is None:
        raise ConfigError(f"{suite.directory}: this suite has no gate of its own; give --gate FILE")
    gate = load_gate(find_gate(chosen))
    members: dict[str, GateResult] = {}
    unjudged: dict[str, str] = {}
    used = {ALL}
    for stored in suite.info.members:
        recipe = str(stored.config["recipe"])
        section = section_of(gate, stored.name, recipe)
        gate.lines(recipe, section)
        used.add(section or recipe)
        directory = suite.directory / stored.name
        try:
            if not exists(directory):
                raise ScoringError("not begun; resume the suite")
            members[stored.name] = judged(load_side(directory), gate, section)
        except ScoringError as error:
            unjudged[stored.name] = str(error)
    verdicts = {result.verdict for result in members.values()} | ({"undecided"} if unjudged else set())
    verdict: Verdict = "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"
    unused = tuple(section for section in gate.sections if section not in used)
    found = SuiteGateResult(suite.directory.name, gate.path.name, verdict, members, unjudged, unused)
    try:
        replace_json(
            suite.directory / GATE_JSON, TypeAdapter(SuiteGateResult).dump_python(found, mode="json")
        )
    except StorageError as error:
        return replace(found, not_kept=str(error))
    return found


def suite_gate_html(result: SuiteGateResult) -> str:
    """The verdicts as a file of their own, those of the members at its top."""
    tiles = [
        Tile(name, found.verdict, counted_lines(found), VERDICT_TONES[found.verdict])
        for name, found in result.members.items()
    ]
    tiles += [Tile(name, "undecided", told, "doubt") for name, told in result.unjudged.items()]
    return to_html(suite_gate_page(result), kind="Gate", tiles=tiles)


def suite_gate_page(result: SuiteGateResult) -> Page:
    """The verdict in the headline, a line a member, then every line of each."""
    rows = [
        (name, found.verdict, str(sum(line.verdict == "pass" for line in found.lines)), str(len(found.lines)))
        for name, found in result.members.items()
    ]
    rows += [(name, "undecided", "-", "-") for name in result.unjudged]
    lines = tuple(
        (name, line.text, line.verdict, line.reason)
        for name, found in result.members.items()
        for line in found.lines
    )
    warnings = [f"{name}: {told}" for name, told in result.unjudged.items()]
    warnings += [line for found in result.members.values() for line in gate_page(found).warnings]
    warnings += [] if result.not_kept is None else [f"NOT KEPT with the suite: {result.not_kept}"]
    notes = [f"the gate's section {name} has no member in this suite" for name in result.unused]
    return Page(
        headline=f"{result.verdict.upper()} · suite {result.suite}",
        measured_by=f"gate {result.gate}",
        directory=result.suite,
        warnings=tuple(warnings),
        tables=(
            Table("Members", ("member", "verdict", "lines passed", "lines"), tuple(rows), numeric=(2, 3)),
            Table("Lines", ("member", "line", "verdict", "why"), lines),
        ),
        notes=tuple(notes),
        footer="A line is undecided where the interval straddles it; undecided is not passed.",
    )
