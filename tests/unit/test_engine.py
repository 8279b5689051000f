"""The engine asks every sample once, in order, ahead but bounded, and outlives whatever fails."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from omnieval.config import RetryConfig
from omnieval.engine.deployment import media_advice
from omnieval.engine.prepare import Preparer
from omnieval.engine.progress import Progress
from omnieval.engine.runner import RunEnd, Runner
from omnieval.errors import MediaError, StorageError
from omnieval.progress_display import describe
from omnieval.runlog import Run, RunWriter
from omnieval.scoring.choice import score_choice
from omnieval.types import (
    Capabilities,
    Failure,
    Generation,
    JsonDict,
    MediaPlan,
    PreparedMedia,
    Request,
    Response,
    Sample,
    Score,
    ServerFacts,
    SpokenAudio,
)

INFO: JsonDict = {
    "config": {}, "recipe_hash": "h", "headline": {}, "group_keys": [], "dataset": {"rows": 0}, "server": {},
    "versions": {}, "started": "now",
}  # fmt: skip
QUICK = RetryConfig(attempts=3, first_wait_s=0.001, max_wait_s=0.001, stop_after=4)


def samples(count: int, per_video: int = 1) -> list[Sample]:
    return [
        Sample(
            f"s{i}",
            "b",
            "?",
            ("A", "B"),
            "A",
            {},
            f"v{i // per_video}",
            {"video": Path(f"v{i // per_video}")},
            i,
        )
        for i in range(count)
    ]


class PlainBenchmark:
    """Plans one video a sample and packs an empty request."""

    def plan(self, sample: Sample) -> MediaPlan:
        return MediaPlan(sample.media["video"], None, "minicpm", 64)

    def pack(self, sample: Sample, media: PreparedMedia) -> Request:
        return Request(sample.id, (), Generation())


class ScriptedBackend:
    """Answers with whatever a function of (sample id, number of the call for it) returns."""

    capabilities = Capabilities()

    def __init__(self, script: Callable[[str, int], Awaitable[Response]]) -> None:
        self._script = script
        self.calls: list[str] = []

    async def check(self) -> ServerFacts:
        return ServerFacts("scripted")

    async def generate(self, request: Request) -> Response:
        self.calls.append(request.sample_id)
        return await self._script(request.sample_id, self.calls.count(request.sample_id))

    async def close(self) -> None:
        return


async def right(sample_id: str, call: int) -> Response:
    return Response(sample_id, text="A")


def failed(sample_id: str, kind: str, *, retryable: bool = False) -> Response:
    return Response(sample_id, text="partial", error=Failure(kind, kind, retryable))


def score(sample: Sample, response: Response) -> Score:
    return score_choice(sample, response, selected=True, rule="daily-omni-official")


def run(
    folder: Path,
    backend: ScriptedBackend,
    asked: list[Sample],
    *,
    prepare: Callable[[MediaPlan], PreparedMedia] = lambda plan: PreparedMedia(),
    concurrency: int = 2,
    ahead: int = 4,
    workers: int = 2,
    on_start: Callable[[Runner], None] = lambda runner: None,
    listener: Callable[[Progress], None] = lambda progress: None,
) -> tuple[RunEnd, Run]:
    async def work() -> RunEnd:
        benchmark: Any = PlainBenchmark()
        threads = ThreadPoolExecutor(workers)

        async def prepare_in_thread(plan: MediaPlan) -> PreparedMedia:
            return await asyncio.get_running_loop().run_in_executor(threads, prepare, plan)

        preparer = Preparer(benchmark, prepare_in_thread, ahead=ahead)
        with RunWriter.begin(folder, INFO, []) as writer:
            runner = Runner(
                backend, preparer, writer, score=score, retry=QUICK, concurrency=concurrency,
                listener=listener, grace_s=0.2,
            )  # fmt: skip
            on_start(runner)
            try:
                return await runner.run(asked)
            finally:
                threads.shutdown()

    end = asyncio.run(work())
    return end, Run.load(folder)


def test_every_sample_is_asked_once_and_in_order(tmp_path: Path) -> None:
    backend = ScriptedBackend(right)
    end, stored = run(tmp_path / "run", backend, samples(50), concurrency=1)
    assert end.reason == "finished"
    assert backend.calls == [f"s{i}" for i in range(50)]
    assert [response.sample_id for response in stored.responses()] == backend.calls


def test_the_first_request_leaves_while_later_media_are_still_being_prepared(tmp_path: Path) -> None:
    asked_first = threading.Event()

    def prepare(plan: MediaPlan) -> PreparedMedia:
        if plan.video != Path("v0"):
            assert asked_first.wait(30), "the first request waited for the second video"
        return PreparedMedia()

    async def script(sample_id: str, call: int) -> Response:
        asked_first.set()
        return Response(sample_id, text="A")

    end, _ = run(tmp_path / "run", ScriptedBackend(script), samples(6), prepare=prepare, workers=1)
    assert end.reason == "finished"


def test_no_more_is_prepared_ahead_than_agreed(tmp_path: Path) -> None:
    prepared: list[MediaPlan] = []
    seen: list[int] = []

    def prepare(plan: MediaPlan) -> PreparedMedia:
        prepared.append(plan)
        return PreparedMedia()

    async def script(sample_id: str, call: int) -> Response:
        for _ in range(20):
            await asyncio.sleep(0)
        seen.append(len(prepared) - len(seen))
        return Response(sample_id, text="A")

    run(tmp_path / "run", ScriptedBackend(script), samples(60), prepare=prepare, concurrency=1, ahead=3)
    # In flight, one in the queue, one being handed over, and the window.
    assert max(seen) <= 1 + 1 + 1 + 3


def test_samples_of_one_video_share_its_preparation(tmp_path: Path) -> None:
    together = threading.Barrier(2, timeout=30)
    prepared: list[Path | None] = []

    def prepare(plan: MediaPlan) -> PreparedMedia:
        prepared.append(plan.video)
        if len(prepared) <= 2:
            together.wait()  # two different videos are prepared at the same time
        return PreparedMedia()

    run(tmp_path / "run", ScriptedBackend(right), samples(8, per_video=4), prepare=prepare, ahead=2)
    assert sorted(map(str, prepared)) == ["v0", "v1"]


def test_a_fault_of_the_media_costs_its_sample_only(tmp_path: Path) -> None:
    def prepare(plan: MediaPlan) -> PreparedMedia:
        if plan.video == Path("v1"):
            raise MediaError("v1 is broken")
        if plan.video == Path("v2"):
            raise ZeroDivisionError("a decoder's bug")
        return PreparedMedia(notes=("mended",))

    end, stored = run(tmp_path / "run", ScriptedBackend(right), samples(4), prepare=prepare)
    assert end.reason == "finished"
    errors = {r.sample_id: r.error for r in stored.responses()}
    assert errors["s0"] is None
    assert errors["s3"] is None
    assert errors["s1"] == Failure("media", "v1 is broken")
    assert errors["s2"] is not None
    assert "ZeroDivisionError: a decoder's bug" in errors["s2"].message
    notes = [event["sample_id"] for event in stored.events() if event["event"] == "media"]
    assert sorted(notes) == ["s0", "s3"]


def test_a_full_cache_ends_the_run_and_keeps_what_was_answered(tmp_path: Path) -> None:
    def prepare(plan: MediaPlan) -> PreparedMedia:
        if plan.video == Path("v5"):
            raise StorageError("the disk is full")
        return PreparedMedia()

    with pytest.raises(StorageError, match="full"):
        run(tmp_path / "run", ScriptedBackend(right), samples(9), prepare=prepare, concurrency=1, ahead=1)
    answered = [response.sample_id for response in Run.load(tmp_path / "run").responses()]
    assert answered == [f"s{i}" for i in range(len(answered))]
    assert 1 <= len(answered) <= 5


def test_nothing_is_left_running_when_the_run_ends_early(tmp_path: Path) -> None:
    left: list[asyncio.Task[Any]] = []

    async def script(sample_id: str, call: int) -> Response:
        return failed(sample_id, "configuration")

    async def slowly(plan: MediaPlan) -> PreparedMedia:
        if plan.video in (Path("v0"), Path("v1"), Path("v2"), Path("v3")):
            return PreparedMedia()
        await asyncio.Event().wait()
        raise AssertionError

    async def work() -> RunEnd:
        benchmark: Any = PlainBenchmark()
        with RunWriter.begin(tmp_path / "run", INFO, []) as writer:
            runner = Runner(
                ScriptedBackend(script), Preparer(benchmark, slowly, ahead=9), writer, score=score,
                retry=QUICK, concurrency=1, grace_s=0.2,
            )  # fmt: skip
            end = await runner.run(samples(30))
        left.extend(task for task in asyncio.all_tasks() if task is not asyncio.current_task())
        return end

    assert asyncio.run(work()).reason == "refused"
    assert left == []


def test_what_heals_is_tried_again_and_every_try_is_kept(tmp_path: Path) -> None:
    async def script(sample_id: str, call: int) -> Response:
        return failed(sample_id, "server", retryable=True) if call < 3 else Response(sample_id, text="A")

    end, stored = run(tmp_path / "run", ScriptedBackend(script), samples(1))
    assert end.reason == "finished"
    tries = list(stored.responses())
    assert [(r.attempt, r.answered) for r in tries] == [(1, False), (2, False), (3, True)]
    assert tries[0].text == "partial"


def test_tries_are_bounded_and_what_cannot_heal_is_tried_once(tmp_path: Path) -> None:
    async def script(sample_id: str, call: int) -> Response:
        return failed(sample_id, "server" if sample_id == "s0" else "sample", retryable=sample_id == "s0")

    backend = ScriptedBackend(script)
    end, _ = run(tmp_path / "run", backend, samples(2))
    assert end.reason == "finished"
    assert (backend.calls.count("s0"), backend.calls.count("s1")) == (3, 1)


def test_a_backend_that_raises_costs_its_sample_only(tmp_path: Path) -> None:
    async def script(sample_id: str, call: int) -> Response:
        if sample_id == "s1":
            raise RuntimeError("a plug-in's bug")
        return Response(sample_id, text="A")

    end, stored = run(tmp_path / "run", ScriptedBackend(script), samples(3))
    assert end.reason == "finished"
    error = stored.last_responses()["s1"].error
    assert error is not None
    assert "RuntimeError: a plug-in's bug" in error.message


@pytest.mark.parametrize("kind", ["configuration", "connection"])
def test_a_reason_that_every_sample_would_meet_ends_the_run(kind: str, tmp_path: Path) -> None:
    async def script(sample_id: str, call: int) -> Response:
        return Response(sample_id, text="A") if int(sample_id[1:]) < 10 else failed(sample_id, kind)

    backend = ScriptedBackend(script)
    end, _ = run(tmp_path / "run", backend, samples(100), concurrency=1)
    assert end.reason == "refused"
    assert end.failure == Failure(kind, kind)
    assert len(backend.calls) == 10 + QUICK.stop_after


def test_a_server_that_never_answers_ends_the_run_and_one_that_sometimes_fails_does_not(
    tmp_path: Path,
) -> None:
    async def never(sample_id: str, call: int) -> Response:
        return failed(sample_id, "server")

    async def first_only(sample_id: str, call: int) -> Response:
        return Response(sample_id, text="A") if sample_id == "s0" else failed(sample_id, "server")

    refused, _ = run(tmp_path / "never", ScriptedBackend(never), samples(20), concurrency=1)
    assert refused.reason == "refused"
    finished, _ = run(tmp_path / "first", ScriptedBackend(first_only), samples(20), concurrency=1)
    assert finished.reason == "finished"


def test_one_reason_against_every_sample_ends_a_run_without_answers_and_many_reasons_do_not(
    tmp_path: Path,
) -> None:
    async def alike(sample_id: str, call: int) -> Response:
        return Response(sample_id, error=Failure("sample", "unsupported value: 3"))

    async def apart(sample_id: str, call: int) -> Response:
        return Response(sample_id, error=Failure("sample", f"{sample_id}.mp4 cannot be decoded"))

    backend = ScriptedBackend(alike)
    refused, _ = run(tmp_path / "alike", backend, samples(20), concurrency=1)
    assert refused.failure == Failure("sample", "unsupported value: 3")
    assert len(backend.calls) == QUICK.stop_after
    finished, stored = run(tmp_path / "apart", ScriptedBackend(apart), samples(20), concurrency=1)
    assert finished.reason == "finished"
    assert len(stored.last_responses()) == 20


def test_faults_of_single_samples_do_not_end_the_run(tmp_path: Path) -> None:
    async def script(sample_id: str, call: int) -> Response:
        number = int(sample_id[1:])
        if number % 5 == 4:
            return Response(sample_id, text="A")
        return failed(sample_id, "sample" if number % 2 else "configuration")

    end, stored = run(tmp_path / "run", ScriptedBackend(script), samples(40), concurrency=1)
    assert end.reason == "finished"
    assert len(stored.last_responses()) == 40


def test_stopping_finishes_what_is_in_flight_and_asks_nothing_more(tmp_path: Path) -> None:
    stop: list[Callable[[], None]] = []

    async def script(sample_id: str, call: int) -> Response:
        if sample_id == "s3":
            stop[0]()
            await asyncio.sleep(0.02)
        return Response(sample_id, text="A")

    backend = ScriptedBackend(script)
    end, stored = run(
        tmp_path / "run",
        backend,
        samples(50),
        concurrency=1,
        on_start=lambda runner: stop.append(runner.stop),
    )
    assert end.reason == "interrupted"
    assert backend.calls == ["s0", "s1", "s2", "s3"]
    assert set(stored.last_responses()) == set(backend.calls)


def test_what_does_not_end_in_the_grace_time_is_cancelled_and_left_for_later(tmp_path: Path) -> None:
    stop: list[Callable[[], None]] = []

    async def script(sample_id: str, call: int) -> Response:
        if sample_id == "s1":
            stop[0]()
            await asyncio.Event().wait()
        return Response(sample_id, text="A")

    end, stored = run(
        tmp_path / "run", ScriptedBackend(script), samples(5), concurrency=1,
        on_start=lambda runner: stop.append(runner.stop),
    )  # fmt: skip
    assert end.reason == "interrupted"
    assert set(stored.last_responses()) == {"s0"}


async def spoken(sample_id: str, call: int) -> Response:
    return Response(
        sample_id, text="A", audio=SpokenAudio(24_000, 1, 2_400, wav=b"sound of " + sample_id.encode())
    )


def test_a_disk_that_is_slow_to_take_a_sound_holds_up_no_other_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_asked = threading.Event()
    waits: list[bool] = []
    keep_sound = RunWriter.keep_sound

    def slow(writer: RunWriter, response: Response) -> Response:
        if response.sample_id == "s0" and response.audio is not None and response.audio.wav:
            waits.append(second_asked.wait(20))
        return keep_sound(writer, response)

    async def script(sample_id: str, call: int) -> Response:
        if sample_id == "s1":
            await asyncio.sleep(0.2)  # s0 is being written by then
            second_asked.set()
        return await spoken(sample_id, call)

    monkeypatch.setattr(RunWriter, "keep_sound", slow)
    _, stored = run(tmp_path / "run", ScriptedBackend(script), samples(2))
    assert waits == [True]
    for name, response in stored.last_responses().items():
        assert response.audio is not None
        assert (tmp_path / "run" / str(response.audio.file)).read_bytes() == b"sound of " + name.encode()


def test_an_answer_whose_sound_is_being_written_is_kept_when_the_run_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop: list[Callable[[], None]] = []
    keep_sound = RunWriter.keep_sound

    def slow(writer: RunWriter, response: Response) -> Response:
        if response.audio is not None and response.audio.wav:
            time.sleep(0.6)  # longer than the grace time
        return keep_sound(writer, response)

    async def script(sample_id: str, call: int) -> Response:
        stop[0]()
        return await spoken(sample_id, call)

    monkeypatch.setattr(RunWriter, "keep_sound", slow)
    end, stored = run(
        tmp_path / "run", ScriptedBackend(script), samples(5), concurrency=1,
        on_start=lambda runner: stop.append(runner.stop),
    )  # fmt: skip
    assert end.reason == "interrupted"
    assert set(stored.last_responses()) == {"s0"}


def test_progress_adds_up_and_is_shown_in_words(tmp_path: Path) -> None:
    async def script(sample_id: str, call: int) -> Response:
        number = int(sample_id[1:])
        return failed(sample_id, "sample") if number == 0 else Response(sample_id, text="AB"[number % 2])

    shown: list[str] = []

    def listener(progress: Progress) -> None:
        assert progress.done <= progress.total
        assert progress.done == progress.failed + progress.scored
        shown.append(describe(progress))

    run(tmp_path / "run", ScriptedBackend(script), samples(5), listener=listener)
    assert shown[0].startswith("prepared 0  in flight 0  done 0/5  failed 0  accuracy -")
    assert shown[-1].startswith("prepared 5  in flight 0  done 5/5  failed 1  accuracy 50.0 %")


def test_a_server_is_never_told_to_open_the_whole_disk() -> None:
    assert "--allowed-local-media-path /data" in media_advice([Path("/data/a"), Path("/data/b")])
    advice = media_advice([Path("/data/a"), Path("/cache")])
    assert "--allowed-local-media-path" not in advice
    assert "--transport inline" in advice
