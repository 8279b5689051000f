"""Whether the media that a run has asked about are still the same."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from omnieval.benchmarks.rows import few
from omnieval.errors import DataError
from omnieval.media.content_key import content_keys, differ
from omnieval.runlog import Run
from omnieval.types import Sample

_THREADS = 8  # they wait for the disk


def require_same_media(run: Run, samples: Iterable[Sample]) -> None:
    """Raises DataError where media that answers of the run are about have another content now.

    Reads their files as far as `omnieval.media.content_key` does. Media that are no longer there are no
    fault: their questions are answered.
    """
    asked = run.media()
    answered = {name for name, response in run.last_responses().items() if response.answered}
    known = [sample for sample in samples if sample.id in asked and sample.id in answered]
    with ThreadPoolExecutor(_THREADS) as threads:
        now = threads.map(content_keys, (sample.media for sample in known))
        other = [s for s, keys in zip(known, now, strict=True) if differ(asked[s.id], keys)]
    if other:
        raise DataError(
            f"{run.directory}: the media of {len(other)} answered samples were replaced since "
            f"(of {few(dict.fromkeys(sample.cluster for sample in other))}); give the same media, or start a "
            "new run"
        )
