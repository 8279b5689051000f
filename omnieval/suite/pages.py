"""The report of a suite as a page, and as the files in its directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnieval.report.html import VERDICT_TONES, Article, Tile, Tone, document
from omnieval.report.html.parts import report_links
from omnieval.report.markdown import to_markdown
from omnieval.report.page import Page, Table
from omnieval.runlog.files import replace_file, replace_json
from omnieval.runlog.store import REPORT_HTML, REPORT_JSON, REPORT_MD
from omnieval.suite.plan import HEARD_LATER
from omnieval.suite.report import Figure, MemberRow, SuiteReport, build_suite_report, report_json
from omnieval.suite.store import Suite


def write_report(suite: Suite) -> SuiteReport:
    """Build and keep it as report.json, report.md and report.html. Raises StorageError."""
    report = build_suite_report(suite)
    replace_json(suite.directory / REPORT_JSON, report_json(report))
    replace_file(suite.directory / REPORT_MD, [to_markdown(suite_page(report)).encode()])
    replace_file(suite.directory / REPORT_HTML, [suite_html(report).encode()])
    return report


def suite_page(report: SuiteReport) -> Page:
    """One line a member, and the warnings of all."""
    rows = tuple(_cells(row) for row in report.members)
    columns = ("member", "figure", "95 % interval", "reference", "answered", "failed", "unhealthy", "gate")
    verdict = "" if report.verdict is None else f"{report.verdict.upper()} · "
    models = ", ".join(dict.fromkeys(row.model for row in report.members))
    judged = "no gate yet" if report.verdict is None else f"gate {report.gate}"
    return Page(
        headline=f"{verdict}suite {report.name} · {models}",
        measured_by=f"{len(report.members)} members, {judged}",
        directory=report.directory,
        warnings=tuple(_warnings(report)),
        tables=(Table("Members", columns, rows, numeric=(4, 5, 6)),),
        notes=tuple(_notes(report)),
        footer="Accuracies are official ones, of answered questions. A reference in brackets was measured "
        "otherwise; the member's own report says how.",
    )


def suite_html(report: SuiteReport) -> str:
    """One file, with the figures of every member at its top and links to their reports."""
    page = replace(suite_page(report), notes=())  # they name the reports, as the links do
    before = report_links((row.name, row.report) for row in report.members)
    tiles = tuple(tile for row in report.members for tile in _tiles(row))
    return document([Article(page, "Suite", tiles, before=before)])


def _tiles(row: MemberRow) -> Iterator[Tile]:
    """Its figures, in the colour of its verdict."""
    tone: Tone = VERDICT_TONES[row.gate] if row.gate is not None else ""
    for figure in row.figures:
        if figure.value is None:
            continue
        told = [
            None if figure.low is None else f"95 % interval {_interval(figure)}",
            None if row.gate is None else f"gate: {row.gate}",
        ]
        yield Tile(
            f"{row.name}, {figure.name}", _shown(figure, figure.value), "; ".join(filter(None, told)), tone
        )
    if all(figure.value is None for figure in row.figures):
        yield Tile(row.name, row.state, f"{row.answered}/{row.asked} answered", "doubt")


def _warnings(report: SuiteReport) -> list[str]:
    left = [row.name for row in report.members if row.state in ("unfinished", "not begun")]
    lines = [f"INCOMPLETE: {', '.join(left)}; resume the suite"] if left else []
    for row in report.members:
        if row.problem is not None:
            lines.append(f"{row.name}: {row.state}: {row.problem}")
        lines += [f"{row.name}: {line}" for line in row.warnings]
    return lines


def _notes(report: SuiteReport) -> list[str]:
    lines = [f"{row.name}: report in {row.report}" for row in report.members if row.report]
    return lines + [f"{row.name}: asked whole; {HEARD_LATER}" for row in report.members if row.whole]


def _cells(row: MemberRow) -> tuple[str, ...]:
    figures = [f for f in row.figures if f.value is not None]
    return (
        row.name,
        "; ".join(_labelled(f) for f in figures) or row.state,
        "; ".join(
            "-" if f.low is None else _interval(f) for f in figures
        ) or "-",
        "; ".join(
            _shown(f, f.reference) if f.comparable else f"({_shown(f, f.reference)})"
            for f in figures
            if f.reference is not None
        ) or "-",
        f"{row.answered}/{row.asked}",
        str(row.failed),
        "-" if row.unhealthy is None or row.unhealthy.value is None else f"{100 * row.unhealthy.value:.1f} %",
        row.gate or "-",
    )  # fmt: skip


def _labelled(figure: Figure) -> str:
    shown = _shown(figure, figure.value)
    return shown if figure.name == "accuracy" else f"{figure.name} {shown}"


def _interval(figure: Figure) -> str:
    return f"{_shown(figure, figure.low, unit='')} to {_shown(figure, figure.high, unit='')}"


def _shown(figure: Figure, value: float | None, unit: str = " %") -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if figure.name == "SIM" else f"{value:.2f}{unit}"
