"""A deployment asked a few telling questions before a run, so that a mis-set server is found at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from omnieval.benchmarks.base import Benchmark
from omnieval.config import RunConfig
from omnieval.engine.preflight.finding import Finding, of_need
from omnieval.engine.preflight.largest import by_size
from omnieval.engine.preflight.probes import Probes
from omnieval.errors import MediaError
from omnieval.types import Backend, MediaPlan, PreparedMedia, Request, Sample, ServerFacts

__all__ = ["Finding", "of_need", "preflight"]

_TRIES = 3


async def preflight(
    config: RunConfig,
    benchmark: Benchmark,
    samples: Sequence[Sample],
    backend: Backend,
    facts: ServerFacts,
    *,
    prepare: Callable[[MediaPlan], Awaitable[PreparedMedia]],
    cache_root: Path,
    found: Callable[[Finding], None] = lambda _: None,
) -> list[Finding]:
    """Ask a deployment what a run of these samples depends on.

    facts: of the backend's own check. prepare: the run's preparation of media. found: is told each finding as
    it is made. Ends where the deployment does not answer or takes no media. Raises StorageError when the
    cache cannot be written.
    """
    findings: list[Finding] = []

    def add(finding: Finding) -> None:
        findings.append(finding)
        found(finding)

    version = f", version {facts.version}" if facts.version else ""
    add(Finding("server", "pass", f"{facts.backend} with {facts.model}{version}"))
    largest = await _largest_request(benchmark, samples, prepare)
    probes = Probes(config, backend, facts, cache_root, largest)
    for step in probes.necessary():
        for finding in await step():
            add(finding)
        if any(finding.verdict == "fail" for finding in findings):
            return findings
    for step in probes.others():
        for finding in await step():
            add(finding)
    return findings


async def _largest_request(
    benchmark: Benchmark,
    samples: Sequence[Sample],
    prepare: Callable[[MediaPlan], Awaitable[PreparedMedia]],
) -> Request | None:
    for sample in by_size(benchmark, samples)[:_TRIES]:
        try:
            plan = benchmark.plan(sample)
            media = PreparedMedia() if plan is None else await prepare(plan)
            return benchmark.pack(sample, media)
        except MediaError:
            continue
    return None
