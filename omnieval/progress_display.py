"""Showing a run's progress: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING

from omnieval.engine.progress import Listener, Progress

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_INTERVAL_S = 10.0


@contextlib.contextmanager
def progress_display(console: Console) -> Iterator[Listener]:
    """A listener that shows prepared, in flight, done, failed, running accuracy and time left."""
    if console.is_terminal:
        with _live_line(console) as listener:
            yield listener
    else:
        yield _plain_lines(console)


def describe(progress: Progress) -> str:
    """The counts in words: `prepared 12  in flight 8  done 4/20  failed 0  accuracy 75.0 %`."""
    accuracy = "-" if progress.accuracy is None else f"{100 * progress.accuracy:.1f} %"
    words = [
        f"prepared {progress.prepared}",
        f"in flight {progress.in_flight}{_of_limit(progress)}",
        f"done {progress.done}/{progress.total}",
        f"failed {progress.failed}",
    ]
    if progress.scored or not (progress.answered or progress.failed):
        words.append(f"accuracy {accuracy}")
    if progress.retries:
        words.append(f"retries {progress.retries}")
    if progress.stopping:
        words.append("stopping: waiting for what is in flight (Ctrl-C again to leave at once)")
    elif progress.server_gone:
        words.append("the server is gone: waiting for it")
    elif progress.seconds_left is not None:
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        words.append(f"left {minutes}:{seconds:02d}")
    return "  ".join(words)


def _of_limit(progress: Progress) -> str:
    if progress.limit is None:
        return ""
    return f" of {progress.limit}" + ("" if progress.settled else ", looking for the best number")


@contextlib.contextmanager
def _live_line(console: Console) -> Iterator[Listener]:
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(BarColumn(bar_width=20), TextColumn("{task.description}"), console=console, transient=True)
    with bar:
        task = bar.add_task("starting", total=None)
        yield lambda progress: bar.update(
            task, total=progress.total, completed=progress.done, description=describe(progress)
        )


def _plain_lines(console: Console) -> Listener:
    shown = monotonic()
    was_stopping = False

    def listener(progress: Progress) -> None:
        nonlocal shown, was_stopping
        due = monotonic() - shown >= PLAIN_INTERVAL_S
        ended = progress.done == progress.total
        if due or ended or progress.stopping != was_stopping:
            shown, was_stopping = monotonic(), progress.stopping
            console.print(describe(progress), markup=False, highlight=False, soft_wrap=True)

    return listener
