"""The number of requests in flight that a server makes use of is found by its answers alone."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.engine.knee import Knee
from omnieval.engine.places import Places
from omnieval.errors import ConfigError
from omnieval.progress_display import describe
from omnieval.runlog import Run
from omnieval.types import Failure, Response
from tests.command import omnieval
from tests.faults.server import Exchange, FaultServer


@dataclass
class Slots:
    """A simulated server that works on `slots` requests at once and lets the others wait.

    refuses_beyond: requests in it above which it answers 429 at once. noise: spread of the time of one.
    """

    slots: int
    refuses_beyond: int | None = None
    noise: float = 0.0
    random: random.Random = field(default_factory=lambda: random.Random(1))
    _free_at: list[float] = field(default_factory=list)
    inside: int = 0

    def end_of(self, now_s: float) -> tuple[float, bool]:
        """(when a request that comes now ends, whether with an answer). A refused one waits a little."""
        if self.refuses_beyond is not None and self.inside >= self.refuses_beyond:
            return now_s + 0.5, False
        while len(self._free_at) < self.slots:
            heapq.heappush(self._free_at, 0.0)
        begins = max(now_s, heapq.heappop(self._free_at))
        ends = begins + self.random.lognormvariate(0.0, self.noise)
        heapq.heappush(self._free_at, ends)
        return ends, True


@dataclass
class Played:
    limits: list[int]
    answers: int = 0
    refusals: int = 0
    seconds: float = 0.0


def play(knee: Knee, server: Slots, requests: int, *, feeds: int = 10**6, seconds_off: float = 0.0) -> Played:
    """Ask a simulated server as the engine does. feeds: the most in flight that are ready to be sent."""
    now_s, played = seconds_off, Played([knee.limit])
    order = itertools.count()
    out: list[tuple[float, int, float, bool]] = []
    while played.answers < requests:
        while len(out) < min(knee.limit, feeds):
            ends_s, answered = server.end_of(now_s)
            server.inside += answered
            heapq.heappush(out, (ends_s, next(order), now_s, answered))
        now_s, _, began_s, answered = heapq.heappop(out)
        server.inside -= answered
        played.answers += answered
        played.refusals += not answered
        if knee.take(now_s - began_s, answered=answered, overloaded=not answered, in_flight=len(out) + 1):
            played.limits.append(knee.limit)
    played.seconds = now_s - seconds_off
    return played


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 6, 8, 12, 16, 24, 33, 64, 100])
def test_the_knee_of_a_server_with_slots_is_found_and_hardly_passed(slots: int) -> None:
    knee = Knee(256)
    played = play(knee, Slots(slots), 60 * slots + 500)
    assert knee.settled, played.limits
    assert max(2, 0.79 * slots) <= knee.limit <= max(slots + 1, 1.7 * slots), (played.limits, knee.why)
    assert "answers a second" in knee.why
    assert max(played.limits) <= max(4, 3 * slots)


class Batches(Slots):
    """Works on all requests at once, each the slower the more there are, as a batching engine does."""

    def end_of(self, now_s: float) -> tuple[float, bool]:
        return now_s + 1.0 + 0.1 * (self.inside + 1), True


def test_most_of_the_rate_of_a_batching_server_is_reached() -> None:
    knee = Knee(256)
    played = play(knee, Batches(0), 3000)
    assert knee.settled, played.limits
    assert knee.limit / (1.0 + 0.1 * knee.limit) >= 0.75 * 10, (played.limits, knee.why)
    assert knee.limit <= 128


@pytest.mark.parametrize("seed", range(20))
def test_noise_costs_little_of_what_the_server_can_do(seed: int) -> None:
    knee = Knee(256)
    server = Slots(16, noise=0.5, random=random.Random(seed))
    played = play(knee, server, 1500)
    assert knee.settled
    assert 11 <= knee.limit <= 48, (played.limits, knee.why)


def test_the_search_costs_little_against_the_best_number_from_the_start() -> None:
    searched = play(Knee(256), Slots(16), 1200).seconds
    assert searched < 1.35 * 1200 / 16


@pytest.mark.parametrize(("slots", "beyond"), [(8, 8), (8, 10), (16, 20), (64, 64), (1, 1), (4, 5)])
def test_a_server_that_refuses_is_asked_no_more_than_it_takes(slots: int, beyond: int) -> None:
    knee = Knee(256)
    played = play(knee, Slots(slots, refuses_beyond=beyond), 3000)
    assert knee.settled, played.limits
    assert 0.7 * min(slots, beyond) <= knee.limit <= beyond, (played.limits, knee.why)
    assert played.refusals < 0.05 * played.answers
    assert max(played.limits) > beyond


def test_a_server_that_begins_to_refuse_is_asked_less() -> None:
    knee = Knee(256)
    server = Slots(16)
    play(knee, server, 1500)
    before = knee.limit
    server.slots, server.refuses_beyond, server._free_at = 4, 4, []
    server.inside = 0
    play(knee, server, 1500, seconds_off=1e6)
    assert before >= 13
    assert knee.settled
    assert 3 <= knee.limit <= 4


def test_a_hiccup_changes_nothing() -> None:
    knee = Knee(256)
    play(knee, Slots(8), 1000)
    chosen = knee.limit
    for i in range(200):
        knee.take(1.0, answered=i % 40 != 0, overloaded=i % 40 == 0, in_flight=chosen)
    assert knee.limit == chosen


def test_what_comes_no_faster_than_it_is_prepared_proves_nothing_of_the_server() -> None:
    knee = Knee(256)
    play(knee, Slots(64), 1000, feeds=3)
    assert not knee.settled
    assert knee.limit == 4
    play(knee, Slots(64), 4000, seconds_off=1e6)
    assert knee.limit >= 50


def test_the_limit_keeps_within_its_bound_and_says_so() -> None:
    knee = Knee(24)
    assert max(play(knee, Slots(100), 2000).limits) == 24
    assert (knee.limit, knee.settled) == (24, True)
    assert "no more are tried" in knee.why
    one = Knee(1)
    play(one, Slots(100), 200)
    assert (one.limit, one.settled) == (1, True)


def test_equal_answers_make_equal_choices_and_a_new_server_is_learnt_anew() -> None:
    first, second = Knee(256), Knee(256)
    assert play(first, Slots(12, noise=0.3), 900) == play(second, Slots(12, noise=0.3), 900)
    first.anew()
    assert not first.settled
    play(first, Slots(32), 2000, seconds_off=1e6)
    assert 26 <= first.limit <= 40


def test_places_follow_the_limit_and_a_lower_one_lets_those_in_flight_end() -> None:
    async def work() -> list[int]:
        told: list[int] = []
        places = Places("auto", None, lambda knee: told.append(knee.limit))
        busy = Response("s", error=Failure("busy", "full", retryable=True))
        for _ in range(places.limit):
            await places.take()
        blocked = asyncio.create_task(places.take())
        await asyncio.sleep(0)
        assert not blocked.done()
        for _ in range(6):
            places.saw(busy, 0.1, in_flight=2)
        assert told == [1]
        places.give_back()
        await asyncio.sleep(0)
        assert not blocked.done(), "one is still out, and one is the limit"
        places.give_back()
        await asyncio.wait_for(blocked, 1)
        return told

    asyncio.run(work())


def test_a_rate_and_a_search_exclude_each_other_and_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError, match="a rate sets the load"):
        api.configure("daily-omni", [("concurrency", "auto"), ("request_rate", 2)], sample=True)
    for wrong in (0, -1, "many", 1.5, None):
        with pytest.raises(ConfigError, match="'concurrency': expected a whole number from 1 up, or auto"):
            api.configure("daily-omni", [("concurrency", wrong)], sample=True)
    assert api.configure("daily-omni", [("concurrency", "12")], sample=True).concurrency == 12
    wrong_flag = omnieval("run", "daily-omni", "--sample", "--concurrency", "lots")
    assert wrong_flag.returncode == 2
    assert "or auto" in wrong_flag.stderr


def text_set(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    rows = (
        f'{{"id": "q{i}", "question": "{i}?", "options": ["a", "b"], "answer": "A"}}\n' for i in range(count)
    )
    (folder / "qa.jsonl").write_text("".join(rows))
    return folder / "qa.jsonl"


class Working:
    """Answers `slots` requests at once; the others wait, and those beyond `most` are refused."""

    def __init__(self, slots: int, most: int, service_s: float) -> None:
        self._slots, self._most, self._service_s = slots, most, service_s
        self._free: asyncio.Semaphore | None = None
        self.inside = self.peak = self.refused = 0

    async def __call__(self, exchange: Exchange) -> None:
        if self._free is None:
            self._free = asyncio.Semaphore(self._slots)
        if self.inside >= self._most:
            self.refused += 1
            await exchange.json(429, {"error": {"message": "queue is full"}})
            return
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        try:
            async with self._free:
                await asyncio.sleep(self._service_s)
                await exchange.answer("A")
        finally:
            self.inside -= 1


def searching_run(folder: Path, working: Working, count: int) -> tuple[Run, list[Any], list[str]]:
    """A run of so many questions with `concurrency: auto`, its events of that, and the lines that it showed."""
    shown: list[str] = []
    with FaultServer(working) as server:
        run = api.run(
            "mcq", data=str(text_set(folder / "data", count)), base_url=server.base_url, out=folder / "run",
            concurrency="auto", preflight="never", retry={"first_wait_s": 0.2, "attempts": 6}, listener=lambda progress: shown.append(describe(progress)),
        )  # fmt: skip
    answers = run.last_responses()
    assert len(answers) == count and all(answer.answered for answer in answers.values())
    events = [event for event in Run.load(folder / "run").events() if event["event"] == "concurrency"]
    assert events[0]["limit"] == 2 and not events[0]["settled"]
    assert any("looking for the best number" in line for line in shown)
    return run, events, shown


def test_a_whole_run_looks_for_the_slots_of_its_server_and_tells_of_it(tmp_path: Path) -> None:
    """How good the choice is depends on what else this machine does; the simulated servers above prove that."""
    _, events, shown = searching_run(tmp_path, Working(slots=1, most=1000, service_s=0.02), 250)
    chosen, settled = events[-1]["limit"], events[-1]["settled"]
    assert [event["limit"] for event in events[:2]] == [2, 4], events
    assert any(f" of {chosen}" in line for line in shown)
    told = f"auto chose {chosen}: " if settled else f"was still looking when the run ended, with {chosen} in"
    assert told in (tmp_path / "run" / "report.md").read_text()


def test_a_whole_run_asks_a_server_that_takes_one_at_a_time_one_at_a_time(tmp_path: Path) -> None:
    working = Working(slots=1, most=1, service_s=0.05)
    _, events, shown = searching_run(tmp_path, working, 60)
    assert events[-1]["settled"] and events[-1]["limit"] == 1, events
    assert 0 < working.refused < 20
    assert any(" of 1" in line and "looking" not in line for line in shown)
    assert "concurrency auto chose 1: with 2 in flight" in (tmp_path / "run" / "report.md").read_text()
