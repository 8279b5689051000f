"""A report as Markdown."""

from __future__ import annotations

from omnieval.report.page import Page, Table


def to_markdown(page: Page) -> str:
    """The whole page. Text from the model or the data set is escaped."""
    lines = [f"# {_escaped(page.headline)}", ""]
    lines += [f"Measured by {_escaped(page.measured_by)}, run `{page.directory}`.", ""]
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
    rows = [table.columns, tuple(rules), *(tuple(_escaped(cell) for cell in row) for row in table.rows)]
    return [f"| {' | '.join(row)} |" for row in rows]


def _escaped(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in flat)
