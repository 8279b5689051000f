"""A bench as one HTML file: every figure of speed drawn run by run, beside what came out."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from omnieval.bench.figures import LABELS_OF_SPEED, more_is_better
from omnieval.bench.output import OutputRow
from omnieval.bench.pages import bench_page, verdict
from omnieval.bench.report import BenchReport, SpeedRow
from omnieval.report.html import Article, document
from omnieval.report.html.parts import Chart, Tile, Tone, place_from, report_links
from omnieval.report.html.svg import Estimate, estimates
from omnieval.report.tables import percent
from omnieval.runlog.store import REPORT_HTML
from omnieval.wording import counted

# What a reader came for: the first of each group that was measured.
_HEADLINES = (("rtf.p50", "e2e_s.p50"), ("ttfp_s.p50", "ttft_s.p50"), ("request_throughput",))
_VERDICTS: dict[str, int] = {"faster": 2, "slower": 1, "undecided": 4, "noise": 5}


def bench_html(report: BenchReport, directory: Path, *, folder: Path) -> str:
    """The file, with links to the reports of the runs.

    directory: the bench's. folder: where the file will lie, from which the links start.
    """
    links = (
        (row.name, place_from(folder, place))
        for row in report.outputs
        if (place := directory / row.name / REPORT_HTML).is_file()
    )
    tiles, charts = _tiles(report), [*_speed(report), *_outputs(report.outputs)]
    return document(
        [Article(bench_page(report), "Bench", tuple(tiles), tuple(charts), before=report_links(links))]
    )


def _tiles(report: BenchReport) -> list[Tile]:
    rows = {row.figure: row for row in report.speed}
    tiles: list[Tile] = []
    for names in _HEADLINES:
        row = next((rows[name] for name in names if name in rows), None)
        if row is not None:
            told = f"{_span(row.values)} in {counted(len(row.values), 'repeat', 'repeats')}"
            tone: Tone = "" if tiles else "main" if report.counts else "bad"
            tiles.append(Tile(LABELS_OF_SPEED[row.figure], f"{row.median:.3f}", told, tone))
    return [*tiles, _health(report.outputs), *_against(report)]


def _health(outputs: tuple[OutputRow, ...]) -> Tile:
    """Speed is never shown without it."""
    broken = [row for row in outputs if row.broken]
    failed, asked = sum(row.failed for row in outputs), sum(row.asked for row in outputs)
    told = f"{counted(len(outputs), 'run', 'runs')}, {failed} of {asked} samples failed"
    if broken:
        return Tile("Output", "broken", f"{broken[0].name}: {broken[0].broken}", "bad")
    return Tile("Output", "sound", told, "good")


def _against(report: BenchReport) -> list[Tile]:
    found = [verdict(row) for row in report.speed if row.change is not None]
    if not found:
        return []
    counts = {word: found.count(word) for word in _VERDICTS if word in found}
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    title = f"Against {_other(report)}"
    if not report.counts:
        return [Tile(title, "does not count", told, "bad")]
    real = [word for word in ("faster", "slower") if word in counts]
    tones: dict[str, Tone] = {"faster": "good", "slower": "bad"}
    word = real[0] if len(real) == 1 else "both ways" if real else "no difference"
    return [Tile(title, word, told, tones.get(word, ""))]


def _speed(report: BenchReport) -> list[Chart]:
    """One drawing a median and a rate; 99th percentiles stand in the table."""
    return [
        Chart("Speed", _caption(row), estimates(LABELS_OF_SPEED[row.figure], _drawn(row, report)))
        for row in report.speed
        if row.figure.endswith(".p50") or more_is_better(row.figure)
    ]


def _caption(row: SpeedRow) -> str:
    better = "more is better" if more_is_better(row.figure) else "less is better"
    return f"{LABELS_OF_SPEED[row.figure]}; {better}"


def _other(report: BenchReport) -> str:
    return "" if report.against is None else Path(report.against).absolute().name


def _drawn(row: SpeedRow, report: BenchReport) -> list[Estimate]:
    """The repeats as dots with their median, and what they are set beside."""
    label, colour = "repeats", 0
    if row.change is not None and report.counts:
        label, colour = f"repeats, {verdict(row)}", _VERDICTS[verdict(row)]
    shown = [_estimate(label, row.values, colour)]
    if row.cold is not None:
        shown.append(Estimate("cold run", row.cold, told=f"{row.cold:.3f}", colour=7, hollow=True))
    if row.there:
        shown.append(_estimate(_other(report), row.there, 5))
    return shown


def _estimate(label: str, values: tuple[float, ...], colour: int) -> Estimate:
    middle = median(values)
    told = f"{middle:.3f} ({_span(values)})"
    return Estimate(label, middle, min(values), max(values), told, colour, dots=values)


def _outputs(outputs: tuple[OutputRow, ...]) -> list[Chart]:
    """Accuracy run by run: repeats ask the same, so that they should agree."""
    rows = []
    for row in outputs:
        interval = None if row.accuracy is None else row.accuracy.interval
        if row.accuracy is None or row.accuracy.value is None or interval is None:
            continue
        low, high = (100 * end for end in interval)
        told = percent(row.accuracy)
        rows.append(Estimate(row.name, 100 * row.accuracy.value, low, high, told, 3 if row.broken else 0))
    if not rows:
        return []
    caption = "Accuracy of each run, with 95 % interval"
    return [Chart("What came out", caption, estimates(caption, rows, bounds=(0.0, 100.0), unit=" %"))]


def _span(values: tuple[float, ...]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"
