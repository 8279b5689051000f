"""One full-duplex session from its opening to its end, over a second connection where the first breaks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from omnieval.backends.failed import FailedTry
from omnieval.backends.http.transport_faults import timeout_failure
from omnieval.backends.realtime.answer import DuplexAnswer
from omnieval.backends.realtime.events import ECHOES, event_of
from omnieval.backends.realtime.link import RealtimeServer, closed, may_resume
from omnieval.backends.realtime.pace import PIECE_MS, DuplexInput, Pacer
from omnieval.config import TimeoutConfig
from omnieval.types import JsonDict

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

# Told every event, `sent` or `received`.
Told = Callable[[str, JsonDict], None]

_HEARTBEAT_MS = 5_000
_FAREWELL_S = 2.0
_LOOK_S = 0.5


class DuplexSession:
    """Sends the input in real time and collects the answer.

    answer: has the same `heard`. speed: of the input; see `Pacer`. told: is told every event; of those
    received, the ones that could be used.
    """

    def __init__(
        self,
        server: RealtimeServer,
        heard: DuplexInput,
        answer: DuplexAnswer,
        timeouts: TimeoutConfig,
        *,
        speed: float = 1.0,
        told: Told = lambda _direction, _event: None,
    ) -> None:
        self._server = server
        self._heard = heard
        self._answer = answer
        self._timeouts = timeouts
        self._pacer = Pacer(speed)
        self._told = told
        self._quiet_since = 0.0

    async def hold(self, fields: JsonDict) -> None:
        """Until the answer is finished. fields: the session's. Raises FailedTry where it never is."""
        from websockets.exceptions import ConnectionClosed

        answer = self._answer
        opening: JsonDict = {"type": "session.update", "session": fields}
        answer.begin()
        for last in (False, True):
            try:
                async with self._server.connected() as link:
                    try:
                        await self._send(link, opening)
                        await self._exchange(link)
                    finally:  # a failed or cancelled session too holds its place until it is closed
                        await self._part(link)
                    return
            except ConnectionClosed as error:
                again = answer.ticket.resume()
                if last or again is None or not may_resume(error):
                    raise FailedTry(closed(error, answer.last_event)) from error
                opening = again
            finally:
                answer.late_s = self._pacer.late_s

    async def _exchange(self, link: ClientConnection) -> None:
        """Raises ConnectionClosed where the connection ends before the answer."""
        answer = self._answer
        self._quiet_since = time.monotonic()
        while not answer.created:
            await self._read(link)
        sender = asyncio.create_task(self._send_input(link))
        reader = asyncio.create_task(self._read_answer(link))
        try:
            await asyncio.wait((sender, reader), return_when=asyncio.FIRST_COMPLETED)
            if sender.done():
                sender.result()  # an error of whoever is told of events
            if reader.done() or not answer.finished:  # what was received before the end counts
                await reader
        finally:
            for task in (sender, reader):
                task.cancel()
            await asyncio.gather(sender, reader, return_exceptions=True)

    async def _send_input(self, link: ClientConnection) -> None:
        """Until the answer is finished or the connection gone; then acknowledgements and heartbeats alone."""
        from websockets.exceptions import ConnectionClosed

        with contextlib.suppress(ConnectionClosed):
            while not self._answer.finished:
                turn = await self._pacer.turn()
                if not self._heard.over:
                    await self._send(link, self._heard.next())
                    if not self._heard.sounded:  # as long as there is something to hear, it may just listen
                        self._quiet_since = time.monotonic()
                else:
                    self._answer.end_of_input()
                played = self._answer.acknowledgement()
                if played is not None:
                    await self._send(link, played)
                taken = self._answer.ticket.acknowledgement()
                if taken is not None:
                    await self._send(link, taken)
                if turn * PIECE_MS % _HEARTBEAT_MS == 0:
                    await self._send(link, {"type": "session.heartbeat"})

    async def _read_answer(self, link: ClientConnection) -> None:
        while not self._answer.finished:
            await self._read(link)

    async def _read(self, link: ClientConnection) -> None:
        """One event, if it comes soon. Raises FailedTry with what was last seen where the session stalls."""
        limits, answer = self._timeouts, self._answer
        key, limit_s = "first_token_s", limits.first_token_s
        if answer.speaking:
            key, limit_s = "between_chunks_s", limits.between_chunks_s
        left_s = self._quiet_since + limit_s - time.monotonic()
        if left_s <= 0:
            raise FailedTry(timeout_failure(f"without an event; {answer.got}", limit_s, key))
        try:
            async with asyncio.timeout(min(left_s, _LOOK_S)):
                frame = await link.recv()
        except TimeoutError:
            return
        event = event_of(frame)
        if event.get("type") not in ECHOES:
            self._quiet_since = time.monotonic()
        try:
            answer.add(event)
        finally:  # also of one that ends the session
            self._told("received", event)

    async def _part(self, link: ClientConnection) -> None:
        """Close the session, so that the server has a place for the next one before it is asked for."""
        from websockets.exceptions import ConnectionClosed

        with contextlib.suppress(ConnectionClosed, TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                await self._send(link, {"type": "session.close"})
                while (frame := await link.recv()) is not None:
                    with contextlib.suppress(FailedTry):  # what is no event is not waited for
                        event = event_of(frame)
                        self._told("received", event)
                        if event.get("type") == "session.closed":
                            return

    async def _send(self, link: ClientConnection, event: JsonDict) -> None:
        self._answer.sent(event)
        self._told("sent", event)
        await link.send(json.dumps(event))
