"""What filling the media cache came to, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnieval.engine.fill import Filled
from omnieval.parsing import visible
from omnieval.wording import counted

if TYPE_CHECKING:
    from rich.console import Console


def show_filled(filled: Filled, console: Console) -> None:
    """Print counts that add up, then a line for each file that failed or had to be mended."""
    failed = len(filled.failures)
    lost = sum(failure.samples for failure in filled.failures)
    lines = [
        f"{counted(filled.samples, 'question', 'questions')}, "
        f"{counted(filled.ready + failed, 'set', 'sets')} of media: "
        f"{filled.ready} ready ({filled.before} of them before), {failed} failed "
        f"(for {counted(lost, 'question', 'questions')})"
    ]
    lines += [f"failed: {failure.kind}: {failure.message}" for failure in filled.failures]
    lines += [f"note: {cluster}: {note}" for cluster, note in filled.notes]
    for line in lines:
        console.print(visible(line), markup=False, highlight=False, soft_wrap=True)
