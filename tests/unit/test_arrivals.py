"""Requests set out at random intervals of a mean rate, the same ones for the same seed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from omnieval.engine.arrivals import Arrivals
from omnieval.types import Response
from tests.unit.test_engine import ScriptedBackend, run, samples


def moments(rate: float | None, count: int, seed: int = 0) -> list[float]:
    """When each of the requests set out, in seconds from the first."""

    async def play() -> list[float]:
        arrivals = Arrivals(rate, seed=seed)
        clock = asyncio.get_running_loop().time
        found = []
        for _ in range(count):
            await arrivals.next()
            found.append(clock())
        return [moment - found[0] for moment in found]

    return asyncio.run(play())


def due(rate: float, count: int, seed: int = 0) -> list[float]:
    import random

    dice, moment, found = random.Random(seed), 0.0, []
    for i in range(count):
        moment += dice.expovariate(rate) if i else 0.0
        found.append(moment)
    return found


def test_no_request_sets_out_before_its_time() -> None:
    early = [at - planned for at, planned in zip(moments(400, 60), due(400, 60), strict=True)]
    assert min(early) >= -0.002


def test_the_mean_of_the_intervals_is_that_of_the_rate() -> None:
    assert abs(due(50, 5_001)[-1] / 5_000 - 1 / 50) < 0.001
    assert due(50, 9) != due(50, 9, seed=1)


def test_without_a_rate_nothing_waits(tmp_path: Path) -> None:
    async def right(sample_id: str, call: int) -> Response:
        return Response(sample_id, text="A")

    assert moments(None, 1_000)[-1] < 1.0
    end, stored = run(tmp_path / "run", ScriptedBackend(right), samples(5))
    assert end.reason == "finished"
    assert len(stored.last_responses()) == 5
