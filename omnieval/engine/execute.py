"""One call of a run from a resolved configuration: data, media, backend, engine, run directory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from omnieval.backends.base import Need, TellsNamedMedia
from omnieval.benchmarks.base import Benchmark, Dataset, select
from omnieval.benchmarks.option_order import arrange
from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import RunConfig, most_in_flight
from omnieval.engine.arrivals import Arrivals
from omnieval.engine.begin import begin_or_continue
from omnieval.engine.deployment import deployment
from omnieval.engine.early_watch import EarlyWatch
from omnieval.engine.preflight import Finding, of_need, preflight
from omnieval.engine.prepare import Preparer
from omnieval.engine.progress import Listener
from omnieval.engine.runner import RunEnd, Runner
from omnieval.engine.signals import run_to_end, stop_on_signals
from omnieval.engine.workers import MediaWorkers
from omnieval.errors import BackendError, DataError
from omnieval.media.cache import MediaCache, default_cache_dir
from omnieval.media.cache_care import prune
from omnieval.media.source import begin_anew
from omnieval.media.transport import is_local
from omnieval.runlog import TELEMETRY, Run, RunWriter
from omnieval.scoring.choice import score_choice
from omnieval.scoring.early import EarlyPlan, asking_order
from omnieval.scoring.outcome import before_hearing
from omnieval.telemetry import Meter, Recorder, find_meters
from omnieval.types import Backend, Response, Sample, Score, ServerFacts

Notify = Callable[[str], None]
# Below this a run itself is the quickest check.
_MANY_SAMPLES = 50


@dataclass(frozen=True)
class Execution:
    """The run directory as one call left it, and why the call ended."""

    run: Run
    end: RunEnd


def execute(
    config: RunConfig,
    *,
    out: Path | None,
    api_key: str | None,
    listener: Listener,
    notify: Notify,
    early: EarlyPlan | None = None,
) -> Execution:
    """Begin or continue a run and ask every sample that has no answer yet.

    notify gets each line that the user must see (data notes, the server flag for media, where the run
    is). early: what must be decided for the run to end before all is asked. In the main thread a first SIGINT
    or SIGTERM ends the run in good order.
    Raises ConfigError, DataError, BackendError before anything is asked; StorageError at any time.
    """
    benchmark, dataset, chosen = load_askable(config, notify)
    cache = open_cache(config)
    meters, unmeasured = find_meters(config.telemetry.devices, model_is_here=_model_is_here(config))

    async def work() -> Execution:
        async with deployment(config, benchmark.media_folders(dataset, cache.root), api_key, notify) as (
            backend,
            facts,
        ):
            settled = config.model_copy(update={"model": config.model or facts.model})
            findings: list[Finding] = []
            if _wants_preflight(config, backend, len(chosen)):
                notify("preflight: a few questions to the deployment first; --set preflight=never skips them")
                findings = await _preflight(settled, benchmark, chosen, backend, facts, cache)
                _report_preflight(findings, notify)
            with begin_or_continue(settled, benchmark, dataset, chosen, facts, out, early) as writer:
                pending = _pending(writer, chosen)
                if findings:
                    writer.add_event("preflight", findings=[asdict(finding) for finding in findings])
                _say_where(writer, len(pending), len(chosen), notify)
                watch = None if early is None else EarlyWatch.of(writer.directory, chosen, settled.parser)
                if watch is not None:
                    pending = asking_order(pending, watch.seed)
                with _recorded(writer, config, meters if pending else [], unmeasured):
                    end = await _ask(settled, benchmark, backend, cache, writer, pending, listener, watch)
                if end.reason == "decided":
                    notify("ended early: the gate is decided; --set stop_when=null asks the rest")
                if isinstance(backend, TellsNamedMedia):
                    writer.add_event("media_by_name", **backend.media_by_name())
                writer.add_event("stopped", reason=end.reason)
        return Execution(Run.load(writer.directory), end)

    execution = run_to_end(work)
    keep_to_size(config, cache)
    return execution


def check(
    config: RunConfig, *, api_key: str | None, found: Callable[[Finding], None], notify: Notify
) -> list[Finding]:
    """Ask the configured deployment what a run depends on, and nothing more.

    found: is told each finding as it is made. Where this machine lacks what the backend needs, that is all
    there is to find. Raises ConfigError, DataError, BackendError, StorageError.
    """
    benchmark, dataset, chosen = load_selected(config, notify)
    cache = open_cache(config)
    needs: list[Finding] = []

    def needed(need: Need) -> None:
        needs.append(of_need(need))
        found(needs[-1])

    async def work() -> list[Finding]:
        folders = benchmark.media_folders(dataset, cache.root)
        async with deployment(config, folders, api_key, notify, needed) as (backend, facts):
            return await _preflight(config, benchmark, chosen, backend, facts, cache, found)

    try:
        return needs + run_to_end(work)
    except BackendError:
        if any(need.fatal for need in needs):
            return needs
        raise


def _model_is_here(config: RunConfig) -> bool:
    """Whether the accelerators of this machine can be those that the model uses."""
    servers = [url for url in (config.base_url, *config.replicas) if url is not None]
    return not servers or any(map(is_local, servers))


@contextlib.contextmanager
def _recorded(
    writer: RunWriter, config: RunConfig, meters: Sequence[Meter], unmeasured: Sequence[str]
) -> Iterator[None]:
    """Measure this machine meanwhile, and keep what could not be measured as an event."""
    recorder = Recorder(writer.directory / TELEMETRY, meters, config.telemetry.every_s)
    try:
        with recorder:
            yield
    finally:
        notes = [*unmeasured, *recorder.notes]
        if notes:
            writer.add_event("telemetry", notes=notes)


def _wants_preflight(config: RunConfig, backend: Backend, samples: int) -> bool:
    if config.preflight == "auto":
        return backend.capabilities.needs_transport and samples >= _MANY_SAMPLES
    return config.preflight == "always"


async def _preflight(
    config: RunConfig,
    benchmark: Benchmark,
    chosen: Sequence[Sample],
    backend: Backend,
    facts: ServerFacts,
    cache: MediaCache,
    found: Callable[[Finding], None] = lambda _: None,
) -> list[Finding]:
    workers = MediaWorkers.of(config, cache)
    try:
        return await preflight(
            config, benchmark, chosen, backend, facts,
            prepare=workers.prepare, cache_root=cache.root, found=found,
        )  # fmt: skip
    finally:
        await workers.close()


def _report_preflight(findings: Sequence[Finding], notify: Notify) -> None:
    """Say what failed. Raises BackendError where a run would be in vain."""
    for finding in findings:
        if finding.verdict == "fail":
            fix = f"; {finding.fix}" if finding.fix else ""
            line = f"{finding.check}: {finding.found}{fix}"
            if finding.fatal:
                raise BackendError(
                    f"preflight: {line} (nothing was asked yet; `omnieval check` shows all)", reached=True
                )
            notify(f"preflight: {line}")


def load_selected(config: RunConfig, notify: Notify) -> tuple[Benchmark, Dataset, list[Sample]]:
    """The configured benchmark, its data set and the samples to ask, the options in the configured order.

    Raises ConfigError, DataError.
    """
    begin_anew()
    benchmark: Benchmark = BENCHMARKS.load(config.benchmark)(config)
    dataset = benchmark.load()
    chosen = select([sample for sample in dataset.samples if benchmark.asks(sample)], config.select)
    for note in dataset.notes:
        notify(f"note: {note}")
    arranged, asked = arrange(dataset, chosen, config.options)
    if len(asked) > len(chosen):
        notify(f"every order of the options is asked: {len(asked)} requests for {len(chosen)} questions")
    return benchmark, arranged, asked


def load_askable(config: RunConfig, notify: Notify) -> tuple[Benchmark, Dataset, list[Sample]]:
    """`load_selected`, with at least one sample to ask and judge. Raises ConfigError, DataError."""
    benchmark, dataset, chosen = load_selected(config, notify)
    if not any(sample.problem is None and sample.gold is not None for sample in chosen):
        problems = dict.fromkeys(sample.problem.message for sample in chosen if sample.problem is not None)
        raise DataError(
            f"none of the selected rows can be asked and judged ({len(chosen)} selected)"
            + "".join(f"; {text}" for text in [*dataset.notes[:3], *list(problems)[:3]])
        )
    return benchmark, dataset, chosen


def keep_to_size(config: RunConfig, cache: MediaCache) -> None:
    """Prune the cache where the configuration limits it."""
    if config.cache_limit_gb is not None:
        prune(cache, most_bytes=int(config.cache_limit_gb * 1e9))


def open_cache(config: RunConfig) -> MediaCache:
    """The configured media cache. Raises StorageError when it cannot be written."""
    return MediaCache(config.cache_dir or default_cache_dir())


async def _ask(
    config: RunConfig,
    benchmark: Benchmark,
    backend: Backend,
    cache: MediaCache,
    writer: RunWriter,
    pending: Sequence[Sample],
    listener: Listener,
    watch: EarlyWatch | None,
) -> RunEnd:
    if watch is not None and pending and watch.decided:
        return RunEnd("decided")
    workers = MediaWorkers.of(config, cache)
    runner = Runner(
        backend,
        Preparer(benchmark, workers.prepare, ahead=workers.count + most_in_flight(config.concurrency)),
        writer,
        score=_scorer(config, benchmark) if watch is None else watch.counting(_scorer(config, benchmark)),
        retry=config.retry,
        concurrency=config.concurrency,
        arrivals=Arrivals(config.request_rate, seed=config.backend_seed),
        listener=listener,
    )
    if watch is not None:
        watch.stop = runner.stop
    try:
        with stop_on_signals(runner.stop):
            # The last ones, so that a server's prefix cache helps those that count as late as possible.
            await runner.warm_up(pending[-config.warmup :] if config.warmup else [])
            end = await runner.run(pending)
            return RunEnd("decided") if end.reason == "interrupted" and watch and watch.decided else end
    finally:
        await workers.close()


def _scorer(config: RunConfig, benchmark: Benchmark) -> Callable[[Sample, Response], Score]:
    """How an answer counts while the run goes on."""
    if benchmark.scoring == "speech":
        return lambda sample, response: before_hearing(sample, response, selected=True)
    return lambda sample, response: score_choice(sample, response, selected=True, rule=config.parser)


def _pending(writer: RunWriter, chosen: Sequence[Sample]) -> list[Sample]:
    """The samples to ask: no answer yet, and a row that can be asked and judged."""
    last = Run.load(writer.directory).last_responses()

    def unanswered(response: Response | None) -> bool:
        return response is None or not response.answered

    return [s for s in chosen if s.problem is None and s.gold is not None and unanswered(last.get(s.id))]


def _say_where(writer: RunWriter, pending: int, chosen: int, notify: Notify) -> None:
    notify(f"run directory: {writer.directory}")
    if pending < chosen:
        notify(f"{chosen - pending} of {chosen} questions need no asking (answered before, or unusable rows)")
