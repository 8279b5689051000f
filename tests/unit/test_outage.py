"""A server that goes away is waited for until it really answers; all who ask it wait together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnieval.backends import retry
from omnieval.backends.replicas import Replicas
from omnieval.config import RetryConfig
from omnieval.engine.prepare import Preparer
from omnieval.engine.progress import Progress
from omnieval.engine.runner import RunEnd, Runner
from omnieval.progress_display import describe
from omnieval.runlog import Run, RunWriter
from omnieval.types import Capabilities, Failure, PreparedMedia, Request, Response, ServerFacts
from tests.unit.test_engine import INFO, PlainBenchmark, samples, score


class Mortal:
    """A server that goes away after some answers, and comes back after some questions whether it is alive."""

    capabilities = Capabilities()

    def __init__(self, *, dies_after: int, back_after: float, kind: str = "connection") -> None:
        self._dies_after = dies_after
        self._back_after = back_after
        self._kind = kind
        self.answers = 0
        self.asked_if_alive = 0
        self.calls = 0

    @property
    def there(self) -> bool:
        return self.answers < self._dies_after or self.asked_if_alive >= self._back_after

    async def check(self) -> ServerFacts:
        return ServerFacts("mortal")

    async def alive(self) -> bool:
        self.asked_if_alive += 1
        return self.there

    async def generate(self, request: Request) -> Response:
        self.calls += 1
        await asyncio.sleep(0)
        if not self.there:
            status = 503 if self._kind == "busy" else None  # what a proxy says of it
            failure = Failure(self._kind, "it is gone", retryable=True, status=status)
            return Response(request.sample_id, error=failure)
        self.answers += 1
        return Response(request.sample_id, text="A")

    async def close(self) -> None:
        return


def run(
    folder: Path, backend: Any, *, wait_s: float = 60.0, attempts: int = 2, count: int = 20,
    listener: Callable[[Progress], None] = lambda progress: None, in_all: int = 1000,
) -> tuple[RunEnd, Run]:  # fmt: skip
    retry = RetryConfig(
        attempts=attempts,
        first_wait_s=0.001,
        max_wait_s=0.001,
        stop_after=4,
        wait_for_server_s=wait_s,
        in_all=in_all,
    )

    async def prepared(plan: Any) -> PreparedMedia:
        return PreparedMedia()

    async def work() -> RunEnd:
        benchmark: Any = PlainBenchmark()
        with RunWriter.begin(folder, INFO, []) as writer:
            runner = Runner(
                backend, Preparer(benchmark, prepared, ahead=4), writer, score=score, retry=retry, concurrency=4,
                listener=listener, grace_s=0.2,
            )  # fmt: skip
            return await runner.run(samples(count))

    end = asyncio.run(work())
    return end, Run.load(folder)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.005)
    monkeypatch.setattr(retry, "LONGEST_PAUSE_S", 0.01)


@pytest.mark.parametrize("kind", ["connection", "server", "timeout", "busy"])
def test_a_server_that_comes_back_is_used_again_and_nothing_is_lost(tmp_path: Path, kind: str) -> None:
    backend = Mortal(dies_after=5, back_after=6, kind=kind)
    shown: list[str] = []
    end, stored = run(tmp_path / "run", backend, listener=lambda progress: shown.append(describe(progress)))
    assert end.reason == "finished"
    assert all(response.answered for response in stored.last_responses().values())
    assert len(stored.last_responses()) == 20
    assert backend.calls <= 20 + 4, "one try each was lost to the outage"
    events = [event["event"] for event in stored.events() if str(event["event"]).startswith("server_")]
    assert events == ["server_gone", "server_back"]
    assert any("the server is gone: waiting" in line for line in shown)


def test_a_server_that_stays_away_ends_the_run_after_the_stated_time(tmp_path: Path) -> None:
    backend = Mortal(dies_after=5, back_after=float("inf"))
    end, stored = run(tmp_path / "run", backend, wait_s=0.1)
    assert end.reason == "refused"
    assert end.failure is not None and end.failure.kind == "connection"
    answered = [response for response in stored.last_responses().values() if response.answered]
    assert len(answered) == 5
    assert backend.calls <= 5 + 4 + 4


def test_without_patience_a_failure_is_one_of_the_sample(tmp_path: Path) -> None:
    backend = Mortal(dies_after=5, back_after=3)
    run(tmp_path / "run", backend, wait_s=0)
    assert backend.asked_if_alive == 0


def test_a_server_that_is_there_is_not_waited_for(tmp_path: Path) -> None:
    class Fussy(Mortal):
        async def generate(self, request: Request) -> Response:
            self.calls += 1
            if request.sample_id == "s7":
                return Response(
                    request.sample_id, error=Failure("server", "this one kills a worker", retryable=True)
                )
            return Response(request.sample_id, text="A")

    backend = Fussy(dies_after=1000, back_after=0)
    end, stored = run(tmp_path / "run", backend)
    assert end.reason == "finished"
    assert backend.calls == 19 + 2
    assert not any(str(event["event"]).startswith("server_") for event in stored.events())


def test_tries_again_have_a_budget_for_the_whole_run(tmp_path: Path) -> None:
    class Sick(Mortal):
        async def generate(self, request: Request) -> Response:
            self.calls += 1
            return Response(request.sample_id, error=Failure("busy", "too many", retryable=True))

    backend = Sick(dies_after=0, back_after=0)
    end, _ = run(tmp_path / "run", backend, attempts=100, in_all=10, count=3)
    assert end.reason == "finished"
    assert 10 <= backend.calls - 3 <= 10 + 4


class Engine(Mortal):
    """Starts its model itself: the first look at it while it is gone is the last start."""

    @property
    def given_up(self) -> Failure | None:
        ended = Failure("connection", "ended 4 times in a row, so it is not started again")
        return ended if self.asked_if_alive else None


@pytest.mark.parametrize("kind", ["connection", "server"])
def test_an_engine_that_is_started_no_more_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    backend = Engine(dies_after=5, back_after=float("inf"), kind=kind)
    end, stored = run(tmp_path / "run", backend)
    assert end.reason == "refused"
    assert end.failure == backend.given_up
    assert backend.asked_if_alive == 1
    assert backend.calls <= 5 + 4
    assert sum(response.answered for response in stored.last_responses().values()) == 5


def test_as_long_as_one_engine_may_answer_the_run_goes_on(tmp_path: Path) -> None:
    engines = [Engine(dies_after=3, back_after=float("inf")), Engine(dies_after=1000, back_after=0)]
    end, stored = run(tmp_path / "one", Replicas([("npu:0", engines[0]), ("npu:1", engines[1])]))
    assert end.reason == "finished"
    assert all(response.answered for response in stored.last_responses().values())
    engines = [Engine(dies_after=3, back_after=float("inf")) for _ in range(2)]
    end, _ = run(tmp_path / "none", Replicas([("npu:0", engines[0]), ("npu:1", engines[1])]))
    assert end.failure == engines[1].given_up
