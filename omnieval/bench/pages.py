"""A bench as the page that a reader sees."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from omnieval.bench.figures import LABELS_OF_SPEED, more_is_better
from omnieval.bench.output import OutputRow
from omnieval.bench.report import BenchReport, SpeedRow
from omnieval.report.page import Page, Table
from omnieval.report.stages import stage_table
from omnieval.report.tables import headline, percent
from omnieval.wording import counted


def bench_page(report: BenchReport) -> Page:
    """Speed, then what came out, then what changed; no empty tables."""
    rate = report.load["request_rate"]
    load = f"{report.load['concurrency']} in flight" + ("" if rate is None else f", {rate} requests a second")
    tables = [_speed(report.speed), _outputs(report.outputs), _changes(report), stage_table(report.stages)]
    return Page(
        headline=f"bench · {headline(report.run, report.headline)}, {load}",
        measured_by=f"medians of {counted(report.done, 'repeat', 'repeats')}, the cold run apart",
        directory=report.directory,
        warnings=report.warnings,
        tables=tuple(table for table in tables if table.rows),
        notes=(*report.notes, *_caveat(report)),
        footer="Each repeat gives one median (p50) and one 99th percentile over its samples; shown are the "
        "medians of those, with the lowest and the highest. Repeats ask the same: where the server caches "
        "prompts or media, these are the times with a warm cache.",
    )


def _caveat(report: BenchReport) -> list[str]:
    """How often the rule for figures in seconds is wrong: all of one side's runs lie beyond the other's."""
    counts = [
        (row.change.first_runs, row.change.second_runs) for row in report.speed if row.change is not None
    ]
    if not counts:
        return []
    first, second = map(max, zip(*counts, strict=True))
    once_in = comb(first + second, first) // 2
    return [
        f"between equal deployments, a figure other than RTF comes out as faster or slower once in {once_in} "
        f"times with {first} and {second} repeats; more repeats make that rarer"
    ]


def _speed(speed: Sequence[SpeedRow]) -> Table:
    rows = tuple(
        (
            LABELS_OF_SPEED[row.figure], str(len(row.values)), _number(row.median),
            f"{_number(row.low)} to {_number(row.high)}", "-" if row.cold is None else _number(row.cold),
        )
        for row in speed
    )  # fmt: skip
    return Table(
        "Speed", ("figure", "repeats", "median", "lowest to highest", "cold run"), rows, (1, 2, 3, 4)
    )


def _outputs(outputs: Sequence[OutputRow]) -> Table:
    columns = ["run", "asked", "failed", "unhealthy"]
    spoken = all(row.accuracy is None for row in outputs)
    columns += ["WER (%)", "SIM"] if spoken else ["accuracy"]
    rows = []
    for row in outputs:
        if row.accuracy is None:
            figures = [
                "-" if row.wer is None else f"{row.wer:.2f}",
                "-" if row.similarity is None else f"{row.similarity:.3f}",
            ]
        else:
            figures = [percent(row.accuracy)]
        unhealthy = "-" if row.unhealthy is None else percent(row.unhealthy)
        rows.append((row.name, str(row.asked), str(row.failed), unhealthy, *figures, row.broken or "sound"))
    return Table("What came out", (*columns, "output"), tuple(rows), tuple(range(1, len(columns))))


def _changes(report: BenchReport) -> Table:
    rows = []
    for row in report.speed:
        change = row.change
        if change is not None:
            rows.append(
                (
                    LABELS_OF_SPEED[row.figure], _number(change.first), _number(change.second),
                    f"{change.difference:+.3f}", f"{change.first_runs}, {change.second_runs}", _verdict(row),
                )
            )  # fmt: skip
    title = "Speed against the other bench" if report.counts else "Speed that does not count"
    return Table(
        title, ("figure", "there", "here", "difference", "repeats", "verdict"), tuple(rows), (1, 2, 3, 4)
    )


def _verdict(row: SpeedRow) -> str:
    assert row.change is not None
    return f"{verdict(row)}: {row.change.reason}"


def verdict(row: SpeedRow) -> str:
    """faster or slower than the other bench, noise, or undecided; of a row that has a change."""
    change = row.change
    assert change is not None
    if change.verdict != "real":
        return change.verdict
    return "faster" if (change.difference > 0) == more_is_better(row.figure) else "slower"


def _number(value: float) -> str:
    return f"{value:.3f}"
