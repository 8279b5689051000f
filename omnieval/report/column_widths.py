"""How a table fits a terminal: numbers are never cut, and words only where they are very long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

# Paths and ids may go over several lines; what most tables hold is shorter.
_LONGEST_WORD = 16


@dataclass(frozen=True)
class Layout:
    """cells: the rows, of which counts may be below their percentages. widths: of each column, in terminal
    cells. gap: blanks between columns."""

    cells: Sequence[Sequence[str]]
    widths: tuple[int, ...]
    gap: int


def laid_out(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int], width: int
) -> Layout | None:
    """The widest layout in which a table is at most `width` cells wide; None where it has no room.

    Room is made step by step: counts, as in "78.28 % (937/1197)", go below their percentages, gaps become
    narrow, and at last long words of text are broken.
    """
    stacked = [
        [cell.replace(" (", "\n(") if at in numeric else cell for at, cell in enumerate(row)] for row in rows
    ]
    for cells, gap, longest in ((rows, 3, width), (stacked, 3, width), (stacked, 2, width), (stacked, 2, 0)):
        room = width - gap * len(columns) - 1
        found = _widths(list(zip(columns, *cells, strict=True)), numeric, room, max(longest, _LONGEST_WORD))
        if found is not None:
            return Layout(cells, found, gap)
    return None


def _widths(
    columns: Sequence[Sequence[str]], numeric: Sequence[int], room: int, longest: int
) -> tuple[int, ...] | None:
    """Each column as wide as it needs, and text as wide as it likes while there is room, short text first."""
    lines = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    widths = [
        line
        if at in numeric
        else min(longest, max((cell_len(word) for cell in column for word in cell.split()), default=0))
        for at, (column, line) in enumerate(zip(columns, lines, strict=True))
    ]
    spare = room - sum(widths)
    if spare < 0:
        return None
    wishes = sorted(range(len(widths)), key=lambda at: lines[at] - widths[at])
    for done, at in enumerate(wishes):
        more = min(lines[at] - widths[at], spare // (len(wishes) - done))
        widths[at] += more
        spare -= more
    return tuple(widths)
