"""How commands write: one console, single lines, and the progress of what has no display of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def new_console(*, stderr: bool = False) -> Console:
    """A console that falls silent where its reader leaves, as `head` does, so that the command still ends."""
    from rich.console import Console

    class Lasting(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            silence(sys.stderr if self.stderr else sys.stdout)

    return Lasting(soft_wrap=False, stderr=stderr)


def silence(stream: TextIO | None) -> None:
    """Whatever is written from now on, and what is waiting to be, goes nowhere."""
    if stream is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def print_line(console: Console, line: str, style: str | None = None) -> None:
    """One unwrapped line of plain text, so that paths can be copied."""
    from omnieval.parsing import visible

    console.print(visible(line), style=style, markup=False, highlight=False, soft_wrap=True)


def heard_display(console: Console) -> Callable[[int, int], None]:
    """Says every ten seconds how many sounds were heard."""
    return counting("heard", lambda line: print_line(console, line, style="dim"))


def counting(what: str, say: Callable[[str], None]) -> Callable[[int, int], None]:
    """Says every ten seconds how many of all are done."""
    from time import monotonic

    from omnieval.progress_display import PLAIN_INTERVAL_S

    shown = monotonic()

    def told(done: int, total: int) -> None:
        nonlocal shown
        if monotonic() - shown >= PLAIN_INTERVAL_S:
            shown = monotonic()
            say(f"{what} {done}/{total}")

    return told
