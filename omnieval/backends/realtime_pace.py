"""Pieces of silence in real time: 16 kHz mono PCM16, 200 ms each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

RATE_HZ = 16_000
PIECE_MS = 200
PIECE_BYTES = RATE_HZ * PIECE_MS // 1000 * 2


class Pacer:
    """Waits until each piece is due. Times are counted from the first piece, so that lateness never adds up.

    clock, sleep: seconds; replaced in tests.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._origin: float | None = None
        self._sent = 0

    async def next_ms(self) -> int:
        """Wait for the next piece's turn; where it ends, in ms of all that was sent."""
        now = self._clock()
        if self._origin is None:
            self._origin = now
        wait_s = self._origin + self._sent * PIECE_MS / 1000 - now
        if wait_s > 0:
            await self._sleep(wait_s)
        self._sent += 1
        return self._sent * PIECE_MS
