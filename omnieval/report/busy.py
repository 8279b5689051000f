"""Whether the accelerators worked while a run went on: duty cycles from the measurements beside it.

A device counts as busy at a measurement when its cores and its memory's bandwidth are both used more than
5 %; where it does not say one of them, the other decides. A mean of usages says less: long stretches of
nothing and short ones of everything have the same mean as steady work.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from omnieval.report.measurements import measurements
from omnieval.report.page import Table
from omnieval.report.phases import PHASES, Phase, Phases
from omnieval.runlog import TELEMETRY, Run

_BUSY_PCT = 5.0
_CORES = ("aicore_pct", "gpu_pct", "npu_pct")
_BANDWIDTH = ("hbm_bandwidth_pct", "memory_bandwidth_pct")
# Further apart, a series misses what happens between.
_COARSE_S = 0.75
_WORDS: Mapping[Phase, str] = {
    "decode": "decode", "prefill": "prefill", "answer": "answer", "idle": "no request out",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Duty:
    """busy of `measured` measurements."""

    busy: int
    measured: int

    @property
    def share(self) -> float:
        return self.busy / self.measured


@dataclass(frozen=True, slots=True)
class BusyRow:
    """One accelerator. run, phases: duty cycle of the whole run and of each phase that was measured.
    every_s: median time from one measurement to the next."""

    device: str
    run: Duty
    phases: Mapping[str, Duty]
    every_s: float


@dataclass
class _Counts:
    busy: dict[Phase, int] = field(default_factory=dict)
    measured: dict[Phase, int] = field(default_factory=dict)
    times: array[float] = field(default_factory=lambda: array("d"))


def busy_rows(run: Run) -> tuple[BusyRow, ...]:
    """One row an accelerator; none where nothing was measured."""
    path = run.directory / TELEMETRY
    if not path.exists():
        return ()
    phases: Phases | None = None
    by_device: dict[str, _Counts] = {}
    for found in measurements(path):
        busy = None if found is None else _is_busy(found.values)
        if found is None or busy is None:
            continue
        phases = phases or Phases(response.timing for response in run.responses())
        phase = phases.at(found.time_s)
        counts = by_device.setdefault(found.device, _Counts())
        counts.measured[phase] = counts.measured.get(phase, 0) + 1
        counts.busy[phase] = counts.busy.get(phase, 0) + busy
        counts.times.append(found.time_s)
    return tuple(_row(device, by_device[device]) for device in sorted(by_device))


def busy_lines(rows: Sequence[BusyRow]) -> list[str]:
    """One sentence a device."""
    return [_line(row) for row in rows]


def busy_table(rows: Sequence[BusyRow]) -> Table:
    """The rows as text; no column for a phase that no device has."""
    seen = [phase for phase in PHASES if any(phase in row.phases for row in rows)]
    cells = [
        (
            row.device,
            _cell(row.run),
            *(_cell(row.phases.get(phase)) for phase in seen),
            str(row.run.measured),
            f"{row.every_s:.2f}",
        )
        for row in rows
    ]
    header = ("device", "run", *(_WORDS[phase] for phase in seen), "measurements", "every (s)")
    return Table("Busy accelerators", header, tuple(cells), tuple(range(1, len(header))))


def _is_busy(values: Mapping[str, float]) -> bool | None:
    """None for what is no accelerator."""
    cores = [values[metric] for metric in _CORES if metric in values][:1]
    bandwidth = [values[metric] for metric in _BANDWIDTH if metric in values][:1]
    known = (*cores, *bandwidth)
    return all(value > _BUSY_PCT for value in known) if known else None


def _row(device: str, counts: _Counts) -> BusyRow:
    import numpy as np

    duties: dict[str, Duty] = {
        phase: Duty(counts.busy[phase], measured) for phase, measured in counts.measured.items()
    }
    gaps = np.diff(np.sort(np.asarray(counts.times)))
    return BusyRow(
        device,
        Duty(sum(counts.busy.values()), sum(counts.measured.values())),
        duties,
        float(np.median(gaps)) if len(gaps) else 0.0,
    )


def _line(row: BusyRow) -> str:
    named = next((phase for phase in ("decode", "answer", "prefill") if phase in row.phases), None)
    whole = f"{100 * row.run.share:.0f} % of the run"
    line = f"{row.device} was busy {whole}"
    if named is not None:
        what = {"decode": "decode time", "answer": "time that requests were out", "prefill": "prefill time"}
        line = f"{row.device} was busy {100 * row.phases[named].share:.0f} % of the {what[named]} ({whole})"
    if row.every_s > _COARSE_S:
        line += f"; measured only every {row.every_s:.1f} s, which may miss what lies between"
    return line


def _cell(duty: Duty | None) -> str:
    return "-" if duty is None else f"{100 * duty.share:.0f} %"
