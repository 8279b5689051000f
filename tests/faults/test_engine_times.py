"""Times of an answer are those of the answer: what an engine takes to start anew is none of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.llamacpp import cli
from omnieval.backends.vllm_omni import offline
from omnieval.types import Backend, JsonDict
from tests.faults.test_llamacpp_cli import Machine, picture, question, sound
from tests.faults.test_vllm_omni_offline import make_model

START_S, ANSWER_S = 100.0, 2.0


class Clock:
    """In the place of the module `time`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


class DeadEngine:
    """One that died before, and is started by whoever comes first."""

    def __init__(self, clock: Clock, result: JsonDict) -> None:
        self._clock, self._result, self._is_up = clock, result, False

    async def up(self) -> JsonDict:
        self._clock.now += 0 if self._is_up else START_S
        self._is_up = True
        return {}

    async def ask(self, sample_id: str, message: JsonDict, *, limit_s: float) -> JsonDict:
        await self.up()
        self._clock.now += ANSWER_S
        return self._result

    async def close(self) -> None:
        pass


def answered(backend: Any, module: Any, result: JsonDict, folder: Path, patch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    patch.setattr(module, "time", clock)
    backend._engine = DeadEngine(clock, {"ok": True, **result})
    response = asyncio.run(backend.generate(question("s", picture(folder), sound(folder))))
    assert response.error is None
    assert (response.timing.started, response.timing.e2e_s) == (1000.0 + START_S, ANSWER_S)


def test_of_an_evaluation_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend: Backend = Machine(tmp_path).backend()
    answered(backend, cli, {"response": "A"}, tmp_path, monkeypatch)


def test_of_an_offline_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [("backend", "vllm-omni-offline"), ("model", str(make_model(tmp_path / "model")))]
    config = api.configure("daily-omni", [*settings, ("cache_dir", str(tmp_path / "cache"))])
    backend = offline.create(config, BackendContext())
    answered(backend, offline, {"text": "A"}, tmp_path, monkeypatch)
