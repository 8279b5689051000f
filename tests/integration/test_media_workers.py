"""A decoder that dies, hangs or eats memory costs one file; the next one is prepared as if nothing was."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from omnieval.engine.workers import MediaWorkers
from omnieval.errors import MediaError, StorageError
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import prepare_media
from omnieval.types import MediaPlan, PreparedMedia
from tests.command import lines, start
from tests.conftest import answer_by_prompt
from tests.faults.server import FaultServer
from tests.media_files import make_video, make_wav


def plan(path: Path) -> MediaPlan:
    return MediaPlan(path, None, "minicpm", 64, segments=False)


def with_workers(
    folder: Path,
    work: Callable[[MediaWorkers], Awaitable[None]],
    *,
    count: int = 1,
    time_limit_s: float = 60,
    memory_limit_gib: float = 4,
) -> None:
    async def run() -> None:
        workers = MediaWorkers(
            MediaCache(folder / "cache"),
            workers=count,
            time_limit_s=time_limit_s,
            memory_limit_gib=memory_limit_gib,
        )
        try:
            await work(workers)
        finally:
            await workers.close()

    asyncio.run(run())


def pids(workers: MediaWorkers) -> list[int]:
    return [process.pid for process in workers._processes if process.returncode is None]


async def stopped_worker(workers: MediaWorkers, folder: Path) -> int:
    """The process id of a worker that has worked once and now stands still."""
    await workers.prepare(plan(make_video(folder / "first.mp4", seconds=1)))
    (pid,) = pids(workers)
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_workers_give_what_the_plain_function_gives(tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=3, audio_seconds=3)
    wanted = MediaPlan(video, None, "minicpm", 64)

    async def work(workers: MediaWorkers) -> None:
        made = await workers.prepare(wanted)
        assert made == prepare_media(wanted, MediaCache(tmp_path / "cache"))
        assert len(made.frames) == len(made.segments) == 3

    with_workers(tmp_path, work)


def test_what_the_cache_holds_needs_no_process(tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=2)
    expected = prepare_media(plan(video), MediaCache(tmp_path / "cache"))

    async def work(workers: MediaWorkers) -> None:
        assert await workers.prepare(plan(video)) == expected
        assert pids(workers) == []

    with_workers(tmp_path, work)


def test_a_worker_that_dies_costs_its_file_and_is_replaced(tmp_path: Path) -> None:
    async def work(workers: MediaWorkers) -> None:
        pid = await stopped_worker(workers, tmp_path)
        unlucky = asyncio.create_task(workers.prepare(plan(make_video(tmp_path / "unlucky.mp4", seconds=1))))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(MediaError, match=r"unlucky\.mp4: the decoder's process died \(SIGKILL\)"):
            await unlucky
        media = await workers.prepare(plan(make_video(tmp_path / "next.mp4", seconds=2)))
        assert len(media.frames) == 2
        assert pids(workers) != [pid]

    with_workers(tmp_path, work)


def test_a_worker_that_hangs_is_ended_at_the_time_limit_and_replaced(tmp_path: Path) -> None:
    async def work(workers: MediaWorkers) -> None:
        pid = await stopped_worker(workers, tmp_path)
        with pytest.raises(MediaError, match=r"slow\.mp4: not prepared within 3 s.*prepare\.time_limit_s"):
            await workers.prepare(plan(make_video(tmp_path / "slow.mp4", seconds=1)))
        assert len((await workers.prepare(plan(make_video(tmp_path / "next.mp4", seconds=2)))).frames) == 2
        assert pids(workers) != [pid]

    with_workers(tmp_path, work, time_limit_s=3)


def test_a_file_that_needs_too_much_memory_is_one_error(tmp_path: Path) -> None:
    long = make_wav(tmp_path / "long.wav", seconds=1500)
    short = make_wav(tmp_path / "short.wav", seconds=1)

    def whole(path: Path) -> MediaPlan:
        return MediaPlan(None, path, "minicpm", 64, frames=False, segments=False, whole_audio=True)

    async def work(workers: MediaWorkers) -> None:
        with pytest.raises(MediaError, match=r"long\.wav: .*memory"):
            await workers.prepare(whole(long))
        assert (await workers.prepare(whole(short))).audio is not None

    with_workers(tmp_path, work, memory_limit_gib=0.25)


def test_errors_of_files_and_of_the_cache_keep_their_kind(tmp_path: Path) -> None:
    async def work(workers: MediaWorkers) -> None:
        with pytest.raises(MediaError) as raised:
            await workers.prepare(plan(tmp_path / "gone.mp4"))
        assert raised.value.kind == "media_missing"
        broken = tmp_path / "broken.mp4"
        broken.write_text("no video")
        with pytest.raises(MediaError, match=r"broken\.mp4"):
            await workers.prepare(plan(broken))
        await workers.prepare(plan(make_video(tmp_path / "fine.mp4", seconds=1)))
        temporary = tmp_path / "cache" / "v1" / "tmp"
        temporary.rmdir()
        temporary.write_text("in the way")
        with pytest.raises(StorageError, match="--cache-dir"):
            await workers.prepare(plan(make_video(tmp_path / "v.mp4", seconds=1)))

    with_workers(tmp_path, work)


def test_workers_work_side_by_side(tmp_path: Path) -> None:
    videos = [make_video(tmp_path / f"{i}.mp4", seconds=1 + i) for i in range(6)]

    async def work(workers: MediaWorkers) -> None:
        media: list[PreparedMedia] = await asyncio.gather(*(workers.prepare(plan(v)) for v in videos))
        assert [len(each.frames) for each in media] == [1, 2, 3, 4, 5, 6]
        assert len(pids(workers)) == 3

    with_workers(tmp_path, work, count=3)


@pytest.mark.parametrize("turns", [0, 1, 3, 10, 40, 200])
def test_closing_in_the_midst_of_work_ends_everything(turns: int, tmp_path: Path) -> None:
    videos = [make_video(tmp_path / f"{i}.mp4", seconds=1) for i in range(5)]

    async def work(workers: MediaWorkers) -> None:
        tasks = [asyncio.create_task(workers.prepare(plan(video))) for video in videos]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await workers.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert pids(workers) == []
        assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    with_workers(tmp_path, work, count=2)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def hang(exchange: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    with FaultServer(hang) as server:
        process = start(
            "run", "daily-omni", "--sample", "--base-url", server.base_url, "--model", "fake",
            "--cache-dir", tmp_path / "cache", "--out", tmp_path / "run",
        )  # fmt: skip
        server.wait_for(asked)
        workers = children(process.pid)
        assert workers
        watched = [os.pidfd_open(pid) for pid in workers]
        process.kill()
        process.communicate()
        for descriptor in watched:
            import select

            readable, _, _ = select.select([descriptor], [], [], 30)
            assert readable, "a worker outlived its parent"
            os.close(descriptor)
        server.script = answer_by_prompt
    assert lines(tmp_path / "run" / "responses.jsonl") == []
