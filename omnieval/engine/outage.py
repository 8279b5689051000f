"""A server that is gone: all who ask it wait together until it is back, or give up together."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from omnieval.backends.base import TellsLife, given_up, may_be_gone
from omnieval.backends.retry import pauses
from omnieval.types import Backend, Failure


class Outage:
    """Watches one backend for one run.

    wait_s: how long a server may be gone; 0 never waits. stop: ends the waiting. told: is told `gone` or
    `back`, and after how many seconds.
    """

    def __init__(
        self, backend: Backend, *, wait_s: float, stop: asyncio.Event, told: Callable[[str, float], None]
    ) -> None:
        self._backend = backend
        self._wait_s = wait_s
        self._stop = stop
        self._told = told
        self._one_at_a_time = asyncio.Lock()
        self._returns = 0
        self.given_up = False

    async def waited(self, failure: Failure) -> bool:
        """Whether the failed request may be sent again at once, since the server was gone and is back.

        A server that is there, or a backend that cannot tell, is not waited for. Sets `given_up` where the
        server stayed away.
        """
        backend = self._backend
        if not self._wait_s or not may_be_gone(failure) or not isinstance(backend, TellsLife):
            return False
        before = self._returns
        async with self._one_at_a_time:
            if self._returns > before:
                return True
            if self.given_up or self._stop.is_set() or await backend.alive():
                return False
            return await self._until_back(backend)

    async def _until_back(self, backend: TellsLife) -> bool:
        began, pause = time.monotonic(), pauses()
        self._told("gone", 0.0)
        while (gone_s := time.monotonic() - began) < self._wait_s and not self._stop.is_set():
            if given_up(self._backend) is not None:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(next(pause), self._wait_s - gone_s)):
                    await self._stop.wait()
            if not self._stop.is_set() and await backend.alive():
                self._returns += 1
                self._told("back", time.monotonic() - began)
                return True
        self.given_up = not self._stop.is_set()
        return False
