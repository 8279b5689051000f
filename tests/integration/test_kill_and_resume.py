"""A run that is killed, interrupted or left by its server goes on where it stopped, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import lines, omnieval, report, start
from tests.conftest import answer_by_prompt
from tests.faults.server import Exchange, FaultServer

KILLS = 20
QUESTIONS = 23


async def answer_slowly(exchange: Exchange) -> None:
    await asyncio.sleep(0.1)
    await answer_by_prompt(exchange)


@pytest.fixture(scope="module")
def slow_server() -> Iterator[FaultServer]:
    with FaultServer(answer_slowly) as running:
        yield running


def run_arguments(server: FaultServer, cache: Path, out: Path) -> list[str | Path]:
    return [
        "run", "daily-omni", "--sample", "--base-url", server.base_url, "--model", "fake",
        "--cache-dir", cache, "--out", out, "--concurrency", "2",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def uninterrupted(
    slow_server: FaultServer, cache_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], float]:
    """The report of a run that nothing disturbed, and how long it took with a warm cache."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    for name in ("cold", "warm"):
        began = time.monotonic()
        done = omnieval(*run_arguments(slow_server, cache_dir, folder / name))
        assert done.returncode == 0, done.stderr
    return report(folder / "warm"), time.monotonic() - began


@pytest.mark.parametrize(
    "kill", [kill if kill % 4 == 2 else pytest.param(kill, marks=pytest.mark.slow) for kill in range(KILLS)]
)
def test_a_process_killed_at_a_random_moment_loses_nothing(
    kill: int,
    slow_server: FaultServer,
    cache_dir: Path,
    uninterrupted: tuple[dict[str, Any], float],
    tmp_path: Path,
) -> None:
    expected, duration_s = uninterrupted
    run = tmp_path / "run"
    arguments = run_arguments(slow_server, cache_dir, run)
    # Stratified over the whole duration, so that start, middle and end are all hit.
    moment_s = duration_s * (kill + random.Random(kill).random()) / KILLS
    process = start(*arguments)
    try:
        process.wait(timeout=moment_s)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    responses = run / "responses.jsonl"
    written = responses.read_bytes() if responses.exists() else b""
    whole_lines = written[: written.rfind(b"\n") + 1]

    resumed = omnieval(*arguments)

    assert resumed.returncode == 0, resumed.stderr
    assert report(run) == expected
    assert responses.read_bytes().startswith(whole_lines)
    tries = Counter(line["sample_id"] for line in lines(responses))
    assert len(tries) == QUESTIONS
    assert set(tries.values()) == {1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_finishes_what_is_in_flight_and_says_how_to_resume(
    number: signal.Signals, cache_dir: Path, tmp_path: Path
) -> None:
    asked_third = asyncio.Event()
    interrupted = asyncio.Event()

    async def wait_after_two(exchange: Exchange) -> None:
        if len(server.requests) >= 3 and not interrupted.is_set():
            asked_third.set()
            await interrupted.wait()
        await answer_by_prompt(exchange)

    run = tmp_path / "run"
    with FaultServer(wait_after_two) as server:
        arguments = run_arguments(server, cache_dir, run)
        process = start(*arguments)
        server.wait_for(asked_third)
        process.send_signal(number)
        shown = read_until(process, "stopping")
        server.release(interrupted)
        output = shown + process.communicate()[0]
        assert process.returncode == 1, output
        assert f"omnieval run --resume {run}" in output
        partial = report(run)
        assert partial["complete"] is False
        assert sum(line["count"] for line in partial["accounting"]) == QUESTIONS
        answered = len(lines(run / "responses.jsonl"))
        assert 3 <= answered < QUESTIONS
        asked_before = len(server.requests)
        resumed = omnieval("run", "--resume", run)
        assert resumed.returncode == 0, resumed.stderr
        assert len(server.requests) - asked_before == QUESTIONS - answered
    assert report(run)["complete"] is True


def read_until(process: subprocess.Popen[str], word: str) -> str:
    """The output up to and with the first line that has the word."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if word in line:
            return seen
    raise AssertionError(f"the process ended without saying {word!r}: {seen}")


def test_a_second_signal_leaves_at_once_and_nothing_written_is_lost(cache_dir: Path, tmp_path: Path) -> None:
    hanging = asyncio.Event()

    async def hang_after_two(exchange: Exchange) -> None:
        if len(server.requests) > 2:
            hanging.set()
            await exchange.hang()
        await answer_by_prompt(exchange)

    run = tmp_path / "run"
    with FaultServer(hang_after_two) as server:
        process = start(*run_arguments(server, cache_dir, run))
        server.wait_for(hanging)
        process.send_signal(signal.SIGINT)
        read_until(process, "stopping")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 130
        kept = (run / "responses.jsonl").read_bytes()
        server.script = answer_by_prompt
        resumed = omnieval("run", "--resume", run)
    assert resumed.returncode == 0, resumed.stderr
    assert (run / "responses.jsonl").read_bytes().startswith(kept)
    assert report(run)["complete"] is True


def test_a_server_that_goes_away_stops_the_run_and_a_new_address_continues_it(
    cache_dir: Path, uninterrupted: tuple[dict[str, Any], float], tmp_path: Path
) -> None:
    async def refuse_after_five(exchange: Exchange) -> None:
        if len(server.requests) > 5:
            exchange.reset()
        else:
            await answer_by_prompt(exchange)

    run = tmp_path / "run"
    quick_retries = [
        "--set", "retry.attempts=2", "--set", "retry.first_wait_s=0.01", "--set", "retry.wait_for_server_s=0.2"
    ]  # fmt: skip
    with FaultServer(refuse_after_five) as server:
        stopped = omnieval(*run_arguments(server, cache_dir, run), *quick_retries)
    assert stopped.returncode == 4, stopped.stdout
    assert "would fail every question" in stopped.stderr
    assert report(run)["complete"] is False

    with FaultServer(answer_by_prompt) as another:
        resumed = omnieval("run", "--resume", run, "--base-url", another.base_url)
    assert resumed.returncode == 0, resumed.stderr
    assert report(run) == uninterrupted[0]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (["--set", "max_frames=8"], "max_frames: 64 -> 8"),
        (["--set", "decode.temperature=0.7"], "decode.temperature: 0.0 -> 0.7"),
        (["--model", "other"], 'model: "fake" -> "other"'),
    ],
)
def test_a_changed_configuration_is_refused_with_the_differences(
    change: list[str], line: str, server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    server.models.append({"id": "other"})
    run = tmp_path / "run"
    arguments = run_arguments(server, cache_dir, run)
    assert omnieval(*arguments, "--limit", "2").returncode == 0
    before = (run / "report.json").read_bytes()
    asked = len(server.requests)

    for refused in (omnieval(*arguments, "--limit", "2", *change), omnieval("run", "--resume", run, *change)):
        assert refused.returncode == 2
        assert line in refused.stderr
    assert len(server.requests) == asked
    assert (run / "report.json").read_bytes() == before


def test_another_data_set_is_refused(server: FaultServer, cache_dir: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "Videos").mkdir(parents=True)
    row = {"video_id": "v", "Question": "?", "Choice": ["A. x", "B. y"], "Answer": "A"}
    (data / "qa.json").write_text(f"[{json.dumps(row)}]")
    arguments = [
        "run", "daily-omni", "--data", data, "--base-url", server.base_url, "--cache-dir", cache_dir,
        "--out", tmp_path / "run",
    ]  # fmt: skip
    assert omnieval(*arguments).returncode == 1, "its one video is missing"
    (data / "qa.json").write_text(f"[{json.dumps(row | {'Answer': 'B'})}]")
    refused = omnieval(*arguments)
    assert refused.returncode == 3
    assert "another data set" in refused.stderr
