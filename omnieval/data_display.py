"""What a check of a data set found, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnieval.console import new_console
from omnieval.parsing import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnieval.datasets import Checked


def show_checked(found: Checked) -> None:
    """Print the counts as a table, then the problems and remarks, a line each."""
    from rich.text import Text

    from omnieval.report.page import Table
    from omnieval.report.terminal import show_table

    console = new_console()
    title = f"{found.recipe}: {found.root}"
    show_table(Table(title, ("what", "found", "expected"), tuple(_cells(found))), console)
    problems = found.problems()
    lines = [("bold red", f"problem: {line}") for line in problems]
    lines += [("", f"note: {line}") for line in found.remarks()]
    lines.append(("bold", "the data set is whole" if not problems else "the data set is not whole"))
    for style, line in lines:
        console.print(Text(visible(line), style=style), soft_wrap=True)


def _cells(found: Checked) -> Iterator[tuple[str, str, str]]:
    known = found.expected
    yield "rows", str(found.questions), str(known.questions) if known else ""
    if found.videos:
        yield "videos", str(found.videos), str(known.videos) if known and known.videos else ""
    size = sum(file.bytes for file in found.files)
    yield "media files", f"{len(found.files)} ({size / 1e6:.1f} MB), {len(found.broken)} broken", ""
    for track, d in found.durations.items():
        lengths = f"{d.shortest_s:.1f} to {d.longest_s:.1f} s, median {d.median_s:.1f} s"
        yield track, f"{d.files} of {lengths}, {d.total_s / 3600:.2f} h together", ""
    yield "fingerprint", found.fingerprint, ""
    yield "of questions (as in run.json)", found.questions_fingerprint, ""
    yield "of media", found.media_fingerprint, ""
