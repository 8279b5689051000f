"""A deployment asked a few telling questions before a run, so that a mis-set server is found at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from omnieval.backends.replicas import Replicas
from omnieval.benchmarks.base import Benchmark
from omnieval.config import RunConfig
from omnieval.engine.preflight.finding import Finding, of_need
from omnieval.engine.preflight.largest import by_size
from omnieval.engine.preflight.probes import Probes, Step
from omnieval.errors import MediaError
from omnieval.types import Backend, MediaPlan, PreparedMedia, Request, Sample, ServerFacts

__all__ = ["Finding", "of_need", "preflight"]

_TRIES = 3
_SEVERITY = {"pass": 0, "unknown": 1, "fail": 2}


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

    Of several servers each is asked. facts: of the backend's own check. prepare: the run's preparation of
    media. found: is told each finding as it is made. Ends where the deployment does not answer or takes no
    media. Raises StorageError when the cache cannot be written.
    """
    findings: list[Finding] = []

    def add(finding: Finding) -> None:
        findings.append(finding)
        found(finding)

    version = f", version {facts.version}" if facts.version else ""
    add(Finding("server", "pass", f"{facts.backend} with {facts.model}{version}"))
    largest = await _largest_request(benchmark, samples, prepare)
    servers = backend.servers if isinstance(backend, Replicas) else [("", backend)]
    probes = {url: Probes(config, server, facts, cache_root, largest) for url, server in servers}
    for step in zip(*(each.necessary() for each in probes.values()), strict=True):
        for finding in await _of_all(list(probes), step):
            add(finding)
        if any(finding.verdict == "fail" for finding in findings):
            return findings
    for step in zip(*(each.others() for each in probes.values()), strict=True):
        for finding in await _of_all(list(probes), step):
            add(finding)
    return findings


async def _of_all(urls: Sequence[str], steps: Sequence[Step]) -> list[Finding]:
    """The same step at every server: of each check the worst that was found, and at which server."""
    by_check: dict[str, list[tuple[str, Finding]]] = {}
    for url, found in zip(urls, await asyncio.gather(*(step() for step in steps)), strict=True):
        for finding in found:
            by_check.setdefault(finding.check, []).append((url, finding))
    return [_worst(found) for found in by_check.values()]


def _worst(found: Sequence[tuple[str, Finding]]) -> Finding:
    url, worst = max(found, key=lambda pair: (_SEVERITY[pair[1].verdict], pair[1].fatal))
    alike = all(finding.verdict == worst.verdict for _, finding in found)
    return worst if alike else replace(worst, found=f"{url}: {worst.found}")


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
