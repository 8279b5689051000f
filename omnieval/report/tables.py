"""A Report as titled tables of text: what the terminal and Markdown both show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnieval.report.accounting import Count, FailureRow, sentence
from omnieval.report.audit import HealthRow, health_warning, letter_warning
from omnieval.report.build import Report
from omnieval.report.busy import busy_table
from omnieval.report.early import early_table, early_warning
from omnieval.report.latency import LABELS, Distribution
from omnieval.report.page import Page, Table
from omnieval.report.proportion import Proportion
from omnieval.report.servers import server_table
from omnieval.report.stages import stage_table
from omnieval.wording import counted

_SHOWN_DISAGREEMENTS = 10
_SHOWN_VALUES = 100


def choice_page(report: Report) -> Page:
    """The report of a multiple-choice run; empty tables are left out."""
    return Page(
        headline=headline(report.run, report.headline),
        measured_by=f"parser {report.parser}",
        directory=str(report.run["directory"]),
        warnings=tuple(status(report)),
        tables=tuple(tables(report)),
        notes=report.notes,
        footer="Intervals allow for questions that share a video: Wilson intervals at the number of "
        "independent questions that would tell as much. Official accuracy counts answered questions; strict "
        "accuracy counts every selected question that has a usable answer.",
    )


def headline(run: Mapping[str, Any], settings: Mapping[str, str]) -> str:
    """Recipe, model and every setting without which the score cannot be compared, in one line."""
    named = ", ".join(f"{key} {value}" for key, value in settings.items())
    return f"{run['recipe']} · {run['model'] or run['backend']} · {named}"


def tables(report: Report) -> list[Table]:
    """All tables of a report, in reading order; empty ones are left out."""
    built = [_accuracy(report), accounting_table(report.accounting)]
    built.insert(0, early_table(report.early))
    built.insert(0 if status_of_health(report) else 3, health_table(report.health))
    built += [_group(report, key) for key in report.groups]
    built += [_references(report), failure_table(report.failures)]
    built += [_rules(report), _disagreements(report), _letters(report), latency_table(report.latency)]
    built += [stage_table(report.stages), busy_table(report.busy), server_table(report.servers)]
    return [table for table in built if table.rows]


def percent(proportion: Proportion) -> str:
    """`78.28 % (937/1197)`, or `- (0/0)`."""
    value = "-" if proportion.value is None else f"{100 * proportion.value:.2f} %"
    return f"{value} ({proportion.correct}/{proportion.total})"


def interval(proportion: Proportion) -> str:
    """`75.9 to 80.5`, in percent; clustered where questions share a video."""
    return _percents(proportion.interval)


def _percents(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"


def _accuracy(report: Report) -> Table:
    figures = [
        ("official: answered questions", report.official),
        ("strict: every question selected", report.strict),
    ]
    if report.each_asking is not None:
        figures.append(("each order of the options by itself", report.each_asking))
    figures += [(f"{c.name} (run {c.directory})", c.official) for c in report.companions]
    rows = [(name, percent(figure), interval(figure), _independent(figure)) for name, figure in figures]
    if report.chance is not None:
        rows.append(("chance: guessing among the options", f"{100 * report.chance:.2f} %", "-", "-"))
    columns: tuple[str, ...] = ("denominator", "accuracy", "95 % interval", "were all independent")
    if all(figure.clustered is None for _, figure in figures):
        return Table("Accuracy", columns[:3], tuple(row[:3] for row in rows), numeric=(1, 2))
    return Table("Accuracy", columns, tuple(rows), numeric=(1, 2, 3))


def _independent(proportion: Proportion) -> str:
    """Wilson's interval of the questions as they stand."""
    low, high = proportion.low, proportion.high
    return _percents(None if low is None or high is None else (low, high))


def status_of_health(report: Report) -> str | None:
    """The warning that many replies are sick, or None."""
    return None if report.unhealthy is None else health_warning(report.health, report.unhealthy)


def health_table(health: Sequence[HealthRow], title: str = "Unhealthy replies") -> Table:
    """One row a flag."""
    rows = tuple((row.flag.replace("_", " "), str(row.count), ", ".join(row.sample_ids)) for row in health)
    return Table(title, ("flag", "replies", "first samples"), rows, numeric=(1,))


def _rules(report: Report) -> Table:
    rows = [
        (row.rule, percent(row.accuracy), str(row.none), str(row.differs) if i else "this run's")
        for i, row in enumerate(report.rules)
    ]
    columns = ("parser", "accuracy", "no letter", "read otherwise")
    return Table("The same replies by every parser", columns, tuple(rows), numeric=(1, 2, 3))


def _disagreements(report: Report) -> Table:
    rows = []
    for row in report.disagreements[:_SHOWN_DISAGREEMENTS]:
        letters: dict[str, list[str]] = {}
        for rule, letter in row.readings.items():
            letters.setdefault(letter or "none", []).append(rule)
        read = "; ".join(f"{letter}: {', '.join(rules)}" for letter, rules in sorted(letters.items()))
        rows.append((row.sample_id, row.gold or "-", read, row.reply))
    more = len(report.disagreements) - len(rows)
    title = "Replies that parsers read differently"
    title += f" (the first {len(rows)}; {more} more in report.json)" if more > 0 else ""
    return Table(title, ("sample", "right", "letter: parsers", "reply"), tuple(rows))


def _letters(report: Report) -> Table:
    rows = [(row.letter, str(row.picked), str(row.gold), str(row.correct)) for row in report.letters]
    columns = ("letter, as shown", "picked", "right", "picked rightly")
    return Table("Letters", columns, tuple(rows), numeric=(1, 2, 3))


def accounting_table(counts: Sequence[Count]) -> Table:
    """One row an outcome, and their sum."""
    rows = [(line.label, str(line.count)) for line in counts]
    rows.append(("rows of the data set", str(sum(line.count for line in counts))))
    return Table("Every row of the data set", ("outcome", "rows"), tuple(rows), numeric=(1,))


def _group(report: Report, key: str) -> Table:
    group = report.groups[key]
    with_reference = any(row.reference for row in group) and not _all_caveats(report)
    columns = [key, "official", "95 % interval", "strict"] + (["reference"] if with_reference else [])
    rows = []
    for row in group:
        cells = [row.value, percent(row.official), interval(row.official), percent(row.strict)]
        if with_reference:
            cells.append(percent(Proportion.of(*row.reference)) if row.reference else "-")
        rows.append(tuple(cells))
    title = f"By {key}"
    if len(rows) > _SHOWN_VALUES:
        title += f" (the first {_SHOWN_VALUES} of {len(rows)}; all are in report.json)"
    shown = tuple(rows[:_SHOWN_VALUES])
    return Table(title, tuple(columns), shown, numeric=tuple(range(1, len(columns))))


def _all_caveats(report: Report) -> bool:
    return all(row.caveat for row in report.references)


def _references(report: Report) -> Table:
    rows = []
    for row in report.references:
        counts = f" ({row.correct}/{row.total})" if row.correct is not None else ""
        rows.append((row.name, f"{100 * row.accuracy:.2f} %{counts}", row.caveat or "same setting"))
    return Table("Reference results", ("result", "accuracy", "comparable?"), tuple(rows), numeric=(1,))


def failure_table(failures: Sequence[FailureRow]) -> Table:
    """One row a kind of failure."""
    rows = [(row.kind, str(row.count), _what_happened(row), ", ".join(row.sample_ids)) for row in failures]
    columns = ("kind", "samples", "what happened, for example", "first samples")
    return Table("Failures", columns, tuple(rows), numeric=(1,))


def latency_table(figures: Mapping[str, Distribution], title: str = "Latency") -> Table:
    """One row a figure."""
    rows = [
        (
            LABELS[key],
            str(d.count),
            *(f"{value:.3f}" for value in (d.mean, d.median, d.p90, d.p95, d.p99)),
        )
        for key, d in figures.items()
    ]
    columns = ("figure", "n", "mean", "p50", "p90", "p95", "p99")
    return Table(title, columns, tuple(rows), (1, 2, 3, 4, 5, 6))


def _what_happened(row: FailureRow) -> str:
    told = [sentence(row.message, row.hint), *row.others]
    if row.reasons > len(told):
        told.append(f"and {counted(row.reasons - len(told), 'other reason', 'other reasons')}")
    return " · ".join(told)


def status(report: Report) -> Sequence[str]:
    """Warnings that belong above every number."""
    lines = [line for line in (status_of_health(report), letter_warning(report.letters)) if line]
    lines = early_warning(report.early) + lines
    lines += incomplete(report.complete, report.accounting)
    failed = sum(row.count for row in report.failures)
    if failed:
        lines.append(
            f"{counted(failed, 'question', 'questions')} failed: wrong in the strict accuracy, absent in the "
            "official"
        )
    return lines


def incomplete(complete: bool, counts: Sequence[Count]) -> list[str]:
    """The warning that a run has not ended, where it has not."""
    if complete:
        return []
    waiting = next(c.count for c in counts if c.label == "not asked: not finished")
    have = counted(waiting, "selected question has", "selected questions have")
    return [f"INCOMPLETE: {have} no outcome yet; resume the run"]
