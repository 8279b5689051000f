"""Connections that have got out of step: an answer must not count for the question after its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omnieval import api
from tests.faults.test_matrix import question_set

Answer = Callable[[int, str, bytes], bytes]


def http(content: object, extra: bytes = b"") -> bytes:
    body = json.dumps(content).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body + extra


def completion(name: str, text: str) -> dict[str, object]:
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return {"id": f"chatcmpl-{name}", "choices": [choice]}


@contextlib.contextmanager
def keeper(answer: Answer) -> Iterator[str]:
    """A server that keeps its connections, and names its answers as vLLM does; gives its base URL.

    answer: of (how many questions there were, the question, the answer) makes what is sent.
    """
    asked = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError), contextlib.closing(writer):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                fields = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if line)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                if "chat/completions" in head:
                    asked += 1
                    found = re.search(
                        r"\[\[(.+)\]\]", json.loads(body)["messages"][-1]["content"][-1]["text"]
                    )
                    question = found[1] if found else ""
                    own = http(completion(fields["x-request-id"], f"A to {question}"))
                    writer.write(answer(asked, question, own))
                else:
                    writer.write(http({"data": [{"id": "fake"}]}))
                await writer.drain()
                if fields.get("connection") == "close":
                    return

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(asyncio.start_server(serve, "127.0.0.1", 0), loop).result()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)


def one_too_many(asked: int, question: str, own: bytes) -> bytes:
    return own + own if asked % 5 == 0 else own


def more_than_announced(asked: int, question: str, own: bytes) -> bytes:
    return own + b"\n\n</html>" if asked % 5 == 0 else own


class Repeats:
    """A proxy that gives an old answer now and then."""

    def __init__(self) -> None:
        self._old = b""

    def __call__(self, asked: int, question: str, own: bytes) -> bytes:
        old, self._old = self._old, own
        return old if asked % 5 == 0 else own


@pytest.mark.parametrize("answer", [one_too_many, more_than_announced, Repeats()])
def test_no_answer_counts_for_another_question(answer: Answer, tmp_path: Path) -> None:
    names = [f"q{i}" for i in range(40)]
    with keeper(answer) as base_url:
        done = api.run(
            "mcq", data=str(question_set(tmp_path / "data", names)), base_url=base_url,
            out=tmp_path / "run", preflight="never", concurrency=4, retry={"first_wait_s": 0.01},
        )  # fmt: skip
    last = done.last_responses()
    assert {name: response.text for name, response in last.items()} == {n: f"A to {n}" for n in names}
    amiss = {response.error.message for response in done.responses() if response.error is not None}
    assert amiss and all("to another request" in each or "is not HTTP" in each for each in amiss)
