"""Requests are made ahead of their turn, in order, a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnieval.benchmarks.base import Benchmark
from omnieval.errors import MediaError, StorageError
from omnieval.media.content_key import content_keys
from omnieval.types import Failure, MediaPlan, PreparedMedia, Request, Sample

# Samples in the window for each cluster that may be ahead; a video of many questions must not fill memory.
_SAMPLES_A_CLUSTER = 8

PrepareMedia = Callable[[MediaPlan], Awaitable[PreparedMedia]]


@dataclass(frozen=True)
class Prepared:
    """A sample's request, or why there is none; notes say what had to be mended to make it. media: keys of
    the content of its media, by role."""

    sample: Sample
    request: Request | None = None
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    media: Mapping[str, str] = field(default_factory=dict)


class Preparer:
    """Prepares samples; those with equal media plans at the same time share one preparation.

    prepare_media: the work on one plan. ahead: of how many clusters (videos) there may be samples in
    preparation or ready before the consumer takes them; with a bound on the samples it bounds memory.
    """

    def __init__(self, benchmark: Benchmark, prepare_media: PrepareMedia, *, ahead: int) -> None:
        self._benchmark = benchmark
        self._prepare_media = prepare_media
        self._ahead = ahead
        self._running: dict[MediaPlan, asyncio.Future[PreparedMedia]] = {}

    async def in_order(self, samples: Iterable[Sample]) -> AsyncGenerator[Prepared]:
        """Yield the prepared samples in the given order.

        A fault of a sample's media is part of its `Prepared`; StorageError ends the iteration.
        """
        window: deque[tuple[str, asyncio.Task[Prepared]]] = deque()
        try:
            for sample in samples:
                while not self._has_room(window, sample.cluster):
                    yield await window.popleft()[1]
                window.append((sample.cluster, asyncio.create_task(self._prepare(sample))))
            while window:
                yield await window.popleft()[1]
        finally:
            left: list[asyncio.Future[Any]] = [*(task for _, task in window), *self._running.values()]
            for work in left:
                work.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _has_room(self, window: Collection[tuple[str, object]], cluster: str) -> bool:
        clusters = {waiting for waiting, _ in window}
        return len(window) < _SAMPLES_A_CLUSTER * self._ahead and len(clusters | {cluster}) <= self._ahead

    async def _prepare(self, sample: Sample) -> Prepared:
        try:
            plan = self._benchmark.plan(sample)
            media = PreparedMedia() if plan is None else await self._media(plan)
            request = replace(self._benchmark.pack(sample, media), cluster=sample.cluster)
            keys = await asyncio.to_thread(content_keys, sample.media) if sample.media else {}
            return Prepared(sample, request=request, notes=(*media.notes, *request.notes), media=keys)
        except StorageError:
            raise
        except MediaError as error:
            return Prepared(sample, failure=Failure(error.kind, str(error)))
        except Exception as error:  # noqa: BLE001 - a decoder may fail in any way; it costs one sample
            message = f"sample {sample.id}: preparing its media raised {type(error).__name__}: {error}"
            return Prepared(sample, failure=Failure("media", message))

    async def _media(self, plan: MediaPlan) -> PreparedMedia:
        running = self._running.get(plan)
        if running is None:
            running = asyncio.ensure_future(self._prepare_media(plan))
            self._running[plan] = running
            running.add_done_callback(lambda done: self._forget(plan, done))
        return await asyncio.shield(running)

    def _forget(self, plan: MediaPlan, done: asyncio.Future[PreparedMedia]) -> None:
        self._running.pop(plan, None)
        if not done.cancelled():
            done.exception()  # looked at here, since after a stop nobody may be waiting for it
