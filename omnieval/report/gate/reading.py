"""What a run measured, by the names that gates use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from omnieval.report.accounting import Count
from omnieval.report.compare import Side
from omnieval.report.latency import Distribution
from omnieval.report.proportion import Proportion
from omnieval.report.speech import SpeechReport


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure in the unit of gates. low, high: its 95 % interval; None where it is a count, or a latency.
    missing: why there is no value. told: what a reader must know of it."""

    value: float | None
    low: float | None = None
    high: float | None = None
    missing: str | None = None
    told: str = ""


def read_figure(side: Side, name: str, argument: str | None) -> Reading:
    """Any figure but `drop_vs` and `config`."""
    report = side.report
    if name == "rows":
        return Reading(report.rows)
    if name == "unhealthy":
        return _proportion(report.unhealthy)
    if "." in name:
        return _latency(side, *name.split("."))
    if isinstance(report, SpeechReport):
        return _spoken(report, name, argument)
    if name == "coverage":
        return _coverage(report.accounting, report.rows, "answered")
    found = _proportion(report.official if name == "accuracy" else report.strict)
    return replace(found, told=f"{found.told}, read by {report.parser}")


def _spoken(report: SpeechReport, name: str, encoder: str | None) -> Reading:
    if name == "sim":
        found = report.similarity
        if report.encoder is not None and report.encoder["name"] != encoder:
            return Reading(None, missing=f"voices were compared by {report.encoder['name']}")
        if found is None:
            return _unmeasured(report, "no similarity was measured")
        return Reading(found.mean, found.low, found.high)
    if report.recogniser is None:
        return _unmeasured(report, "no recogniser has heard it yet")
    by = f"heard by {report.recogniser['name']}"
    if name == "coverage":
        return _coverage(report.accounting, report.rows, "answered, heard")
    if name == "lenient_wer":
        lenient = report.lenient
        if lenient is None:
            return _unmeasured(report, "not measured")
        low, high = (None if end is None else 100 * end for end in (lenient.low, lenient.high))
        return Reading(100 * lenient.mean, low, high, told=by)
    if report.wer is None:
        return _unmeasured(report, "not measured")
    return Reading(report.wer.official_percent, report.wer.low, report.wer.high, told=by)


def _unmeasured(report: SpeechReport, told: str) -> Reading:
    return Reading(None, missing="; ".join(report.not_measured) or f"{told}; run `omnieval score` on the run")


def _proportion(found: Proportion | None) -> Reading:
    if found is None or found.interval is None:
        return Reading(None, missing="nothing was answered")
    return Reading(found.value, *found.interval, told=f"{found.correct}/{found.total}")


def _coverage(counts: Sequence[Count], rows: int, label: str) -> Reading:
    """Rows with an answer that counts, of all rows that could have one."""
    covered = sum(count.count for count in counts if count.label.startswith(label))
    left_out = ("no usable answer", "not asked: ended early")
    possible = rows - sum(count.count for count in counts if count.label.startswith(left_out))
    if not possible:
        return Reading(None, missing="no row of the data set has a usable answer")
    early = any(count.label == "not asked: ended early" for count in counts)
    part = " of those asked before the early end" if early else ""
    return Reading(covered / possible, told=f"{covered}/{possible}{part}")


def _latency(side: Side, figure: str, statistic: str) -> Reading:
    key = figure if figure == "rtf" else f"{figure}_s"
    found: list[Distribution] = [run[key] for run in side.latencies if key in run]
    if not found or len(found) < len(side.latencies):
        return Reading(None, missing=f"no {figure} was measured")
    values: list[float] = [getattr(distribution, statistic) for distribution in found]
    runs = "of 1 run; a folder of at least 3 repetitions says more" if len(values) == 1 else (
        f"median of {len(values)} runs"
    )  # fmt: skip
    return Reading(median(values), told=runs)
