"""Twenty thousand requests with one fault in ten: every sample ends exactly once, and nothing leaks."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.chat.openai_chat import create
from omnieval.config import RetryConfig
from omnieval.engine.prepare import Preparer
from omnieval.engine.runner import RunEnd, Runner
from omnieval.media.transport import file_url
from omnieval.runlog import Run, RunWriter
from omnieval.types import Generation, MediaPlan, Message, PreparedMedia, Request, Sample, TextPart
from tests.faults.server import DONE, Exchange, FaultServer, chunk
from tests.unit.test_engine import INFO, score

SAMPLES = 20_000
ATTEMPTS = 3
# What a fault is, and as what it must be counted where it is the last one.
FAULTS = {
    "reset": "connection",
    "crash": "server",
    "cut": "server",
    "error amid": "server",
    "html": "protocol",
    "half json": "protocol",
    "busy": "busy",
    "undecodable": "sample",
}


class TextBenchmark:
    def plan(self, sample: Sample) -> MediaPlan | None:
        return None

    def pack(self, sample: Sample, media: PreparedMedia) -> Request:
        return Request(sample.id, (Message("user", (TextPart(sample.id),)),), Generation(max_tokens=4))


class Trouble:
    """Plays a fault for one try in ten, by the sample and the number of its try; remembers the last play."""

    def __init__(self) -> None:
        self.tries: Counter[str] = Counter()
        self.last: dict[str, str | None] = {}

    async def __call__(self, exchange: Exchange) -> None:
        name = exchange.body["messages"][0]["content"][0]["text"]
        self.tries[name] += 1
        draw = hashlib.sha256(f"{name}:{self.tries[name]}".encode()).digest()
        fault = list(FAULTS)[draw[1] % len(FAULTS)] if draw[0] < 26 else None
        self.last[name] = fault
        if fault is None:
            await exchange.answer("A")
        elif fault == "reset":
            exchange.reset()
        elif fault == "crash":
            await exchange.json(500, {"error": {"message": "EngineCore encountered an issue"}})
        elif fault == "cut":
            await exchange.stream(chunk("A"))
        elif fault == "error amid":
            await exchange.stream(chunk("A"), b'data: {"error": {"message": "EngineDeadError"}}\n\n', DONE)
        elif fault == "html":
            await exchange.head(200, {"Content-Type": "text/html"})
            await exchange.raw(b"<html>a proxy</html>")
        elif fault == "half json":
            await exchange.stream(b'data: {"choices": [{"del\n\n')
        elif fault == "busy":
            await exchange.json(503, {"error": {"message": "overloaded"}}, **{"Retry-After": "0"})
        else:
            await exchange.json(400, {"error": {"message": "Failed to load image"}})


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_sample_ends_once_with_the_right_kind_and_nothing_leaks(tmp_path: Path) -> None:
    trouble = Trouble()
    asked = [Sample(f"s{i}", "b", "?", ("A", "B"), "A", {}, f"v{i // 3}", {}, i) for i in range(SAMPLES)]
    with FaultServer(trouble) as server:
        before = set(Path("/proc/self/fd").iterdir())
        end, left = asyncio.run(play(server, asked, tmp_path / "run"))
        server.wait_until_idle()
        assert server.open_connections == 0
        after = set(Path("/proc/self/fd").iterdir())
    assert end.reason == "finished"
    assert left == 0
    assert len(after - before) <= 2
    tries: dict[str, list[Any]] = defaultdict(list)
    for response in Run.load(tmp_path / "run").responses():
        tries[response.sample_id].append(response)
    assert len(tries) == SAMPLES
    outcomes: Counter[str] = Counter()
    for name, responses in tries.items():
        assert len(responses) == trouble.tries[name] <= ATTEMPTS
        assert [response.attempt for response in responses] == list(range(1, len(responses) + 1))
        final, fault = responses[-1], trouble.last[name]
        assert not any(response.answered for response in responses[:-1])
        if fault is None:
            assert final.answered and final.text == "A"
            outcomes["answered"] += 1
        else:
            assert final.error is not None
            assert final.error.kind == FAULTS[fault], (fault, final.error)
            assert not final.error.retryable or len(responses) == ATTEMPTS
            outcomes[fault] += 1
    assert outcomes["answered"] > 0.95 * SAMPLES
    assert outcomes["undecodable"] > 0.005 * SAMPLES


async def play(server: FaultServer, asked: list[Sample], folder: Path) -> tuple[RunEnd, int]:
    config = api.configure(
        "daily-omni", [("base_url", server.base_url), ("model", "fake"), ("concurrency", 32)], sample=True
    )
    backend = create(config, BackendContext(file_url))
    retry = RetryConfig(
        attempts=ATTEMPTS, first_wait_s=0, max_wait_s=0, stop_after=0, in_all=10**9, wait_for_server_s=0
    )
    benchmark: Any = TextBenchmark()

    async def nothing(plan: MediaPlan) -> PreparedMedia:
        return PreparedMedia()

    with RunWriter.begin(folder, INFO, []) as writer:
        preparer = Preparer(benchmark, nothing, ahead=64)
        runner = Runner(backend, preparer, writer, score=score, retry=retry, concurrency=32)
        end = await runner.run(asked)
    await backend.close()
    await asyncio.sleep(0.2)  # generators that were left in the midst close in tasks of their own
    return end, len(asyncio.all_tasks()) - 1
