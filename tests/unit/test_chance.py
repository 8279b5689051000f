"""The chance backend draws evenly, by seed and sample alone."""

from __future__ import annotations

import asyncio
from collections import Counter

from omnieval.backends.base import BackendContext
from omnieval.backends.chance import create
from omnieval.benchmarks.daily_omni import Settings
from omnieval.config import RunConfig
from omnieval.types import Generation, Request


def letters(seed: int, ids: list[str], options: str = "ABCD") -> list[str]:
    config = RunConfig(recipe="r", benchmark="daily-omni", backend_seed=seed, task=Settings())
    backend = create(config, BackendContext())

    async def ask() -> list[str]:
        requests = [Request(i, (), Generation(), options=dict.fromkeys(options, "x")) for i in ids]
        return [(await backend.generate(request)).text for request in requests]

    return asyncio.run(ask())


IDS = [f"sample-{i}" for i in range(4000)]


def test_every_letter_is_about_equally_likely() -> None:
    counts = Counter(letters(0, IDS))
    assert set(counts) == set("ABCD")
    assert all(850 < count < 1150 for count in counts.values())


def test_order_does_not_matter_and_the_seed_does() -> None:
    forward = dict(zip(IDS, letters(1, IDS), strict=True))
    backward = dict(zip(IDS[::-1], letters(1, IDS[::-1]), strict=True))
    assert forward == backward
    assert letters(2, IDS) != letters(1, IDS)


def test_a_request_without_options_is_a_failure_of_its_data() -> None:
    config = RunConfig(recipe="r", benchmark="daily-omni", task=Settings())
    response = asyncio.run(create(config, BackendContext()).generate(Request("s", (), Generation())))
    assert response.error is not None
    assert response.error.kind == "data"
