"""A diagnosis as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from omnieval.diagnose.breaks import SIGNIFICANT, WORSE
from omnieval.diagnose.findings import Diagnosis, RungRow
from omnieval.diagnose.rungs import RECIPE
from omnieval.report.html import Article, Chart, document
from omnieval.report.html.parts import report_links
from omnieval.report.html.svg import Estimate, estimates
from omnieval.report.page import Page, Table
from omnieval.wording import counted

# No table is wider than a terminal of 80 columns.
_RUNGS = ("rung", "accuracy", "unhealthy", "failed", "E2EL (s)", "verdict")
_CHANGES = ("rung", "against", "change", "p")
_OF_TIMES = (
    "the TTFT of one rung does not compare with another's behind a cache of prefixes or media: the server "
    "may know from the rung before what the next one repeats."
)
_FURTHER = ("rung", "asked", "95 % interval", "tokens", "TTFT (s)")
# Colours of charts.
_WHOLE, _BROKEN = 0, 1


def diagnosis_page(diagnosis: Diagnosis) -> Page:
    """What broke first, in words, above one line a rung."""
    left = [(row.name, row.title, row.left_out or "") for row in diagnosis.rungs if row.state == "left out"]
    rows = [row for row in diagnosis.rungs if row.state != "left out"]
    tables = [
        Table("Rungs", _RUNGS, tuple(map(_told, rows)), numeric=(1, 2, 3, 4)),
        Table("Accuracy against a simpler rung", _CHANGES, tuple(map(_changed, rows)), numeric=(2, 3)),
        Table(
            "What each asks", _FURTHER, tuple(_further(row, diagnosis.base) for row in rows),
            numeric=(2, 3, 4),
        ),
    ]  # fmt: skip
    if left:
        tables.append(Table("Left out", ("rung", "asked", "why"), tuple(left)))
    further = [
        f"{row.name}: {one.found}"
        for row in diagnosis.rungs
        for one in (row.breaks[1:] if row.name == diagnosis.first_break else row.breaks)
    ]
    return Page(
        headline=f"diagnosis of {diagnosis.recipe} · {diagnosis.model}",
        measured_by=f"{counted(diagnosis.samples, 'sample', 'samples')} a rung, backend {diagnosis.backend}",
        directory=diagnosis.directory,
        warnings=tuple(_warnings(diagnosis)),
        tables=tuple(tables),
        notes=(*further, *diagnosis.notes, *([_OF_TIMES] if any(row.ttft_s for row in rows) else [])),
        footer="All rungs ask the same samples. A rung breaks where, against the rung named, failures or "
        f"unhealthy replies grow by {100 * WORSE:.0f} % of the samples, or accuracy falls with a p-value of "
        f"{SIGNIFICANT} or less (exact, paired by sample), for which at least six samples must fall.",
    )


def diagnosis_html(diagnosis: Diagnosis, place: str = ".") -> str:
    """One file, with links to the reports of the rungs. place: the diagnosis' directory from the file's."""
    before = report_links(
        (row.name, row.report and PurePosixPath(place, row.report).as_posix()) for row in diagnosis.rungs
    )
    charts = tuple(_charts(diagnosis))
    return document([Article(diagnosis_page(diagnosis), "Diagnosis", charts=charts, before=before)])


def _charts(diagnosis: Diagnosis) -> Iterator[Chart]:
    rows = []
    for row in diagnosis.rungs:
        found = row.accuracy
        if found is None or found.value is None:
            continue
        low, high = (100 * end for end in found.interval or (found.value, found.value))
        told = f"{100 * found.value:.1f} %" + (", breaks" if row.breaks else "")
        rows.append(Estimate(row.name, 100 * found.value, low, high, told, _BROKEN if row.breaks else _WHOLE))
    if rows:
        drawn = estimates("Accuracy by rung", rows, bounds=(0.0, 100.0), unit=" %")
        yield Chart("Rungs", "Accuracy of each rung, with 95 % interval", drawn)


def _warnings(diagnosis: Diagnosis) -> list[str]:
    lines = []
    waiting = [row.name for row in diagnosis.rungs if row.state in ("not begun", "unfinished")]
    if waiting:
        lines.append(f"INCOMPLETE: {', '.join(waiting)}")
    first = next((row for row in diagnosis.rungs if row.name == diagnosis.first_break), None)
    if first is None:
        lines += [] if waiting else ["No rung breaks."]
        return lines
    cause = first.breaks[0]
    return [
        *lines,
        f"FIRST RUNG THAT BREAKS: {first.name} ({first.title}): {cause.found}",
        f"probable cause: {cause.cause}",
        f"next step: {cause.fix}",
    ]


def _told(row: RungRow) -> tuple[str, ...]:
    accuracy = None if row.accuracy is None else row.accuracy.value
    share = None if row.unhealthy is None else row.unhealthy.value
    verdict = ", ".join(one.kind for one in row.breaks) or ("holds" if row.state == "done" else row.state)
    return (
        row.name,
        "-" if accuracy is None else f"{100 * accuracy:.1f} %",
        "-" if share is None else f"{100 * share:.0f} %",
        f"{row.failed}/{row.asked}",
        _seconds(row.e2e_s),
        verdict,
    )


def _changed(row: RungRow) -> tuple[str, ...]:
    change = row.difference
    return (
        row.name,
        row.against or "-",
        "-" if change is None else f"{100 * change.difference:+.1f} points",
        "-" if change is None else f"{change.p_value:.3f}",
    )


def _further(row: RungRow, base: str) -> tuple[str, ...]:
    interval = None if row.accuracy is None else row.accuracy.interval
    return (
        row.name,
        f"{row.title} (the recipe)" if row.name == base != RECIPE else row.title,
        "-" if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}",
        "-" if row.prompt_tokens is None else f"{row.prompt_tokens:g}",
        _seconds(row.ttft_s),
    )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
