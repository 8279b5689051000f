"""A comparison as the page that a reader sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from omnieval.report.compare.build import Comparison
from omnieval.report.compare.choice import AccuracyChange, ChoiceComparison, Flip
from omnieval.report.compare.speech import MeanChange, SpeechComparison, UtteranceChange
from omnieval.report.latency import LABELS
from omnieval.report.page import Page, Table
from omnieval.report.tables import percent
from omnieval.wording import counted

_SHOWN = 15
# Directory names are too long to head columns.
_SIDES = ("A", "B")
_METRICS = {"wer": "WER, official (%)", "lenient_wer": "WER, numbers and spellings made alike (%)"}
# Lists of samples, by the beginning of their titles.
LOST, GAINED, WORSE, BETTER = "Right to wrong", "Wrong to right", "More word errors", "Fewer word errors"
_HOW_CHOICE = (
    "95 % intervals and p-values allow for questions that share a video; p-values of groups are raised after "
    "Holm, over the values of the group."
)
_HOW_SPEECH = (
    "95 % intervals and p-values are by paired bootstrap, utterances of one reference voice drawn together; "
    "p-values of groups are raised after Holm."
)


def comparison_page(comparison: Comparison) -> Page:
    """Differences first, then what they are over, then what was done differently; no empty tables."""
    built = _choice_tables(comparison.choice) if comparison.choice is not None else []
    built += _speech_tables(comparison.speech) if comparison.speech is not None else []
    built += [_latency(comparison), _outcomes(comparison), _settings(comparison)]
    return Page(
        headline=_headline(comparison),
        measured_by=_measured_by(comparison),
        directory=f"B {comparison.second.run['directory']} against A {comparison.first.run['directory']}",
        warnings=comparison.warnings,
        tables=tuple(table for table in built if table.rows),
        notes=tuple(_notes(comparison)),
        footer="Differences are those of B to A, over the same questions. "
        + (_HOW_CHOICE if comparison.choice is not None else _HOW_SPEECH),
    )


def _headline(comparison: Comparison) -> str:
    models = [str(side.run["model"] or side.run["backend"]) for side in (comparison.first, comparison.second)]
    told = models[0] if models[0] == models[1] else f"{models[1]} against {models[0]}"
    return f"{comparison.first.run['recipe']} · {told}"


def _measured_by(comparison: Comparison) -> str:
    if comparison.choice is not None:
        return f"parser {comparison.choice.parser}"
    assert comparison.speech is not None
    return ", ".join(comparison.speech.means) or "nothing that may be compared"


def _notes(comparison: Comparison) -> Iterable[str]:
    choice = comparison.choice
    if choice is None:
        return
    paired = choice.official.paired
    if paired is not None and choice.visible is not None and choice.visible > 1:
        yield f"{paired.count} questions are too few to show any difference with a power of 80 %"
    elif paired is not None and choice.visible is not None:
        yield (
            f"{paired.count} questions that change as often as these show a difference of "
            f"{100 * choice.visible:.1f} points with a power of 80 %"
        )
    if paired is not None and paired.clusters < paired.count:
        videos = counted(paired.clusters, "video", "videos")
        yield (
            f"{paired.count} questions share {videos}; were they independent, McNemar's "
            f"exact p-value would be {_p(paired.mcnemar)}"
        )


def _choice_tables(choice: ChoiceComparison) -> list[Table]:
    rows = [
        ("official: answered by both", *_accuracy_cells(choice.official)),
        ("strict: asked of both", *_accuracy_cells(choice.strict)),
    ]
    columns = ("denominator", *_SIDES, "points", "95 % interval", "p")
    tables = [Table("Accuracy", columns, tuple(rows), numeric=(1, 2, 3, 4, 5))]
    for key, values in choice.groups.items():
        rows = [(value, *_accuracy_cells(change)) for value, change in values.items()]
        tables.append(Table(f"By {key}", (key, *columns[1:]), tuple(rows), numeric=(1, 2, 3, 4, 5)))
    tables.append(_flips(LOST, choice.lost, choice.groups))
    tables.append(_flips(GAINED, choice.gained, choice.groups))
    return tables


def _accuracy_cells(change: AccuracyChange) -> tuple[str, str, str, str, str]:
    first, second, paired = percent(change.first), percent(change.second), change.paired
    if paired is None:
        return first, second, "-", "-", "-"
    p_value = paired.p_value if change.p_adjusted is None else change.p_adjusted
    between = f"{100 * paired.low:+.1f} to {100 * paired.high:+.1f}"
    return first, second, f"{100 * paired.difference:+.2f}", between, _p(p_value)


def _flips(title: str, flips: Sequence[Flip], keys: Iterable[str]) -> Table:
    rows = []
    for flip in flips[:_SHOWN]:
        groups = ", ".join(flip.groups.get(key, "unknown") for key in keys)
        rows.append((flip.sample_id, flip.gold or "-", flip.first, flip.second, groups))
    return Table(f"{title}: {_count(flips)}", ("sample", "right", *_SIDES, "groups"), tuple(rows))


def _count(items: Sequence[object]) -> str:
    more = len(items) > _SHOWN
    return f"{len(items)} (the first {_SHOWN}; all with --json)" if more else str(len(items))


def _speech_tables(speech: SpeechComparison) -> list[Table]:
    columns = ("utterances", *_SIDES, "difference", "95 % interval", "p")
    numeric = (1, 2, 3, 4, 5, 6)
    rows = [(metric_label(metric), *_mean_cells(metric, change)) for metric, change in speech.means.items()]
    tables = [Table("Speech", ("figure", *columns), tuple(rows), numeric)]
    for key, metrics in speech.groups.items():
        for metric, values in metrics.items():
            rows = [(value, *_mean_cells(metric, change)) for value, change in values.items()]
            tables.append(Table(f"{metric_label(metric)} by {key}", (key, *columns), tuple(rows), numeric))
    worse = [change for change in speech.changed if change.second > change.first]
    better = [change for change in reversed(speech.changed) if change.second < change.first]
    tables.append(_utterances(WORSE, worse))
    tables.append(_utterances(BETTER, better))
    return tables


def metric_label(metric: str) -> str:
    """What a metric of spoken runs is called."""
    return _METRICS.get(metric, metric)


def metric_scale(metric: str) -> tuple[int, int]:
    """What its values are multiplied by, and the digits after the point."""
    return (100, 3) if metric in _METRICS else (1, 4)


def _mean_cells(metric: str, change: MeanChange) -> tuple[str, str, str, str, str, str]:
    factor, digits = metric_scale(metric)
    paired = change.paired
    between = "-"
    if paired.low is not None and paired.high is not None:
        between = f"{factor * paired.low:+.{digits}f} to {factor * paired.high:+.{digits}f}"
    p_value = paired.p_value if change.p_adjusted is None else change.p_adjusted
    return (
        str(paired.count),
        f"{factor * change.first:.{digits}f}",
        f"{factor * change.second:.{digits}f}",
        f"{factor * paired.mean:+.{digits}f}",
        between,
        "-" if p_value is None else _p(p_value),
    )


def _utterances(title: str, changes: Sequence[UtteranceChange]) -> Table:
    rows = [
        (
            change.sample_id,
            f"{100 * change.first:.1f} % to {100 * change.second:.1f} %",
            change.first_heard,
            change.second_heard,
        )
        for change in changes[:_SHOWN]
    ]
    columns = ("sample", "WER", *(f"heard in {name}" for name in _SIDES))
    return Table(f"{title}: {_count(changes)}", columns, tuple(rows), numeric=(1,))


def _latency(comparison: Comparison) -> Table:
    rows = [
        (
            LABELS[row.figure],
            row.percentile,
            f"{row.change.first:.3f}",
            f"{row.change.second:.3f}",
            f"{row.change.difference:+.3f}",
            row.change.verdict,
            row.change.reason,
        )
        for row in comparison.latency
    ]
    title = f"Latency (medians over {comparison.first.repeats} and {comparison.second.repeats} runs)"
    columns = ("figure", "of samples", *_SIDES, "difference", "verdict", "why")
    return Table(title, columns, tuple(rows), numeric=(2, 3, 4))


def _outcomes(comparison: Comparison) -> Table:
    sides = (comparison.first, comparison.second)
    counts: list[Mapping[str, int]] = [{c.label: c.count for c in side.accounting} for side in sides]
    labels = list(dict.fromkeys(label for side in counts for label in side))
    rows = [(label, *(str(side.get(label, 0)) for side in counts)) for label in labels]
    unhealthy = [percent(side.unhealthy) if side.unhealthy is not None else "-" for side in sides]
    rows.append(("unhealthy replies", *unhealthy))
    return Table("Every question of the data set", ("outcome", *_SIDES), tuple(rows), numeric=(1, 2))


def _settings(comparison: Comparison) -> Table:
    rows = tuple((setting.key, setting.first, setting.second) for setting in comparison.settings)
    return Table("What was done differently", ("key", *_SIDES), rows)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
