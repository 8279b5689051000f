"""An engine process that dies, hangs or raves: what a request hears of it, what is started anew, what is left."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from omnieval.backends.engines import process
from omnieval.backends.engines.engine import Engine, Launch
from omnieval.backends.engines.log import EngineLog, new_log_folder
from omnieval.backends.failed import FailedTry
from omnieval.errors import BackendError
from omnieval.types import Failure, JsonDict
from tests.command import environment

ENGINE = Path(__file__).parent.parent / "standins" / "line_engine.py"
LIMIT_S = 15.0


def launch(folder: Path, start: str = "well", **changes: object) -> Launch:
    plain = Launch(
        name="the engine",
        command=[sys.executable, "-S", "-E", str(ENGINE), start, str(folder / "pids")],
        env=environment(),
        log=EngineLog(folder / "engine.log"),
        start_s=LIMIT_S,
        restarts=3,
        grace_s=2.0,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def pids(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be looked at does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_gone(found: list[int]) -> bool:
    deadline = time.monotonic() + LIMIT_S
    while any(map(is_alive, found)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(is_alive, found))


def play(work: Callable[[Engine], Awaitable[None]], wanted: Launch) -> None:
    async def whole() -> None:
        engine = Engine(wanted)
        try:
            await work(engine)
        finally:
            await engine.close()

    asyncio.run(whole())


async def ask(engine: Engine, name: str, do: str = "answer", limit_s: float = LIMIT_S) -> JsonDict | Failure:
    try:
        return await engine.ask(name, {"do": do}, limit_s=limit_s)
    except FailedTry as failed:
        return failed.failure


@pytest.mark.parametrize(
    ("do", "kind", "words"),
    [
        ("die", "server", "exit code 3 (its log: RuntimeError: device lost)"),
        ("be killed", "server", "ended by SIGKILL"),
        ("close its output", "timeout", "did not answer within 1 s"),
        ("end in the middle of a line", "server", "exit code 0"),
        ("say fatal", "server", "the card fell off the bus"),
        ("hang", "timeout", "did not answer within 1 s"),
        ("hang in a device call", "timeout", "did not answer within 1 s"),
    ],
)
def test_a_death_fails_the_request_and_the_next_one_meets_a_new_engine(
    do: str, kind: str, words: str, tmp_path: Path
) -> None:
    async def work(engine: Engine) -> None:
        first = await ask(engine, "a")
        assert isinstance(first, dict)
        failure = await ask(engine, "b", do, limit_s=1.0 if kind == "timeout" else LIMIT_S)
        assert isinstance(failure, Failure)
        assert (failure.kind, failure.retryable) == (kind, True)
        assert words in failure.message
        assert str(tmp_path / "engine.log") in (failure.hint or "")
        second = await ask(engine, "b")
        assert isinstance(second, dict)
        assert second["pid"] != first["pid"]
        assert second["alone"] is True, "it may be what ended the engine"
        assert (await engine.up())["version"] == "1"

    play(work, launch(tmp_path))
    assert len(pids(tmp_path)) == 4
    assert all_gone(pids(tmp_path))


def test_noise_between_the_answers_goes_to_the_log(tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        assert isinstance(await ask(engine, "a", "make noise"), dict)

    play(work, launch(tmp_path))
    assert b"loading shards 3/9" in (tmp_path / "engine.log").read_bytes()
    assert len(pids(tmp_path)) == 2


def test_what_is_odd_between_the_answers_is_passed_over(tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        assert isinstance(await ask(engine, "a", "say what is odd"), dict)

    play(work, launch(tmp_path))
    assert len(pids(tmp_path)) == 2


@pytest.mark.parametrize(
    ("do", "words"),
    [
        ("flood its output", "the engine died: it closed its output"),
        ("flood its log", "did not answer within 3 s"),
        ("say a fatal flood", "the engine died: eeee"),
    ],
)
def test_a_flood_is_held_within_bounds(
    do: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnieval.backends.engines.lines._LONGEST_LINE", 2**24)

    async def work(engine: Engine) -> None:
        failure = await ask(engine, "a", do, limit_s=3.0)
        assert isinstance(failure, Failure)
        assert words in failure.message
        assert len(failure.message) < 5000
        assert isinstance(await ask(engine, "a"), dict)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    play(work, launch(tmp_path))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024
    assert sum(path.stat().st_size for path in tmp_path.glob("engine.log*")) < 2**27
    assert all_gone(pids(tmp_path))


def test_an_engine_that_ended_between_two_requests_costs_none_of_them(tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        first = await ask(engine, "a", "die after it")
        await asyncio.sleep(2.0)  # its child holds its output open
        second = await ask(engine, "b")
        assert isinstance(first, dict) and isinstance(second, dict)
        assert first["pid"] != second["pid"]

    play(work, launch(tmp_path))


@pytest.mark.parametrize("do", ["answer", "die", "hang in a device call"])
def test_children_that_left_for_a_session_of_their_own_are_ended(do: str, tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        await engine.up()
        await ask(engine, "a", do, limit_s=1.0 if do.startswith("hang") else LIMIT_S)

    play(work, launch(tmp_path, "loses a child"))
    assert len(pids(tmp_path)) == 3
    assert all_gone(pids(tmp_path))


def test_a_sample_that_ends_the_engine_twice_is_not_tried_again(tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        for again in (True, False):
            failure = await ask(engine, "poison", "die")
            assert isinstance(failure, Failure) and failure.retryable is again
        assert isinstance(await ask(engine, "harmless"), dict)

    play(work, launch(tmp_path))


def test_an_engine_that_never_answers_is_started_a_bounded_number_of_times(tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        for i in range(4):
            assert isinstance(failure := await ask(engine, f"s{i}", "die"), Failure)
            assert failure.kind == "server"
        for i in range(20):
            assert isinstance(failure := await ask(engine, f"t{i}"), Failure)
            assert (failure.kind, failure.retryable) == ("connection", False)
            assert "4 times in a row" in failure.message
            assert "engine.restarts" in (failure.hint or "")
        assert engine.given_up is not None

    play(work, launch(tmp_path))
    assert len(pids(tmp_path)) == 8


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("dies", "exit code 1 (its log: ValueError: no such device)"),
        ("hangs", "not ready after 1 s"),
        ("is refused", "the weights are cut short"),
    ],
)
def test_a_first_start_that_fails_says_why(start: str, words: str, tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        with pytest.raises(BackendError) as error:
            await engine.first_start()
        assert words in str(error.value)

    play(work, launch(tmp_path, start, start_s=1.0 if start == "hangs" else LIMIT_S))
    assert all_gone(pids(tmp_path))


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        with pytest.raises(BackendError, match="/no/such/engine: cannot be started: No such file"):
            await engine.first_start()

    play(work, launch(tmp_path, command=["/no/such/engine"]))


def test_of_several_requests_the_one_at_work_is_blamed(tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        for _ in range(2):
            both = await asyncio.gather(ask(engine, "poison", "die"), ask(engine, "waits"))
            assert all(isinstance(failure, Failure) for failure in both)
        assert not both[0].retryable and both[1].retryable  # type: ignore[union-attr]
        assert isinstance(result := await ask(engine, "waits"), dict)
        assert result["alone"] is False

    play(work, launch(tmp_path, at_once=2))


def test_a_request_that_is_given_up_ends_the_engine(tmp_path: Path) -> None:
    async def work(engine: Engine) -> None:
        await engine.up()
        asking = asyncio.create_task(ask(engine, "a", "hang"))
        await asyncio.sleep(0.3)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert all_gone(pids(tmp_path))
        assert isinstance(await ask(engine, "b"), dict)

    play(work, launch(tmp_path))


CLIENT = """
import asyncio, sys
from pathlib import Path
from tests.faults.test_engine import ask, launch
from omnieval.backends.engines import process
from omnieval.backends.engines.engine import Engine
async def work():
    engine = Engine(launch(Path(sys.argv[1]), "loses a child"))
    await engine.up()
    print("up", flush=True)
    await ask(engine, "a", "hang in a device call", limit_s=600)
asyncio.run(work())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_client_that_is_killed_leaves_no_process_behind(number: signal.Signals, tmp_path: Path) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(tmp_path)],
        env=environment(PYTHONPATH=str(ENGINE.parents[2])),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    assert client.stdout.readline() == "up\n"
    time.sleep(0.3)
    client.send_signal(number)
    client.communicate()
    assert len(pids(tmp_path)) == 3
    assert all_gone(pids(tmp_path))


def test_a_log_is_bounded_and_survives_a_full_disk(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "logs" / "engine.log", most_bytes=1000)
    log.begin("engine")
    for i in range(200):
        log.add(f"line {i}\n".encode())
    kept = sorted(path.stat().st_size for path in (tmp_path / "logs").iterdir())
    assert len(kept) == 2 and kept[-1] <= 1000
    assert log.reason() == "line 199"
    log.close()
    full = EngineLog(Path("/dev/full"))
    full.add(b"\x1b[31mOutOfMemoryError: it\x1b[0m\n")
    full.add(b"cleaning up\n")
    assert full.reason() == "OutOfMemoryError: it"
    full.close()


def test_old_logs_are_removed(tmp_path: Path) -> None:
    for i in range(40):
        (tmp_path / "engines" / f"20260101-{i:06}-1").mkdir(parents=True)
    folder = new_log_folder(tmp_path)
    assert str(os.getpid()) in folder.name
    left = sorted(path.name for path in (tmp_path / "engines").iterdir())
    assert len(left) == 19 and left[-1] == "20260101-000039-1"


def test_a_process_that_no_signal_of_ours_ends_does_not_hang_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_kill_group", lambda _: None)
    monkeypatch.setattr(process, "_KILLED_S", 0.1)

    async def work() -> int:
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        started = await process.EngineProcess.start(
            command, env=environment(), log=EngineLog(tmp_path / "log")
        )
        await asyncio.wait_for(started.end(), LIMIT_S)
        return started.pid

    assert all_gone([asyncio.run(work())]), "the guard tried as well"
