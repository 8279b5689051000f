"""The report of a run as one HTML file: its page, and what its directory holds beside report.json."""

from __future__ import annotations

from dataclasses import replace

from omnieval.report.build import Report
from omnieval.report.compare import Side
from omnieval.report.gate import gate_page
from omnieval.report.html.choice_charts import choice_charts, choice_tiles
from omnieval.report.html.common_charts import telemetry_charts
from omnieval.report.html.document import Article, document
from omnieval.report.html.evidence import Evidence, read_evidence
from omnieval.report.html.gate_page import gate_charts, gate_tile, is_outdated, stored_gate
from omnieval.report.html.parts import Tile, Tone
from omnieval.report.html.run_facts import made_of
from omnieval.report.html.sample_folds import sample_lists
from omnieval.report.html.speech_charts import speech_charts, speech_tiles
from omnieval.report.html.telemetry import read_telemetry
from omnieval.report.pages import page_of
from omnieval.report.speech import SpeechReport
from omnieval.runlog import Run
from omnieval.runlog.store import GATE_JSON, TELEMETRY
from omnieval.scoring.health import MOST_UNHEALTHY


def report_html(run: Run, report: Report | SpeechReport, evidence: Evidence | None = None) -> str:
    """The report as report.html has it.

    evidence: what `gather` found; None reads the run's files. Raises ScoringError for a damaged run.
    """
    found = read_evidence(run) if evidence is None else evidence
    page = page_of(report)
    if isinstance(report, SpeechReport):
        tiles, charts = speech_tiles(report), speech_charts(report, found.values)
    else:
        tiles, charts = choice_tiles(report), choice_charts(report, found.values)
    notes, tables = list(page.notes), list(page.tables)
    gate = stored_gate(run.directory / GATE_JSON)
    if gate is not None:
        tiles.append(gate_tile(gate))
        charts += gate_charts(gate)
        tables = [*gate_page(gate).tables, *tables]
        if is_outdated(gate, Side(run, report, (report.latency,))):
            notes.append("the gate was judged before this report was last written; run `omnieval gate` again")
    tiles += _state(report)
    telemetry = read_telemetry(run.directory / TELEMETRY)
    if telemetry is not None:
        charts += telemetry_charts(telemetry)
        notes += telemetry.notes
    identity = report.run
    return document(
        [
            Article(
                replace(
                    page,
                    headline=f"{identity['recipe']} · {identity['model'] or identity['backend']}",
                    tables=tuple(tables),
                    notes=tuple(notes),
                ),
                kind="Evaluation report",
                tiles=tuple(tiles),
                charts=tuple(charts),
                lists=(made_of(run), *sample_lists(found)),
                settings=tuple(f"{key} {value}" for key, value in report.headline.items()),
            )
        ]
    )


def _state(report: Report | SpeechReport) -> list[Tile]:
    """Health of the replies, and what failed."""
    tiles = []
    share = report.unhealthy
    if share is not None and share.value is not None:
        told = f"{share.correct}/{share.total} replies"
        tone: Tone = "doubt" if share.value > MOST_UNHEALTHY else ""
        tiles.append(Tile("Unhealthy", f"{100 * share.value:.1f} %", told, tone))
    failed = sum(row.count for row in report.failures)
    asked = report.asked if isinstance(report, SpeechReport) else report.strict.total
    tiles.append(Tile("Failed", str(failed), f"of {asked} asked", "bad" if failed else ""))
    return tiles
