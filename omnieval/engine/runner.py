"""The engine: samples in, finished tries in the run directory out; it never dies of a sample."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from time import monotonic
from typing import Literal

from omnieval.backends.base import given_up
from omnieval.backends.retry import wait_seconds
from omnieval.config import RetryConfig
from omnieval.engine.arrivals import Arrivals
from omnieval.engine.breaker import Breaker
from omnieval.engine.knee import Knee
from omnieval.engine.outage import Outage
from omnieval.engine.places import Places
from omnieval.engine.prepare import Prepared, Preparer
from omnieval.engine.progress import Listener, Progress
from omnieval.runlog import RunWriter
from omnieval.types import Backend, Failure, Request, Response, Sample, Score

# A server that was away for less has not begun anew.
_AWAY_S = 5.0


@dataclass(frozen=True)
class RunEnd:
    """Why the engine returned.

    finished: every sample has its outcome. decided: `stop_when` was met before that. interrupted: asked to
    stop. refused: `failure` hit so many samples in a row that going on was pointless.
    """

    reason: Literal["finished", "decided", "interrupted", "refused"]
    failure: Failure | None = None


class Runner:
    """Asks a backend the samples of one run, `concurrency` at a time, or as many as it finds useful (auto).

    score: how a finished sample counts, for the running accuracy. arrivals: when requests set out. grace_s:
    how long requests in flight may go on after `stop`.
    """

    def __init__(
        self,
        backend: Backend,
        preparer: Preparer,
        writer: RunWriter,
        *,
        score: Callable[[Sample, Response], Score],
        retry: RetryConfig,
        concurrency: int | Literal["auto"],
        arrivals: Arrivals | None = None,
        listener: Listener = lambda _: None,
        grace_s: float = 20.0,
    ) -> None:
        self._backend = backend
        self._preparer = preparer
        self._writer = writer
        self._score = score
        self._retry = retry
        self._places = Places(concurrency, backend.capabilities.max_concurrency, self._note_limit)
        self._arrivals = arrivals or Arrivals(None)
        self._listener = listener
        self._grace_s = grace_s
        self._stop = asyncio.Event()
        self._refused: Failure | None = None
        self._breaker = Breaker(retry.stop_after)
        self._progress = Progress(total=0)
        self._outage = Outage(
            backend, wait_s=retry.wait_for_server_s, stop=self._stop, told=self._note_outage
        )

    def stop(self) -> None:
        """Ask no further sample; requests in flight may finish within the grace time."""
        self._stop.set()
        self._progress.stopping = True
        self._listener(self._progress)

    async def warm_up(self, samples: Sequence[Sample]) -> None:
        """Ask these samples first, one after the other, and keep nothing but how long it took."""
        work = asyncio.create_task(self._warm_up(samples))
        stopped = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
        finally:
            work.cancel()
            stopped.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)

    async def _warm_up(self, samples: Sequence[Sample]) -> None:
        async with contextlib.aclosing(self._preparer.in_order(samples)) as prepared_samples:
            async for prepared in prepared_samples:
                if prepared.request is None:
                    continue
                response = await self._generate(prepared.request)
                error = None if response.error is None else response.error.message
                self._writer.add_event(
                    "warmup", sample_id=prepared.sample.id, timing=asdict(response.timing), error=error
                )

    async def run(self, samples: Sequence[Sample]) -> RunEnd:
        """Ask the samples, in order. Raises StorageError when the run or the cache cannot be written."""
        self._progress = Progress(total=len(samples))
        self._listener(self._progress)
        self._places.tell_search()
        queue: asyncio.Queue[Prepared | None] = asyncio.Queue(maxsize=1)
        tasks = [asyncio.create_task(self._produce(samples, queue))]
        tasks += [asyncio.create_task(self._consume(queue)) for _ in range(self._places.most)]
        reaper = asyncio.create_task(self._reap(tasks))
        try:
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            if not self._stop.is_set():
                raise
        finally:
            await _end([reaper, *tasks])
        self._places.tell_search()
        if self._refused is not None:
            return RunEnd("refused", self._refused)
        return RunEnd("finished" if self._progress.done == len(samples) else "interrupted")

    async def _reap(self, tasks: list[asyncio.Task[None]]) -> None:
        """After `stop`, end what does not end by itself within the grace time."""
        await self._stop.wait()
        tasks[0].cancel()
        await asyncio.wait(tasks, timeout=self._grace_s)
        for task in tasks:
            task.cancel()

    async def _produce(self, samples: Sequence[Sample], queue: asyncio.Queue[Prepared | None]) -> None:
        try:
            async with contextlib.aclosing(self._preparer.in_order(samples)) as prepared_samples:
                async for prepared in prepared_samples:
                    self._progress.prepared += 1
                    self._listener(self._progress)
                    await self._arrivals.next()
                    await self._places.take()
                    await queue.put(prepared)
        except asyncio.CancelledError:
            if not self._stop.is_set():
                raise
            while not queue.empty():
                queue.get_nowait()
        for _ in range(self._places.most):
            await queue.put(None)

    async def _consume(self, queue: asyncio.Queue[Prepared | None]) -> None:
        while (prepared := await queue.get()) is not None:
            if not self._stop.is_set():
                await self._ask(prepared)
            self._places.give_back()

    async def _ask(self, prepared: Prepared) -> None:
        if prepared.notes:
            self._writer.add_event("media", sample_id=prepared.sample.id, notes=prepared.notes)
        if prepared.media:
            self._writer.add_media(prepared.sample.id, prepared.media)
        response = await self._answer(prepared)
        if response is not None:
            score = self._score(prepared.sample, response)
            self._progress.count(score)
            self._listener(self._progress)
            failure = response.error or _no_answer(score)
            if self._breaker.trips(failure, any_answered=self._progress.answered > 0):
                self._refuse(failure)

    async def _answer(self, prepared: Prepared) -> Response | None:
        """The sample's last try, recorded; None when the run was stopped before it could be one."""
        if prepared.request is None:
            response = Response(prepared.sample.id, error=prepared.failure)
            self._writer.add_response(response)
            return response
        self._progress.in_flight += 1
        self._listener(self._progress)
        try:
            return await self._try_until_final(prepared.request)
        finally:
            self._progress.in_flight -= 1

    async def _try_until_final(self, request: Request) -> Response | None:
        attempt = 1
        while True:
            began = monotonic()
            response = replace(await self._generate(request), attempt=attempt)
            self._places.saw(response, monotonic() - began, in_flight=self._progress.in_flight)
            await self._keep(response)
            if response.error is None:
                return response
            for_good = given_up(self._backend)
            if for_good is not None:
                self._refuse(for_good)
                return response
            wait_s = wait_seconds(self._retry, attempt, response.error)
            if wait_s is None or self._progress.retries >= self._retry.in_all:
                return response
            if await self._outage.waited(response.error):
                wait_s = 0.0
            elif self._outage.given_up:
                self._refuse(given_up(self._backend) or response.error)
                return response
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._stop.wait()
            if self._stop.is_set():
                return None
            attempt += 1
            self._progress.retries += 1
            self._listener(self._progress)

    async def _keep(self, response: Response) -> None:
        """Record a try, also when the run is cancelled meanwhile. Its sound is written in a thread: to wait
        for the disk here would make the other requests in flight look slow."""
        if response.audio is None:
            self._writer.add_response(response)
            return
        writing = asyncio.ensure_future(asyncio.to_thread(self._writer.keep_sound, response))
        try:
            await asyncio.shield(writing)
        finally:
            self._writer.add_response(await writing)

    async def _generate(self, request: Request) -> Response:
        try:
            return await self._backend.generate(request)
        except Exception as error:  # noqa: BLE001 - a third party's backend may raise anything
            failure = Failure(
                "server",
                f"the backend raised {type(error).__name__}: {error}",
                hint="a backend must return failures; report this to its author",
            )
            return Response(request.sample_id, error=failure)

    def _refuse(self, failure: Failure | None) -> None:
        """End the run: what failed would fail every sample."""
        if self._refused is None:
            self._refused = failure
            self.stop()

    def _note_outage(self, what: str, seconds: float) -> None:
        self._writer.add_event(f"server_{what}", seconds=round(seconds, 1))
        self._progress.server_gone = what == "gone"
        self._listener(self._progress)
        if what == "back" and seconds >= _AWAY_S:
            self._places.server_is_back()

    def _note_limit(self, knee: Knee) -> None:
        self._writer.add_event("concurrency", limit=knee.limit, settled=knee.settled, why=knee.why)
        self._progress.limit, self._progress.settled = knee.limit, knee.settled
        self._listener(self._progress)


def _no_answer(score: Score) -> Failure | None:
    """An answer that is none, such as one without sound where sound was asked for."""
    if score.outcome != "failed" or not score.details.get("message"):
        return None
    return Failure(score.failure_kind or "", score.details["message"], hint=score.details.get("hint"))


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended: library code may swallow a single cancellation."""
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=1.0)
    await asyncio.gather(*tasks, return_exceptions=True)
