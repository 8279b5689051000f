"""A stand-in for vLLM-Omni's full-duplex server (`/v1/realtime?duplex=1`), which misbehaves on command.

It follows what is known of the wire format; it holds no model. `Turn` says how one connection goes.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

RATE_HZ = 24_000


@dataclass
class Turn:
    """fault: None, or one of full, die_at_start, die_in_middle, hang_at_start, hang_in_middle, garbage,
    binary, wrong_order, duplicates, listen, lost_audio, expired, failed, refuse_resume, no_base64."""

    fault: str | None = None
    new_spelling: bool = False
    pieces: int = 4


@dataclass
class DuplexServer:
    """script: the turn of a connection, by its session's text and how often that was asked for."""

    script: Callable[[str, int], Turn]
    sound_of: Callable[[str], bytes]
    got: list[dict[str, Any]] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)  # pieces of sound so far, by the session's text
    paths: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.got if event["type"] == kind]

    @contextmanager
    def running(self) -> Iterator[DuplexServer]:
        loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

        async def main() -> None:
            async with serve(self._serve, "127.0.0.1", 0, process_request=self._http) as server:
                self.port = next(iter(server.sockets)).getsockname()[1]
                ready.set()
                await stop.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
        thread.start()
        try:
            assert ready.wait(10)
            yield self
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(10)
            loop.close()

    def _http(self, link: ServerConnection, request: Request) -> Response | None:
        self.paths.append(request.path)
        if request.path.startswith("/v1/realtime"):
            return None
        if request.path == "/v1/models":
            return link.respond(200, json.dumps({"data": [{"id": "fake"}]}))
        return link.respond(404, "{}")

    async def _serve(self, link: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await self._turn(link)

    async def _turn(self, link: ServerConnection) -> None:
        opening = json.loads(await link.recv())
        self.got.append(opening)
        resumed = opening["type"] == "session.resume"
        text = (
            self.sessions[opening["session_id"]] if resumed
            else opening["session"]["extra_body"]["duplex_initial_user_text"]
        )  # fmt: skip
        self.asked[text] = self.asked.get(text, 0) + 1
        turn = self.script(text, self.asked[text])
        fault = turn.fault

        async def say(kind: str, **fields: Any) -> None:
            await link.send(json.dumps({"type": kind, **fields}))

        if fault == "die_at_start":
            link.transport.abort()
            return
        if fault == "hang_at_start":
            await link.wait_closed()
            return
        if fault == "full":
            await say("error", error={"code": "resource_exhausted", "message": "no free session"})
            return
        if fault == "refuse_resume" and resumed:
            await say("error", error={"code": "session_not_found", "message": "no such session"})
            return
        if not resumed:
            session_id = f"s{len(self.sessions)}"
            self.sessions[session_id] = text
            self.sent[text] = 0
            if fault != "wrong_order":
                await say("session.created", session={"id": session_id})
        reader = asyncio.create_task(self._listen(link))
        try:
            await self._answer(link, say, turn, text)
            if fault not in ("die_in_middle", "refuse_resume"):
                await asyncio.wait_for(asyncio.shield(reader), 20)
        finally:
            reader.cancel()

    async def _listen(self, link: ServerConnection) -> None:
        async for frame in link:
            event = json.loads(frame)
            self.got.append(event)
            if event["type"] == "session.close":
                await link.send(json.dumps({"type": "session.closed"}))
                return

    async def _answer(self, link: ServerConnection, say: Any, turn: Turn, text: str) -> None:
        fault, infix = turn.fault, "output_" if turn.new_spelling else ""
        while (
            fault != "wrong_order"
            and link.close_code is None
            and not any(event["type"] == "input_audio_buffer.append" for event in self.got)
        ):
            await asyncio.sleep(0.01)
        if fault == "listen":
            await say("response.listen")
            await say("response.done", response={"status": "completed"})
            return
        first = max(0, self.sent[text] - 1)  # a session that goes on says its last piece again
        if not first:
            await say("response.created", response={"id": "r1"})
            await say("response.speak", response_id="r1")
            await say(f"response.{infix}audio_transcript.delta", delta=text, response_id="r1", event_id="t")
        sound = self.sound_of(text)
        step = -(-len(sound) // 2 // turn.pieces) * 2
        for number, start in list(enumerate(range(0, len(sound), step)))[first:]:
            piece = sound[start : start + step]
            sent = start + len(piece)
            if number == 2 and await self._break(link, say, fault):
                return
            if number == 2 and fault == "lost_audio":
                continue
            data = "%%%" if fault == "no_base64" else base64.b64encode(piece).decode()
            for _ in range(2 if fault == "duplicates" else 1):
                await say(
                    f"response.{infix}audio.delta", delta=data, sample_rate_hz=RATE_HZ, response_id="r1",
                    item_id="i1", event_id=f"a{number}", metadata={"audio_duration_ms": sent / 2 / RATE_HZ * 1000},
                )  # fmt: skip
            self.sent[text] = number + 1
            await asyncio.sleep(0.02)
        await say(f"response.{infix}audio.done")
        await say("response.done", response={"status": "failed" if fault == "failed" else "completed"})

    async def _break(self, link: ServerConnection, say: Any, fault: str | None) -> bool:
        """Whether the answer ends here."""
        if fault in ("die_in_middle", "refuse_resume"):
            link.transport.abort()
        elif fault == "garbage":
            await link.send("{not json")
        elif fault == "binary":
            await link.send(b"\x00\xff\xfe")
        elif fault == "expired":
            await say("session.expired")
        elif fault != "hang_in_middle":
            return False
        return True
