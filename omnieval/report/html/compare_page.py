"""Comparisons as one HTML file: differences as forest plots, and every flip to unfold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from omnieval.report.compare import Comparison, comparison_page, load_side
from omnieval.report.compare.choice import AccuracyChange, ChoiceComparison
from omnieval.report.compare.pages import BETTER, GAINED, LOST, WORSE, metric_label, metric_scale
from omnieval.report.compare.speech import MeanChange, SpeechComparison
from omnieval.report.html.axes import Line
from omnieval.report.html.compare_folds import changed_lists, flip_lists
from omnieval.report.html.document import Article, document
from omnieval.report.html.markup import Markup, element
from omnieval.report.html.parts import Chart, Tile, Tone, link_to, place_from
from omnieval.report.html.svg import Estimate, estimates
from omnieval.report.tables import percent
from omnieval.runlog import Run
from omnieval.runlog.store import REPORT_HTML

_SHOWN_VALUES = 40
# By what `_side` says.
_TONES: Mapping[int, Tone] = {2: "good", 1: "bad", 5: "main"}


def comparisons_html(
    comparisons: Sequence[Comparison], pairs: Sequence[tuple[Path, Path]], *, folder: Path
) -> str:
    """One article a comparison.

    pairs: the two sides of each comparison, as `omnieval.api.compare` takes them.
    folder: where the file will lie, so that it can link to the reports of the runs.
    Raises ScoringError where a run's files are damaged.
    """
    return document(
        [
            _article(found, load_side(first).run, load_side(second).run, folder)
            for found, (first, second) in zip(comparisons, pairs, strict=True)
        ]
    )


def _article(comparison: Comparison, first: Run, second: Run, folder: Path) -> Article:
    page = comparison_page(comparison)
    # They are unfolded from lists here.
    tables = [table for table in page.tables if not table.title.startswith((LOST, GAINED, WORSE, BETTER))]
    if comparison.choice is not None:
        tiles, charts = _choice_tiles(comparison.choice), _choice_charts(comparison.choice)
        lists = flip_lists(comparison.choice, first, second)
    elif comparison.speech is not None:
        tiles, charts = _speech_tiles(comparison.speech), _speech_charts(comparison.speech)
        lists = changed_lists(comparison.speech, second)
    else:
        tiles, charts, lists = [], [], []
    return Article(
        replace(page, tables=tuple(tables)), "Comparison", tuple(tiles), tuple(charts), tuple(lists),
        before=_links(first, second, folder),
    )  # fmt: skip


def _links(first: Run, second: Run, folder: Path) -> Markup:
    links: list[Markup | str] = []
    for name, run in (("A", first), ("B", second)):
        report = run.directory / REPORT_HTML
        told = f"{name}: {run.name}"
        if report.is_file():
            links += [element("a", element("bdi", told), href=link_to(place_from(folder, report)))]
        else:
            links += [element("bdi", told)]
    return element("p", "Reports: ", links[0], " and ", links[1], class_="about")


def _choice_tiles(choice: ChoiceComparison) -> list[Tile]:
    paired = choice.official.paired
    tiles = []
    if paired is not None:
        told = f"points, 95 % interval {100 * paired.low:+.1f} to {100 * paired.high:+.1f}"
        tone = _TONES[_side(paired.low, paired.high, better_up=True)]
        tiles.append(Tile("Accuracy, B against A", f"{100 * paired.difference:+.2f}", told, tone))
    for name, found in (("A", choice.official.first), ("B", choice.official.second)):
        value, _, counted = percent(found).partition(" (")
        tiles.append(Tile(f"Accuracy of {name}", value, counted.rstrip(")")))
    tiles.append(Tile(LOST, str(len(choice.lost)), ""))
    tiles.append(Tile(GAINED, str(len(choice.gained)), ""))
    return tiles


def _choice_charts(choice: ChoiceComparison) -> list[Chart]:
    overall = {"official": choice.official, "strict": choice.strict}
    charts = [Chart("Accuracy", "Points, B minus A, with 95 % interval", _points("Accuracy", overall))]
    for key, values in choice.groups.items():
        if values:
            caption = "Points, B minus A, with 95 % interval; dashed: no difference"
            if len(values) > _SHOWN_VALUES:
                caption += f" (the first {_SHOWN_VALUES} of {len(values)})"
            charts.append(Chart(f"By {key}", caption, _points(f"Accuracy by {key}", values)))
    return charts


def _points(title: str, changes: Mapping[str, AccuracyChange]) -> Markup:
    rows = []
    for name, change in list(changes.items())[:_SHOWN_VALUES]:
        found = change.paired
        if found is None:
            rows.append(Estimate(name, None, told="-"))
            continue
        ends = 100 * found.low, 100 * found.high
        told = f"{100 * found.difference:+.2f} ({ends[0]:+.1f} to {ends[1]:+.1f})"
        rows.append(Estimate(name, 100 * found.difference, *ends, told, _side(*ends, better_up=True)))
    return estimates(title, rows, line=Line(0.0, "no difference"), bounds=(-100.0, 100.0))


def _speech_tiles(speech: SpeechComparison) -> list[Tile]:
    tiles = []
    for metric, change in speech.means.items():
        factor, digits = metric_scale(metric)
        low, high = change.paired.low, change.paired.high
        few = change.paired.p_value is None
        told, tone = "too few voices for an interval" if few else "all pairs differ alike", _TONES[5]
        if low is not None and high is not None:
            told = f"95 % interval {factor * low:+.{digits}f} to {factor * high:+.{digits}f}"
            tone = _TONES[_side(low, high, better_up=_better_up(metric))]
        value = f"{factor * change.paired.mean:+.{digits}f}"
        tiles.append(Tile(f"{metric_label(metric)}, B against A", value, told, tone))
    return tiles


def _speech_charts(speech: SpeechComparison) -> list[Chart]:
    charts = [
        Chart("Speech", f"{metric_label(metric)}, B minus A", _means(metric, {"all": change}))
        for metric, change in speech.means.items()
    ]
    for key, metrics in speech.groups.items():
        for metric, values in metrics.items():
            if values:
                title = f"{metric_label(metric)} by {key}"
                charts.append(Chart(title.partition(" (")[0], f"{title}, B minus A", _means(metric, values)))
    return charts


def _means(metric: str, changes: Mapping[str, MeanChange]) -> Markup:
    factor, digits = metric_scale(metric)
    rows = []
    for name, change in list(changes.items())[:_SHOWN_VALUES]:
        low, high, value = change.paired.low, change.paired.high, factor * change.paired.mean
        told = f"{value:+.{digits}f}"
        if low is None or high is None:
            rows.append(Estimate(name, value, told=told, colour=5))
            continue
        told += f" ({factor * low:+.{digits}f} to {factor * high:+.{digits}f})"
        colour = _side(low, high, better_up=_better_up(metric))
        rows.append(Estimate(name, value, factor * low, factor * high, told, colour))
    return estimates(f"{metric_label(metric)}, B minus A", rows, line=Line(0.0, "no difference"))


def _better_up(metric: str) -> bool:
    return metric.startswith("sim")


def _side(low: float, high: float, *, better_up: bool) -> int:
    """The colour of an interval: surely better, surely worse, or neither."""
    if low <= 0 <= high:
        return 5
    return 2 if (low > 0) is better_up else 1
