"""A model server (chat completions, speech) that does on command what real ones do only when they fail.

It speaks HTTP/1.1 over asyncio streams, one request a connection, in a thread of its own. The default
behaviour streams an untagged answer as plain vLLM does; `script` plays another one.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

Body = dict[str, Any]


def chunk(text: str | None, *, finish: str | None = None, **fields: Any) -> bytes:
    """One server-sent event of a chat completion; `fields` go to its root (modality, usage, ...)."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "model": "fake", "choices": [choice], **fields}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
EVENT_STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


@dataclass
class Exchange:
    """One request, and the means to answer it in any way."""

    method: str
    path: str
    headers: dict[str, str]
    raw_body: bytes
    writer: asyncio.StreamWriter
    body: Body = field(default_factory=dict)

    async def head(self, status: int, headers: dict[str, str]) -> None:
        """Status line and headers; the body's end is the connection's end."""
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
        await self.raw("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"))

    async def raw(self, data: bytes) -> None:
        """Bytes as they are, sent at once."""
        self.writer.write(data)
        await self.writer.drain()

    async def json(self, status: int, content: Any, **headers: str) -> None:
        """A whole JSON answer."""
        data = json.dumps(content).encode()
        await self.head(
            status, {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
        )
        await self.raw(data)

    async def stream(self, *pieces: bytes) -> None:
        """A 200 event stream of the given pieces, each sent at once."""
        await self.head(200, EVENT_STREAM)
        for piece in pieces:
            await self.raw(piece)

    async def answer(self, text: str) -> None:
        """A complete answer as plain vLLM streams it."""
        await self.stream(chunk(""), chunk(text), chunk("", finish="stop"), DONE)

    async def hang(self) -> None:
        """Say nothing more until the other side goes away or the server is closed."""
        await asyncio.Event().wait()

    def reset(self) -> None:
        """Cut the connection with a TCP reset."""
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Behaviour = Callable[[Exchange], Awaitable[None]]


async def answer_b(exchange: Exchange) -> None:
    await exchange.answer("B")


class FaultServer:
    """Use as a context manager. `script` answers chat completions and speech; `requests` holds their bodies.

    `models` is what GET /v1/models lists; None answers 404 there.
    """

    def __init__(self, script: Behaviour = answer_b, *, models: list[Body] | None = None) -> None:
        self.script = script
        self.models = [{"id": "fake", "max_model_len": 4096}] if models is None else models
        self.requests: list[Body] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.open_connections = 0
        self.beside: Behaviour | None = None  # what everything does that is asked no question
        self.tokenize: Behaviour | None = None  # what /tokenize does; None answers 404 there
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-server", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> FaultServer:
        self._thread.start()
        self._server = self._call(self._start())
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait_for(self, event: asyncio.Event) -> None:
        """Block until a script has set the event."""
        self._call(event.wait())

    def release(self, event: asyncio.Event) -> None:
        """Set an event that a script waits for."""
        self._loop.call_soon_threadsafe(event.set)

    def wait_until_idle(self) -> None:
        """Block until every connection is closed."""
        self._call(self._idle())

    async def _idle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def die(self, exchange: Exchange) -> None:
        """Take no more connections and cut the one of a script, which calls this."""
        self._server.close()
        exchange.reset()

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=120)

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open_connections += 1
        try:
            exchange = await _read(reader, writer)
            if exchange is not None:
                await self._dispatch(exchange, reader)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self.open_connections -= 1
            writer.close()

    async def _dispatch(self, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        if exchange.path in ("/v1/chat/completions", "/v1/audio/speech"):
            self.paths.append(exchange.path)
            self.requests.append(exchange.body)
            self.headers.append(exchange.headers)
            gone = asyncio.create_task(reader.read(1))
            played = asyncio.ensure_future(self.script(exchange))
            try:
                await asyncio.wait({gone, played}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
                played.cancel()
            if played.done() and not played.cancelled():
                played.result()
        elif self.beside is not None:
            await self.beside(exchange)
        elif exchange.path == "/tokenize" and self.tokenize is not None:
            await self.tokenize(exchange)
        elif exchange.path == "/v1/models":
            await exchange.json(200, {"object": "list", "data": self.models})
        elif exchange.path == "/version":
            await exchange.json(200, {"version": "0.0-fake"})
        else:
            await exchange.json(404, {"detail": "Not Found"})


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    request_line, *header_lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = request_line.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in header_lines)
    }
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    exchange = Exchange(method, path, headers, raw, writer)
    if raw:
        exchange.body = json.loads(raw)
    return exchange
