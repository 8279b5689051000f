"""What went over one full-duplex session, small enough to be kept with its answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from omnieval.types import JsonDict

_MOST_ENTRIES = 400


class SessionLog:
    """Counts what was sent, and lists what was received; events of one kind in a row are one entry."""

    def __init__(self) -> None:
        self._sent: Counter[str] = Counter()
        self._received: list[list[Any]] = []
        self._left_out = 0

    def sent(self, kind: str) -> None:
        """An event has gone up."""
        self._sent[kind] += 1

    def received(self, kind: str, at_s: float) -> None:
        """An event has come down, so many seconds after the session was asked for."""
        if self._received and self._received[-1][1] == kind:
            self._received[-1][2] += 1
        elif len(self._received) < _MOST_ENTRIES:
            self._received.append([round(1000 * at_s), kind, 1])
        else:
            self._left_out += 1

    def counts(self) -> JsonDict:
        """sent: how many by type. received: [ms, type, how many in a row]. left_out: entries beyond 400."""
        left_out = {"left_out": self._left_out} if self._left_out else {}
        return {"sent": dict(self._sent), "received": [list(entry) for entry in self._received], **left_out}
