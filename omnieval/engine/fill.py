"""Filling the media cache without asking a model, for instance on a machine that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from omnieval.benchmarks.base import Benchmark
from omnieval.config import OptionsConfig, RunConfig
from omnieval.engine.execute import Notify, keep_to_size, load_selected, open_cache
from omnieval.engine.progress import Listener, Progress
from omnieval.engine.signals import run_to_end
from omnieval.engine.workers import MediaWorkers
from omnieval.errors import MediaError
from omnieval.types import MediaPlan, Sample


@dataclass(frozen=True)
class FailedMedia:
    """Media that cannot be prepared: of which cluster, why, and how many questions it costs."""

    cluster: str
    message: str
    kind: str
    samples: int


@dataclass(frozen=True)
class Filled:
    """ready: media sets that are in the cache now, of which `before` were there already. notes: what had
    to be mended, by cluster. samples: how many questions were looked at."""

    ready: int
    before: int
    notes: tuple[tuple[str, str], ...]
    failures: tuple[FailedMedia, ...]
    samples: int


def fill_cache(config: RunConfig, *, listener: Listener, notify: Notify) -> Filled:
    """Prepare the media of every selected sample. A Ctrl-C keeps what is ready.

    Raises ConfigError, DataError, and StorageError when the cache cannot be written.
    """
    # Each question once: the order of its options changes nothing about its media.
    benchmark, _, chosen = load_selected(config.model_copy(update={"options": OptionsConfig()}), notify)
    cache = open_cache(config)
    notify(f"media cache: {cache.root}")
    asked = [sample for sample in chosen if sample.problem is None]

    async def work() -> Filled:
        workers = MediaWorkers.of(config, cache)
        try:
            return await _fill(benchmark, asked, workers, listener)
        finally:
            await workers.close()

    filled = run_to_end(work)
    keep_to_size(config, cache)
    return filled


async def _fill(
    benchmark: Benchmark, samples: Sequence[Sample], workers: MediaWorkers, listener: Listener
) -> Filled:
    plans, failures = _plans(benchmark, samples)
    progress = Progress(total=len(plans))
    listener(progress)
    notes: list[tuple[str, str]] = []
    turn = asyncio.Semaphore(2 * workers.count)

    async def prepare(plan: MediaPlan, users: list[Sample]) -> bool:
        """Whether the plan's files are there now."""
        async with turn:
            try:
                media = await workers.prepare(plan)
            except MediaError as error:
                failures.append(FailedMedia(users[0].cluster, str(error), error.kind, len(users)))
                progress.failed += 1
                return False
            finally:
                progress.prepared += 1
                progress.done += 1
                listener(progress)
            notes.extend((users[0].cluster, note) for note in media.notes)
            return True

    tasks = [asyncio.create_task(prepare(plan, users)) for plan, users in plans.items()]
    try:
        ready = sum(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return Filled(ready, workers.found, tuple(notes), tuple(failures), len(samples))


def _plans(
    benchmark: Benchmark, samples: Sequence[Sample]
) -> tuple[dict[MediaPlan, list[Sample]], list[FailedMedia]]:
    """The distinct plans with the samples that they serve, and what has no file to begin with."""
    plans: dict[MediaPlan, list[Sample]] = {}
    missing: dict[str, FailedMedia] = {}
    for sample in samples:
        try:
            plan = benchmark.plan(sample)
        except MediaError as error:
            known = missing.get(sample.cluster)
            count = known.samples + 1 if known else 1
            missing[sample.cluster] = FailedMedia(sample.cluster, str(error), error.kind, count)
        else:
            if plan is not None:
                plans.setdefault(plan, []).append(sample)
    return plans, list(missing.values())
