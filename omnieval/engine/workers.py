"""Worker processes that prepare media; one that crashes or hangs is replaced and costs one file."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process

from omnieval import own_process
from omnieval.config import RunConfig
from omnieval.errors import MediaError
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import find_prepared
from omnieval.media.source import archived
from omnieval.media.worker import names, read_answer, request_line
from omnieval.types import MediaPlan, PreparedMedia

_LONGEST_LINE = 64 * 2**20
_KILL_AFTER_S = 5.0
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class MediaWorkers:
    """Prepares media plans, up to `workers` at a time, each in a process of its own.

    time_limit_s, memory_limit_gib: for one file. Processes start when they are first needed; what the
    cache holds already needs none. Use `prepare` from one event loop, then `close`.
    """

    def __init__(
        self, cache: MediaCache, *, workers: int, time_limit_s: float, memory_limit_gib: float
    ) -> None:
        self.count = workers
        self._cache = cache
        self._time_limit_s = time_limit_s
        self._memory_limit = int(memory_limit_gib * 2**30)
        self._free: asyncio.LifoQueue[Process | None] = asyncio.LifoQueue()
        for _ in range(workers):
            self._free.put_nowait(None)
        self._processes: set[Process] = set()
        self._starting: set[asyncio.Future[Process]] = set()
        self._closed = False
        self.found = 0  # plans that the cache held already

    @classmethod
    def of(cls, config: RunConfig, cache: MediaCache) -> MediaWorkers:
        """As a configuration wants them."""
        settings = config.prepare
        return cls(
            cache,
            workers=settings.workers or os.cpu_count() or 1,
            time_limit_s=settings.time_limit_s,
            memory_limit_gib=settings.memory_limit_gib,
        )

    async def prepare(self, plan: MediaPlan) -> PreparedMedia:
        """The files of a plan. Raises MediaError, also for a file whose worker died or took too long, and
        StorageError when the cache cannot be written."""
        found = await asyncio.to_thread(find_prepared, plan, self._cache)
        if found is not None:
            self.found += 1
            return found
        process = await self._free.get()
        try:
            if self._closed:
                raise asyncio.CancelledError
            process = process or await self._start()
            line = await self._ask(process, plan)
        except BaseException:
            if process is not None:
                self._kill(process)
            self._free.put_nowait(None)
            raise
        self._free.put_nowait(process)
        media = read_answer(line)
        for path in filter(None, (plan.video, plan.audio)):
            archived(path)  # raises when the worker read another archive than the one that was listed
        return media

    async def close(self) -> None:
        """End the processes, also those that are still at work, and start no more."""
        self._closed = True
        await asyncio.gather(*self._starting, return_exceptions=True)
        for process in list(self._processes):
            self._kill(process)
        await asyncio.gather(*(process.wait() for process in self._processes))

    async def _start(self) -> Process:
        """A new worker. Starting one is never cut off half way, so that each is known and can be ended."""
        starting = asyncio.ensure_future(self._spawn())
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        return await asyncio.shield(starting)

    async def _spawn(self) -> Process:
        arguments = [
            str(self._cache.root),
            str(self._time_limit_s + _KILL_AFTER_S),
            str(self._memory_limit),
        ]
        process = await asyncio.create_subprocess_exec(
            *own_process.command("omnieval.media.worker", *arguments),
            stdin=PIPE,
            stdout=PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_LINE,
            start_new_session=True,
            env=own_process.environment() | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._processes.add(process)
        return process

    async def _ask(self, process: Process, plan: MediaPlan) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(self._time_limit_s):
                process.stdin.write(request_line(plan))
                line = await process.stdout.readline()
        except TimeoutError:
            raise MediaError(
                f"{names(plan)}: not prepared within {self._time_limit_s:g} s, so the file is damaged or "
                "very large; check it with ffprobe, or raise prepare.time_limit_s"
            ) from None
        if not line.endswith(b"\n"):
            raise MediaError(
                f"{names(plan)}: the decoder's process died ({await _how_it_ended(process)}), so the file is "
                "damaged or needs too much memory; check it with ffprobe, or raise prepare.memory_limit_gib"
            )
        return line

    def _kill(self, process: Process) -> None:
        if process.returncode is None:
            process.kill()


async def _how_it_ended(process: Process) -> str:
    code = await process.wait()
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
