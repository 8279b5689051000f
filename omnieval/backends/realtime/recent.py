"""Events that came lately, so that one that comes again is taken once."""

from __future__ import annotations

from omnieval.types import JsonDict

_MOST = 10_000


class RecentEvents:
    """Remembers the last 10 000 events that have an id.

    A server that resumes a session says again what it is not sure of; no more than that has to be known.
    """

    def __init__(self) -> None:
        self._seen: dict[int, None] = {}  # in the order in which they came

    def again(self, event: JsonDict) -> bool:
        """Whether it has come before: the same id, type and delta. Servers that give one id to several events
        lose none of them."""
        name, kind, delta = (event.get(key) for key in ("event_id", "type", "delta"))
        if not isinstance(name, str):
            return False
        mark = hash((name, *(value if isinstance(value, str) else None for value in (kind, delta))))
        if mark in self._seen:
            return True
        self._seen[mark] = None
        if len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]
        return False
