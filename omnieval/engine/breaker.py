"""When going on is pointless, since what failed would fail every sample."""

from __future__ import annotations

from omnieval.backends.base import OF_THIS_MACHINE
from omnieval.types import Failure

# Failures that every sample would meet alike; so many of them in a row end the run. As long as
# nothing was answered at all, a server that fails or stalls each time is taken for one of them, and
# so is one that gives the same reason against every sample.
_STOPPING_KINDS = frozenset({"configuration", "connection"})
_STOPPING_AT_FIRST = _STOPPING_KINDS | {"server", "timeout", "busy", "protocol", "no_audio"}


class Breaker:
    """Counts the samples that failed in a row for such a reason.

    stop_after: how many are enough; 0 for none.
    """

    def __init__(self, stop_after: int) -> None:
        self._stop_after = stop_after
        self._failed_in_row = 0
        self._reason_of_sample: str | None = None

    def trips(self, failure: Failure | None, *, any_answered: bool) -> bool:
        """A sample has ended, with this failure or with an answer; whether it was one too many."""
        if failure is not None and failure.kind in OF_THIS_MACHINE:
            return False
        if failure is None or not self._stops(failure, any_answered):
            self._failed_in_row = 0
            return False
        self._failed_in_row += 1
        return 0 < self._stop_after <= self._failed_in_row

    def _stops(self, failure: Failure, any_answered: bool) -> bool:
        if any_answered or failure.kind != "sample":
            return failure.kind in (_STOPPING_KINDS if any_answered else _STOPPING_AT_FIRST)
        if failure.message != self._reason_of_sample:
            self._failed_in_row = 0
        self._reason_of_sample = failure.message
        return True
