"""Requests a second of the chat backend against a bare httpx loop, to a loopback server that answers at once.

    python -m tests.bench.client [--requests 3000]

Also prints the CPU of the client for requests with 96 pictures by path, three questions a video, whose parts they
share as in a run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.chat.body import chat_body
from omnieval.backends.chat.openai_chat import OpenAIChat, create
from omnieval.media.transport import file_url
from omnieval.types import Generation, MediaPart, Message, Request, TextPart
from tests.faults.server import DONE, chunk

IN_FLIGHT = 64
USUAL = 10  # the default of a run
PICTURE_REQUESTS = 300
QUESTIONS_A_VIDEO = 3
ANSWER = b"".join([chunk("A"), chunk("", finish="stop"), DONE])
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(ANSWER)


def serve(ports: multiprocessing.Queue[int]) -> None:
    """A server of its own process that keeps connections and answers every request alike."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line[15:])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                await reader.readexactly(length)
                writer.write(HEAD + ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def forever() -> None:
        server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=2**24)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


async def rate(ask: Callable[[int], Awaitable[object]], count: int, in_flight: int = IN_FLIGHT) -> float:
    """Requests a second."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await ask(number)

    began = time.monotonic()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    return count / (time.monotonic() - began)


def text_request(number: int) -> Request:
    return Request(
        f"s{number}", (Message("user", (TextPart(f"question {number}"),)),), Generation(max_tokens=4)
    )


def picture_requests(count: int, folder: Path) -> list[Request]:
    """As preparation makes them: the questions of one video share its parts."""
    made: list[Request] = []
    while len(made) < count:
        parts = [MediaPart("image", folder / f"{i}.jpg", "image/jpeg") for i in range(96)]
        for _ in range(QUESTIONS_A_VIDEO):
            message = Message("user", (*parts, TextPart(f"question {len(made)}")))
            made.append(Request(f"p{len(made)}", (message,), Generation(max_tokens=4)))
    return made[:count]


async def measure(base_url: str, count: int, folder: Path) -> None:
    config = api.configure(
        "daily-omni", [("base_url", base_url), ("model", "m"), ("concurrency", IN_FLIGHT)], sample=True
    )
    backend: OpenAIChat = create(config, BackendContext(file_url, reads_media=False))
    limits = httpx.Limits(max_connections=IN_FLIGHT, max_keepalive_connections=IN_FLIGHT)
    async with httpx.AsyncClient(limits=limits, timeout=60, trust_env=False) as client:

        async def bare(number: int) -> None:
            body = json.dumps(chat_body(text_request(number), "m", lambda part: "")).encode()
            async with client.stream("POST", f"{base_url}/chat/completions", content=body) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: {"):
                        json.loads(line[6:])

        async def ours(number: int) -> None:
            response = await backend.generate(text_request(number))
            assert response.answered, response.error

        pairs = [(await rate(bare, count), await rate(ours, count)) for _ in range(3)]
    bare_rate, our_rate = (statistics.median(values) for values in zip(*pairs, strict=True))
    ratio = statistics.median(first / second for first, second in pairs)
    print(f"{count} text requests, {IN_FLIGHT} in flight: {our_rate:.0f} a second, a bare httpx loop {bare_rate:.0f} "
          f"(ours takes {ratio:.2f} times as long)")  # fmt: skip

    requests: list[Request] = []

    async def pictures(number: int) -> None:
        response = await backend.generate(requests[number])
        assert response.answered, response.error

    async def cpu_ms(ask: Callable[[int], Awaitable[object]]) -> float:
        requests[:] = picture_requests(PICTURE_REQUESTS, folder)
        began = time.process_time()
        await rate(ask, PICTURE_REQUESTS, USUAL)
        return 1000 * (time.process_time() - began) / PICTURE_REQUESTS

    ready = json.dumps(chat_body(picture_requests(1, folder)[0], "m", file_url)).encode()
    async with httpx.AsyncClient(limits=limits, timeout=60, trust_env=False) as client:

        async def post(number: int) -> None:
            async with client.stream("POST", f"{base_url}/chat/completions", content=ready) as response:
                async for _ in response.aiter_bytes():
                    pass

        costs = [(await cpu_ms(pictures), await cpu_ms(post)) for _ in range(3)]
    our_ms, post_ms = (statistics.median(values) for values in zip(*costs, strict=True))
    print(f"96 pictures by path, {USUAL} in flight: {our_ms:.2f} ms of CPU a request; "
          f"httpx alone, with a ready body: {post_ms:.2f} ms")  # fmt: skip
    await backend.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=3000)
    count = parser.parse_args().requests
    ports: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(ports,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as name:
        for i in range(96):
            (Path(name) / f"{i}.jpg").write_bytes(b"x")
        asyncio.run(measure(f"http://127.0.0.1:{ports.get()}/v1", count, Path(name)))
    server.terminate()


if __name__ == "__main__":
    main()
