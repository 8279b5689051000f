"""A Report as Markdown."""

from __future__ import annotations

from omnieval.report.build import Report
from omnieval.report.tables import Table, headline, status, tables


def to_markdown(report: Report) -> str:
    """The whole report. Text from the model or the data set is escaped."""
    lines = [f"# {_escaped(headline(report))}", ""]
    lines += [f"Parser `{report.parser}`, run `{report.run['directory']}`.", ""]
    for warning in status(report):
        lines += [f"**{_escaped(warning)}**", ""]
    for table in tables(report):
        lines += [f"## {table.title}", "", *_table(table), ""]
    if report.notes:
        lines += ["## Notes", "", *(f"- {_escaped(note)}" for note in report.notes), ""]
    lines.append(
        "Intervals are Wilson intervals that take questions as independent. Official accuracy counts "
        "answered questions; strict accuracy counts every selected question that has a usable answer."
    )
    return "\n".join(lines) + "\n"


def _table(table: Table) -> list[str]:
    rules = ["---:" if position in table.numeric else "---" for position in range(len(table.columns))]
    rows = [table.columns, tuple(rules), *(tuple(_escaped(cell) for cell in row) for row in table.rows)]
    return [f"| {' | '.join(row)} |" for row in rows]


def _escaped(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in flat)
