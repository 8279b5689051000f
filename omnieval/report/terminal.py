"""A report on a terminal, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnieval.parsing import visible
from omnieval.report.page import Page

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
        for row in table.rows:
            grid.add_row(*(Text(visible(cell)) for cell in row))
        console.print(grid)
    for note in page.notes:
        console.print(Text(visible(f"note: {note}")))
