"""The request of a run that asks most of a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omnieval.benchmarks.base import Benchmark
from omnieval.errors import MediaError
from omnieval.media.prepare import planned_frames
from omnieval.types import MediaPlan, Sample

# Probing a file takes milliseconds on a disk, and longer over a network.
_MOST_PROBED = 200


def by_size(benchmark: Benchmark, samples: Sequence[Sample]) -> list[Sample]:
    """The samples that can be asked, the largest request first: by frames, then by length of the text.

    Of more than 200 different videos an even choice of 200 is looked at. Samples whose media are missing or
    cannot be read come last.
    """
    asked = [sample for sample in samples if sample.problem is None and sample.gold is not None]
    step = max(1, len({sample.cluster for sample in asked}) // _MOST_PROBED)
    clusters = set(list(dict.fromkeys(sample.cluster for sample in asked))[::step])
    weigh = _weigher(benchmark)
    return sorted((s for s in asked if s.cluster in clusters), key=weigh, reverse=True)


def _weigher(benchmark: Benchmark) -> Callable[[Sample], tuple[int, int]]:
    frames: dict[MediaPlan | None, int] = {None: 0}

    def weigh(sample: Sample) -> tuple[int, int]:
        try:
            plan = benchmark.plan(sample)
            if plan not in frames:
                frames[plan] = planned_frames(plan)
        except MediaError:
            return -1, 0
        return frames[plan], len(sample.question) + sum(map(len, sample.options))

    return weigh
