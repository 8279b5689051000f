"""The runs of a bench to one report: medians of the repeats, the cold run apart, what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

from omnieval.bench.figures import LABELS_OF_SPEED, speed_of
from omnieval.bench.output import OutputRow, output_of
from omnieval.bench.store import COLD, LEAST_REPEATS, LOAD, Bench, BenchRun
from omnieval.errors import ScoringError
from omnieval.report.accounting import identity
from omnieval.report.busy import busy_lines
from omnieval.report.compare.settings import differing_settings, require_comparable
from omnieval.report.stages import StageRow, stage_lines, stage_rows
from omnieval.stats import LatencyDifference, latency_difference
from omnieval.stats.noise import RTF_REAL
from omnieval.wording import as_typed, counted


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """One figure of speed. figure: a key of `LABELS_OF_SPEED`, `ttft_s.p99` say. values: one for each repeat
    that has it, in their order. cold: that of the cold run. there: values of another bench's repeats.
    change: from its figure to this one."""

    figure: str
    values: tuple[float, ...]
    median: float
    low: float
    high: float
    cold: float | None
    there: tuple[float, ...] = ()
    change: LatencyDifference | None = None


@dataclass(frozen=True, slots=True)
class BenchReport:
    """Everything a reader of a bench needs; `report.json` is this, field by field.

    run: what identifies the first repeat. load: requests in flight, and requests a second where that is
    set. repeats: how many there are to be; done: how many are. complete: they are all done, and the cold run.
    counts: whether the speed counts, which it does not where the output of a repeat is broken. outputs: one a
    run, the cold one first. stages: over all repeats. against: the directory of the other bench.
    """

    directory: str
    run: Mapping[str, Any]
    headline: Mapping[str, str]
    load: Mapping[str, Any]
    repeats: int
    done: int
    complete: bool
    counts: bool
    speed: tuple[SpeedRow, ...]
    outputs: tuple[OutputRow, ...]
    stages: tuple[StageRow, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    against: str | None = None
    kind: Literal["bench"] = "bench"


def build_bench_report(bench: Bench, against: Bench | None = None) -> BenchReport:
    """The report of a bench, from its runs' reports as last written.

    Raises ScoringError where no run is finished, or they are no repetitions; ConfigError where the other
    bench asked other data.
    """
    cold, repeats = _finished(bench)
    first = repeats[0] if repeats else cold
    if first is None:
        raise ScoringError(
            f"{bench.directory}: no run of this bench is finished; "
            f"omnieval bench --resume {as_typed(bench.directory)}"
        )
    outputs = tuple(output_of(run) for run in ([cold] if cold else []) + repeats)
    broken = [row for row in outputs if row.broken and row.name != COLD]
    warnings = _incomplete(bench, cold, repeats) + _broken(broken)
    speed = _rows(repeats, cold)
    if against is not None:
        speed, told = _against(bench, against, speed, repeats)
        warnings += told
    stages = stage_rows(r for repeat in repeats for r in repeat.run.last_responses().values())
    return BenchReport(
        directory=bench.directory.absolute().name,
        run=identity(first.run),
        headline=first.run.info["headline"],
        load={key: bench.info.config[key] for key in LOAD},
        repeats=bench.info.repeats,
        done=len(repeats),
        complete=cold is not None and len(repeats) == bench.info.repeats,
        counts=bool(repeats) and not broken,
        speed=speed,
        outputs=outputs,
        stages=stages,
        warnings=tuple(warnings),
        notes=tuple(_notes(cold, repeats, speed) + stage_lines(stages)),
        against=None if against is None else str(against.directory),
    )


def _finished(bench: Bench) -> tuple[BenchRun | None, list[BenchRun]]:
    """The cold run and the repeats, as far as they are there. Raises ScoringError for other runs."""
    runs = [found for name in bench.names if (found := bench.finished(name)) is not None]
    cold = next((run for run in runs if run.name == COLD), None)
    repeats = [run for run in runs if run.name != COLD]
    for other in repeats[1:]:
        for key, of in (("settings", "recipe_hash"), ("data", "dataset")):
            ours, theirs = (run.run.info[of] for run in (repeats[0], other))
            if of == "dataset":
                ours, theirs = ours["fingerprint"], theirs["fingerprint"]
            if ours != theirs:
                raise ScoringError(
                    f"{bench.directory}: {repeats[0].name} and {other.name} are no repetitions of one run "
                    f"(they differ in {key}); start a new bench in another directory"
                )
    return cold, repeats


def _rows(repeats: Sequence[BenchRun], cold: BenchRun | None) -> tuple[SpeedRow, ...]:
    measured = [speed_of(repeat) for repeat in repeats]
    first = {} if cold is None else speed_of(cold)
    rows = []
    for figure in LABELS_OF_SPEED:
        values = tuple(found[figure] for found in measured if figure in found)
        if values:
            rows.append(SpeedRow(figure, values, median(values), min(values), max(values), first.get(figure)))
    return tuple(rows)


def _against(
    bench: Bench, other: Bench, speed: Sequence[SpeedRow], repeats: Sequence[BenchRun]
) -> tuple[tuple[SpeedRow, ...], list[str]]:
    """The figures with what the other bench has, and what belongs above them. Raises ConfigError."""
    theirs = _finished(other)[1]
    if not theirs or not repeats:
        empty = other if not theirs else bench
        return tuple(speed), [f"not compared: {empty.directory} has no finished repeat"]
    require_comparable(theirs[0].run, repeats[0].run)
    warnings = [
        f"DIFFERENT {setting.key}: {setting.first} in {other.directory.name}, {setting.second} here"
        for setting in differing_settings(theirs[0].run, repeats[0].run)
        if not setting.expected or setting.key.startswith("select.")
    ]
    warnings += [
        f"DIFFERENT LOAD: {key} {other.info.config.get(key)} in {other.directory.name}, "
        f"{bench.info.config.get(key)} here"
        for key in LOAD
        if other.info.config.get(key) != bench.info.config.get(key)
    ]
    there, here = (_machine(runs[0]) for runs in (theirs, repeats))
    if there and here and there != here:
        warnings.append(f"ANOTHER MACHINE: {there} in {other.directory.name}, {here} here")
    for row in (output_of(run) for run in theirs):
        if row.broken:
            warnings.append(
                f"THE SPEED OF {other.directory.name} DOES NOT COUNT: the output of its {row.name} is broken "
                f"({row.broken})"
            )
    known = {row.figure: row.values for row in _rows(theirs, None)}
    return tuple(_changed(row, known.get(row.figure, ())) for row in speed), warnings


def _machine(run: BenchRun) -> str:
    """That of the client, which prepares and sends what is asked; empty where it is not recorded."""
    found = run.run.info.get("hardware") or {}
    return (
        f"{found.get('machine')}, {found.get('cpus')} cores, {found.get('memory_gib')} GiB" if found else ""
    )


def _changed(row: SpeedRow, there: tuple[float, ...]) -> SpeedRow:
    if not there:
        return row
    change = latency_difference(there, row.values, ratio=row.figure.startswith("rtf"))
    return replace(row, there=there, change=change)


def _incomplete(bench: Bench, cold: BenchRun | None, repeats: Sequence[BenchRun]) -> list[str]:
    if cold is not None and len(repeats) == bench.info.repeats:
        return []
    few = f"; medians of fewer than {LEAST_REPEATS} say little" if len(repeats) < LEAST_REPEATS else ""
    return [f"INCOMPLETE: {len(repeats)} of {counted(bench.info.repeats, 'repeat', 'repeats')} done{few}"]


def _broken(broken: Sequence[OutputRow]) -> list[str]:
    return [f"THE SPEED DOES NOT COUNT: the output of {row.name} is broken ({row.broken})" for row in broken]


def _notes(cold: BenchRun | None, repeats: Sequence[BenchRun], speed: Sequence[SpeedRow]) -> list[str]:
    notes = []
    for run in ([cold] if cold else []) + list(repeats):
        if any(event.get("event") == "resumed" for event in run.run.events()):
            lost = "it is not all cold" if run.name == COLD else "its times count, its rates do not"
            notes.append(f"{run.name} was interrupted and continued: {lost}")
    servers = {
        (repeat.run.info["server"].get("model"), repeat.run.info["server"].get("version"))
        for repeat in repeats
    }
    if len(servers) > 1:
        shown = ", ".join(sorted(" ".join(str(part) for part in server if part) for server in servers))
        notes.append(f"the server changed between the repeats: {shown}")
    if repeats and not speed:
        notes.append(f"no speed: the backend {repeats[0].run.config['backend']} tells no times")
    for row in speed:
        if row.figure == "rtf.p50" and row.high - row.low > RTF_REAL:
            notes.append(
                f"the repeats' RTF differ by {row.high - row.low:.3f}, more than the {RTF_REAL} that noise "
                "explains: did something else work on the machine?"
            )
    for repeat in repeats:
        notes += [f"{repeat.name}: {line}" for line in busy_lines(repeat.report.busy)]
    return notes
