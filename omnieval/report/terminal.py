"""A report on a terminal, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnieval.parsing import visible
from omnieval.report.page import Page, Table

if TYPE_CHECKING:
    from rich.console import Console


def show(page: Page, console: Console) -> None:
    """Print the page. Text from the model or the data set is neither markup nor a terminal command."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    console.print(Text(visible(page.headline), style="bold"))
    console.print(Text(visible(f"{page.measured_by} · run {page.directory}"), style="dim"))
    for line in page.warnings:
        console.print(Text(visible(line), style="bold yellow"))
    for table in page.tables:
        title = Text(visible(table.title), style="bold")
        grid = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
        for position, column in enumerate(table.columns):
            numeric = position in table.numeric
            grid.add_column(
                Text(visible(column)),
                justify="right" if numeric else "left",
                overflow="fold",
                no_wrap=numeric,
            )
        stacked = _words_are_cut(table, console.width)
        for row in table.rows:
            cells = [
                cell.replace(" (", "\n(") if stacked and position in table.numeric else cell
                for position, cell in enumerate(map(visible, row))
            ]
            grid.add_row(*map(Text, cells))
        console.print(grid)
    for note in page.notes:
        console.print(Text(visible(f"note: {note}")))


def _words_are_cut(table: Table, width: int) -> bool:
    """Whether numbers on one line leave less room than the other columns' longest words take; counts, as in
    "78.28 % (937/1197)", then go below their percentages."""
    taken = 1
    for position, cells in enumerate(zip(table.columns, *table.rows, strict=True)):
        parts = cells if position in table.numeric else " ".join(cells).split()
        taken += 3 + max(map(len, parts), default=0)
    return taken > width
