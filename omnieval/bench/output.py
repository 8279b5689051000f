"""What came out of a run: a fast run with broken output is not fast."""

from __future__ import annotations

from dataclasses import dataclass

from omnieval.bench.store import BenchRun
from omnieval.report.audit import HealthRow
from omnieval.report.proportion import Proportion
from omnieval.report.speech import SpeechReport
from omnieval.scoring.health import MOST_UNHEALTHY


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One run. name: its place in the bench. asked, failed: samples. accuracy: the official one; None for
    speech. wer: percent, by the official protocol; similarity: mean; None where they were not taken.
    broken: why its speed does not count, or None."""

    name: str
    asked: int
    failed: int
    unhealthy: Proportion | None
    accuracy: Proportion | None
    wer: float | None
    similarity: float | None
    broken: str | None


def output_of(run: BenchRun) -> OutputRow:
    """The output of one run, from its report."""
    report = run.report
    failed = sum(row.count for row in report.failures)
    accuracy, wer, similarity = None, None, None
    if isinstance(report, SpeechReport):
        asked = report.asked
        wer = None if report.wer is None else report.wer.official_percent
        similarity = None if report.similarity is None else report.similarity.mean
    else:
        asked, accuracy = report.strict.total, report.official
    broken = _why_broken(asked, failed, report.unhealthy, report.health)
    return OutputRow(run.name, asked, failed, report.unhealthy, accuracy, wer, similarity, broken)


def _why_broken(
    asked: int, failed: int, unhealthy: Proportion | None, health: tuple[HealthRow, ...]
) -> str | None:
    """By the limit above which a report calls a run unhealthy, for failures as well."""
    reasons = []
    if failed > MOST_UNHEALTHY * asked:
        reasons.append(f"{failed} of {asked} samples failed")
    if unhealthy is not None and unhealthy.value is not None and unhealthy.value > MOST_UNHEALTHY:
        named = ", ".join(f"{row.count} {row.flag.replace('_', ' ')}" for row in health)
        reasons.append(f"{unhealthy.correct} of {unhealthy.total} replies are unhealthy: {named}")
    return "; ".join(reasons) or None
