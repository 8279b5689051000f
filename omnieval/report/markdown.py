"""A report as Markdown."""

from __future__ import annotations

from omnieval.parsing import visible
from omnieval.report.page import Page, Table


def to_markdown(page: Page) -> str:
    """The whole page. Text from the model or the data set is escaped, and control characters are replaced,
    since a report is shown on terminals too."""
    lines = [f"# {_escaped(page.headline)}", ""]
    lines += [f"Measured by {_escaped(page.measured_by)}, run {_escaped(page.directory)}.", ""]
    for warning in page.warnings:
        lines += [f"**{_escaped(warning)}**", ""]
    for table in page.tables:
        lines += [f"## {_escaped(table.title)}", "", *_table(table), ""]
    if page.notes:
        lines += ["## Notes", "", *(f"- {_escaped(note)}" for note in page.notes), ""]
    lines.append(page.footer)
    return "\n".join(lines) + "\n"


def _table(table: Table) -> list[str]:
    rules = ["---:" if position in table.numeric else "---" for position in range(len(table.columns))]
    columns, *rows = [tuple(_escaped(cell) for cell in row) for row in (table.columns, *table.rows)]
    return [f"| {' | '.join(row)} |" for row in (columns, tuple(rules), *rows)]


def _escaped(text: str) -> str:
    flat = visible(" ".join(text.split()))
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in flat)
