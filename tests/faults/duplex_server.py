"""A stand-in for vLLM-Omni's full-duplex server (`/v1/realtime?duplex=1`), which misbehaves on command.

It follows what is known of the wire format; it holds no model. `Turn` says how one connection goes.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

RATE_HZ = 24_000
_CLOSING = {"close_busy": 1013, "close_policy": 1008, "close_too_large": 1009, "close_in_middle": 1011}


@dataclass
class Turn:
    """How one connection goes.

    fault: None, or one of
    before an answer: die_at_start, hang_at_start, close_busy, close_policy, close_too_large, wrong_order, silent,
    no_duplex (a server without such sessions), many_processes (that cannot hold one), no_voice (the model needs a reference voice);
    in its middle, after half of the pieces: die_in_middle, close_in_middle, hang_in_middle, garbage, binary, nested,
    huge (a frame), noise (no frame), expired, error_in_middle, full_in_middle, lost_audio, other_session (dies, and resumes to another), refuse_resume,
    no_token and resync (no way to resume);
    otherwise: duplicates, listen, listen_for_good (without response.done), failed, cancelled, no_base64, no_string,
    no_delta, odd_length, odd_text, text_flood, odd_farewell, refuse_heartbeat (and no answer), late_playback (has no
    use for acknowledgements).
    pause_s: between the pieces of sound. early: a response while the input still sounds, before the answer to it.
    """

    fault: str | None = None
    new_spelling: bool = False
    pieces: int = 4
    pause_s: float = 0.02
    early: bool = False


@dataclass
class DuplexServer:
    """script: the turn of a connection, by its session's text (empty: it answers what it hears) and how often
    that was asked for. places: how many sessions it has room for; more are refused. key: where one is needed.
    tls: its certificate, where it speaks TLS.

    got: every event. heard: the sounding input by text. most: the most sessions at a time.
    """

    script: Callable[[str, int], Turn]
    sound_of: Callable[[str], bytes]
    places: int = 1000
    key: str | None = None
    tls: ssl.SSLContext | None = None
    got: list[dict[str, Any]] = field(default_factory=list)
    heard: dict[str, bytearray] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)  # pieces of sound so far, by the session's text
    journal: dict[str, list[dict[str, Any]]] = field(
        default_factory=dict
    )  # numbered events, by the session's text
    tokens: dict[str, str] = field(default_factory=dict)  # what resumes a session, by its id
    paths: list[str] = field(default_factory=list)
    links: int = 0
    open_sessions: int = 0
    most: int = 0
    refused: int = 0
    port: int = 0

    @property
    def base_url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/v1"

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.got if event["type"] == kind]

    @contextmanager
    def running(self) -> Iterator[DuplexServer]:
        loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

        async def main() -> None:
            async with serve(
                self._serve, "127.0.0.1", self.port, process_request=self._http, ssl=self.tls
            ) as server:
                self.port = next(iter(server.sockets)).getsockname()[1]
                ready.set()
                await stop.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
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
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return link.respond(401, json.dumps({"error": {"message": f"not {self.key}"}}))
        if request.path.startswith("/v1/realtime"):
            return None
        if request.path == "/v1/models":
            return link.respond(200, json.dumps({"data": [{"id": "fake"}]}))
        return link.respond(404, "{}")

    async def _serve(self, link: ServerConnection) -> None:
        self.links += 1
        try:
            with suppress(ConnectionClosed):
                await self._turn(link)
        finally:
            self.links -= 1

    async def _turn(self, link: ServerConnection) -> None:
        opening = json.loads(await link.recv())
        self.got.append(opening)
        resumed = opening["type"] == "session.resume"
        text = (
            self.sessions[opening["session_id"]] if resumed
            else opening["session"]["extra_body"].get("duplex_initial_user_text", "")
        )  # fmt: skip
        self.asked[text] = self.asked.get(text, 0) + 1
        turn = self.script(text, self.asked[text])
        fault = turn.fault
        if fault == "die_at_start":
            link.transport.abort()
            return
        if fault == "hang_at_start":
            await link.wait_closed()
            return
        if fault == "full" or self.open_sessions >= self.places:
            self.refused += 1
            message = f"duplex_session_capacity_exhausted: limit={self.places}"
            await _refuse(link, "resource_exhausted", message)
            return
        if fault == "no_duplex":
            await _say(link, "error", code="unsupported", error="VAD realtime is not enabled")
            await link.close(1008)
            return
        if fault == "many_processes":
            await _say(
                link, "error", code="multi_api_duplex_unsupported", error="a single API worker is required"
            )
            await link.close(1008)
            return
        if fault == "no_voice":
            await _refuse(link, "ref_audio_required", "audio output requires ref_audio")
            return
        if fault == "refuse_resume" and resumed:
            await _refuse(link, "session_resume_expired", "Unknown or expired duplex session")
            return
        if resumed and self.tokens[opening["session_id"]] != opening.get("resume_token"):
            await _refuse(link, "invalid_session_resume", "session.resume requires resume_token")
            return
        if fault == "other_session" and resumed:
            await _say(link, "session.created", session={"id": "another"})
            await link.wait_closed()
            return
        if not resumed:
            session_id = f"s{len(self.sessions)}"
            self.sessions[session_id] = text
            self.sent[text] = 0
            self.heard[text] = bytearray()
            self.journal[text] = []
            if fault != "wrong_order":
                token = {} if fault == "no_token" else self._new_token(session_id)
                await _say(link, "session.created", session={"id": session_id}, **token)
        self.open_sessions += 1
        self.most = max(self.most, self.open_sessions)
        session = _Session(self, link, text, turn)
        if resumed:
            token = self._new_token(opening["session_id"])
            await _say(link, "session.resumed", session={"id": opening["session_id"]}, **token)
            for event in self.journal[text][opening["last_received_server_event_seq"] :]:
                await link.send(json.dumps(event))
        elif fault != "wrong_order":
            await session.say("session.updated", session={"id": session_id})
        reader = asyncio.create_task(session.listen())
        try:
            if not await session.answer():
                await asyncio.wait_for(asyncio.shield(reader), 20)
        finally:
            self.open_sessions -= 1
            reader.cancel()

    def _new_token(self, session_id: str) -> dict[str, str]:
        """Each connection makes that of the one before worthless."""
        self.tokens[session_id] = f"token{len(self.paths)}-{session_id}"
        return {"resume_token": self.tokens[session_id]}


async def _say(link: ServerConnection, kind: str, **fields: Any) -> None:
    await link.send(json.dumps({"type": kind, **fields}))


async def _refuse(link: ServerConnection, code: str, message: str) -> None:
    await _say(link, "error", error={"type": "invalid_request_error", "code": code, "message": message})


@dataclass
class _Session:
    """One connection of a session."""

    server: DuplexServer
    link: ServerConnection
    text: str
    turn: Turn
    sounding: asyncio.Event = field(default_factory=asyncio.Event)
    quiet: asyncio.Event = field(default_factory=asyncio.Event)

    async def say(self, kind: str, **fields: Any) -> None:
        """An event with its number, which is said again to whoever resumes the session without it."""
        journal = self.server.journal[self.text]
        journal.append({"type": kind, "server_event_seq": len(journal) + 1, **fields})
        await self.link.send(json.dumps(journal[-1]))

    async def listen(self) -> None:
        async for frame in self.link:
            event = json.loads(frame)
            self.server.got.append(event)
            if event["type"] == "input_audio_buffer.append":
                if event["is_speech"]:
                    self.server.heard[self.text] += base64.b64decode(event["audio"])
                    self.sounding.set()
                else:
                    self.quiet.set()
            elif event["type"] == "session.heartbeat" and self.turn.fault == "refuse_heartbeat":
                error = {"code": "internal_error", "message": "the heartbeat came too late"}
                await self.say("error", error=error)
            elif event["type"] == "session.heartbeat":
                await self.say("session.heartbeat_ack", session_id="")
            elif event["type"] == "playback.ack" and self.turn.fault == "late_playback":
                error = {"code": "playback_ack_too_late", "message": "arrived after a later user input"}
                await self.say("error", error=error)
            elif event["type"] == "playback.ack":
                await self.say("playback.acknowledged", event={"played_ms": event["played_ms"]})
            elif event["type"] == "session.close":
                if self.turn.fault == "odd_farewell":
                    for frame in ("[]", "7", "{", '{"a":' * 200_000):
                        await self.link.send(frame)
                await self.say("session.closed")
                return

    async def answer(self) -> bool:
        """Whether the connection ends here."""
        link, turn, fault = self.link, self.turn, self.turn.fault
        if fault in _CLOSING and fault != "close_in_middle":
            await link.close(_CLOSING[fault], "as told")
            return True
        if turn.early:
            await self.sounding.wait()
            await self._respond("r0", self.server.sound_of("early"), "mhm", None)
        if fault != "wrong_order":
            await self.quiet.wait()
        if fault in ("silent", "refuse_heartbeat"):
            return False
        if fault in ("listen", "listen_for_good"):
            await self.say("response.listen")
            if self.text and fault == "listen":
                await self.say("response.done", response={"status": "completed"})
            return False
        return await self._respond("r1", self.server.sound_of(self.text), self.text or "heard", fault)

    async def _respond(self, name: str, sound: bytes, words: str, fault: str | None) -> bool:
        infix = "output_" if self.turn.new_spelling else ""
        first = self.server.sent[self.text] if name != "r0" else 0
        if not first:
            await self.say("response.created", response={"id": name})
            await self.say("response.speak", response_id=name)
            await self.say(
                f"response.{infix}audio_transcript.delta",
                delta=words,
                response_id=name,
                event_id=f"t{name}",
            )
        if fault == "odd_text":
            await self.say(f"response.{infix}audio_transcript.delta", delta=None, response_id=name)
        for _ in range(40 if fault == "text_flood" else 0):
            await self.say(f"response.{infix}text.delta", delta="la " * 10_000, response_id=name)
        step = -(-len(sound) // 2 // self.turn.pieces) * 2
        for number, start in list(enumerate(range(0, len(sound), step)))[first:]:
            piece = sound[start : start + step]
            if number == self.turn.pieces // 2:
                if await self._break(fault):
                    return fault not in (
                        "hang_in_middle", "garbage", "binary", "nested", "huge", "noise", "expired", "error_in_middle",
                        "full_in_middle",
                    )  # fmt: skip
                if fault == "lost_audio":
                    continue
            data = base64.b64encode(piece).decode()
            odd = {"no_base64": {"delta": "%%%"}, "no_string": {"delta": [7]}, "no_delta": {"audio": data}}
            carried = odd.get(fault or "", {"delta": data})
            length_ms = 10**400 if fault == "odd_length" else (start + len(piece)) / 2 / RATE_HZ * 1000
            for _ in range(2 if fault == "duplicates" else 1):
                await self.say(
                    f"response.{infix}audio.delta", **carried, sample_rate_hz=RATE_HZ, response_id=name,
                    item_id="i1", event_id=f"{name}-{number}", metadata={"audio_duration_ms": length_ms},
                )  # fmt: skip
            if name != "r0":
                self.server.sent[self.text] = number + 1
            await asyncio.sleep(self.turn.pause_s)
        await self.say(f"response.{infix}audio.done")
        status = fault if fault in ("failed", "cancelled") else "completed"
        await self.say("response.done", response={"id": name, "status": status})
        return False

    async def _break(self, fault: str | None) -> bool:
        """Whether the answer ends here."""
        if fault == "resync":
            await self.say("session.resync_required", reason="journal_overflow")
        if fault in ("die_in_middle", "refuse_resume", "other_session", "no_token", "resync"):
            self.link.transport.abort()
        elif fault == "close_in_middle":
            await self.link.close(_CLOSING[fault], "as told")
        elif fault == "garbage":
            await self.link.send("{not json")
        elif fault == "huge":
            await self.link.send("x" * (33 * 2**20))
        elif fault == "noise":
            self.link.transport.write(b"\xff" * 100)
        elif fault == "nested":
            await self.link.send('{"type": "response.done", "response": ' + "[" * 900 + "]" * 900 + "}")
        elif fault == "binary":
            await self.link.send(b"\x00\xff\xfe")
        elif fault == "expired":
            await self.say("session.expired")
        elif fault == "error_in_middle":
            await self.say("error", error={"code": "internal_error", "message": "the talker failed"})
        elif fault == "full_in_middle":
            await self.say("error", error={"code": "resource_exhausted", "message": "no place left"})
        elif fault != "hang_in_middle":
            return False
        return True
