"""When requests set out, where a run plays the load of many independent users."""

from __future__ import annotations

import asyncio
import random


class Arrivals:
    """Lets requests go one by one at random intervals, as a Poisson process of a mean rate.

    rate: requests a second, None for as fast as they can be taken. seed: of the intervals. A request that is
    late for want of a free place does not delay the ones behind it.
    """

    def __init__(self, rate: float | None, *, seed: int = 0) -> None:
        self._rate = rate
        self._random = random.Random(seed)
        self._due_s: float | None = None

    async def next(self) -> None:
        """Wait until the next request is due; the first is due at once."""
        if self._rate is None:
            return
        now_s = asyncio.get_running_loop().time()
        if self._due_s is None:
            self._due_s = now_s
        else:
            self._due_s += self._random.expovariate(self._rate)
        await asyncio.sleep(max(0.0, self._due_s - now_s))
