"""What a reader sees of any report: lines and tables of text, for the terminal and for Markdown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of text. numeric: columns to align right, by position."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True)
class Page:
    """A report in reading order. headline: the recipe, the model and every setting without which the figures
    cannot be compared. warnings: what belongs above every number. footer: how to read the numbers."""

    headline: str
    measured_by: str
    directory: str
    warnings: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    footer: str
