"""How far a run is, in numbers that add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from omnieval.types import Score


@dataclass
class Progress:
    """Counts of one run, changed by the engine and read by whoever shows them.

    total: samples this call has to do. prepared: media ready (or failed to become so). in_flight:
    requests out. done: samples finished, of which failed and answered; of these scored and correct. retries:
    tries again. server_gone: all wait for the server to come back. limit: requests that may be out, where the
    run itself looks for that number, and settled whether it has found it.
    """

    total: int
    prepared: int = 0
    in_flight: int = 0
    done: int = 0
    failed: int = 0
    answered: int = 0
    scored: int = 0
    correct: int = 0
    retries: int = 0
    server_gone: bool = False
    limit: int | None = None
    settled: bool = False
    stopping: bool = False
    started: float = field(default_factory=monotonic)

    def count(self, score: Score) -> None:
        """Count one finished sample."""
        self.done += 1
        if score.outcome == "failed":
            self.failed += 1
            return
        self.answered += 1
        if score.outcome in ("correct", "wrong", "unparsed"):
            self.scored += 1
            self.correct += score.outcome == "correct"

    @property
    def accuracy(self) -> float | None:
        """Of the answers of this call so far, or None before the first."""
        return self.correct / self.scored if self.scored else None

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far, or None before the first sample ended."""
        if not self.done:
            return None
        return (monotonic() - self.started) / self.done * (self.total - self.done)


Listener = Callable[[Progress], None]
