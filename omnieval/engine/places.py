"""Room for requests in flight: a fixed number of places, or as many as the server is found to bear."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from omnieval.config import most_in_flight
from omnieval.engine.knee import Knee
from omnieval.types import Failure, Response

_OVERLOAD = frozenset({"busy", "timeout"})


class Places:
    """Given out to one who waits for them, given back by many.

    concurrency: as configured. bound: the backend's own, if it has one. told: is told of every change of the
    limit; never where the number is fixed. most: places that there can ever be.
    """

    def __init__(
        self, concurrency: int | Literal["auto"], bound: int | None, told: Callable[[Knee], None]
    ) -> None:
        self.most = min(most_in_flight(concurrency), bound or most_in_flight(concurrency))
        self._knee = Knee(self.most) if concurrency == "auto" else None
        self._told = told
        self._taken = 0
        self._changed = asyncio.Event()

    @property
    def limit(self) -> int:
        """Places that there are now."""
        return self.most if self._knee is None else self._knee.limit

    async def take(self) -> None:
        """Wait for a free place and take it."""
        while self._taken >= self.limit:
            self._changed.clear()
            await self._changed.wait()
        self._taken += 1

    def give_back(self) -> None:
        """One place is free again."""
        self._taken -= 1
        self._changed.set()

    def saw(self, response: Response, took_s: float, *, in_flight: int) -> None:
        """Learn from the end of a try that took so long, with so many out."""
        if self._knee is None:
            return
        overloaded = _is_overload(response.error)
        if self._knee.take(took_s, answered=response.answered, overloaded=overloaded, in_flight=in_flight):
            self._changed.set()
            self._told(self._knee)

    def server_is_back(self) -> None:
        """Forget what was learnt of a server that then went away."""
        if self._knee is not None:
            self._knee.anew()
            self._told(self._knee)

    def tell_search(self) -> None:
        """Tell of a search that goes on, as at the start, or that found no end."""
        if self._knee is not None and not self._knee.settled:
            self._told(self._knee)


def _is_overload(failure: Failure | None) -> bool:
    return failure is not None and failure.kind in _OVERLOAD
