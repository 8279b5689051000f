"""Fixtures that several kinds of tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.faults.server import Exchange, FaultServer

# Tests start omnieval hundreds of times: its modules are to be compiled once, also where the environment says not to.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Machines that run tests are slow at times; a property is about results, not about time.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


async def answer_by_prompt(exchange: Exchange) -> None:
    """A deterministic model: the letter depends on the length of the prompt alone."""
    prompt = exchange.body["messages"][-1]["content"][-1]["text"]
    await exchange.answer("ABCD"[len(prompt) % 4])


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """A fake model server with a deterministic model."""
    with FaultServer(answer_by_prompt) as running:
        yield running


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One media cache for a whole test process, so that the sample is decoded once."""
    return tmp_path_factory.mktemp("media-cache")
