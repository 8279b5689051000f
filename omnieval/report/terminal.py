"""A report on a terminal, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnieval.parsing import visible
from omnieval.report.page import Page, Table

if TYPE_CHECKING:
    from rich.console import Console


def show(page: Page, console: Console) -> None:
    """Print the page. Text from the model or the data set is neither markup nor a terminal command."""
    from rich.text import Text

    console.print(Text(visible(page.headline), style="bold"))
    console.print(Text(visible(f"{page.measured_by} · run {page.directory}"), style="dim"))
    for line in page.warnings:
        console.print(Text(visible(line), style="bold yellow"))
    for table in page.tables:
        show_table(table, console)
    for note in page.notes:
        console.print(Text(visible(f"note: {note}")))


def show_table(table: Table, console: Console) -> None:
    """Print the table; row by row, a line a cell, where the terminal is too narrow for its numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    from omnieval.report.column_widths import laid_out

    title = Text(visible(table.title), style="bold")
    columns = [visible(column) for column in table.columns]
    rows = [[visible(cell) for cell in row] for row in table.rows]
    layout = laid_out(columns, rows, table.numeric, console.width)
    if layout is None:
        console.print(title, end="\n\n")
        for row in rows:
            for column, cell in zip(columns, row, strict=True):
                if cell:
                    console.print(Text.assemble((f"{column}: ", "bold"), cell), overflow="fold")
            console.print()
        return
    grid = Grid(
        title=title, title_justify="left", box=SIMPLE_HEAD,
        padding=(0, 1) if layout.gap == 3 else (0, 1, 0, 0), collapse_padding=False,
    )  # fmt: skip
    for position, (column, width) in enumerate(zip(columns, layout.widths, strict=True)):
        numeric = position in table.numeric
        grid.add_column(Text(column), justify="right" if numeric else "left", overflow="fold", width=width)
    for cells in layout.cells:
        grid.add_row(*map(Text, cells))
    console.print(grid)
