"""A diagnosis as a page, and as the files in its directory."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from omnieval.diagnose.findings import SIGNIFICANT, WORSE, Diagnosis, RungRow
from omnieval.diagnose.run import DIAGNOSIS
from omnieval.diagnose.rungs import RECIPE
from omnieval.report.html import Article, document
from omnieval.report.html.parts import report_links
from omnieval.report.markdown import to_markdown
from omnieval.report.page import Page, Table
from omnieval.runlog.files import replace_file, replace_json
from omnieval.types import JsonDict

# No table is wider than a terminal of 80 columns.
_RUNGS = ("rung", "accuracy", "unhealthy", "failed", "E2EL (s)", "verdict")
_CHANGES = ("rung", "against", "change", "p")
_FURTHER = ("rung", "asked", "95 % interval", "tokens", "TTFT (s)")


def write_diagnosis(diagnosis: Diagnosis, directory: Path) -> None:
    """Keep it as diagnose.json, diagnose.md and diagnose.html. Raises StorageError."""
    replace_json(directory / DIAGNOSIS, diagnosis_json(diagnosis))
    replace_file(directory / "diagnose.md", [to_markdown(diagnosis_page(diagnosis)).encode()])
    replace_file(directory / "diagnose.html", [diagnosis_html(diagnosis).encode()])


def diagnosis_json(diagnosis: Diagnosis) -> JsonDict:
    """Everything in it, JSON-ready."""
    content: JsonDict = TypeAdapter(Diagnosis).dump_python(diagnosis, mode="json")
    return content


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
        measured_by=f"{diagnosis.samples} samples a rung, backend {diagnosis.backend}",
        directory=diagnosis.directory,
        warnings=tuple(_warnings(diagnosis)),
        tables=tuple(tables),
        notes=(*further, *diagnosis.notes),
        footer="All rungs ask the same samples. A rung breaks where, against the rung named, failures or "
        f"unhealthy replies grow by {100 * WORSE:.0f} % of the samples, or accuracy falls with a p-value of "
        f"{SIGNIFICANT} or less (exact, paired by sample), for which at least six samples must fall.",
    )


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """One file, with links to the reports of the rungs."""
    before = report_links((row.name, row.report) for row in diagnosis.rungs)
    return document([Article(diagnosis_page(diagnosis), "Diagnosis", before=before)])


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
