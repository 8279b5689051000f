"""Daily-Omni's rows from a release without metadata, merged with the official `qa.json`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnieval.benchmarks import rows
from omnieval.benchmarks.daily_omni_data import table_of
from omnieval.parsing import gold_letter

# Columns of a parquet release that the official file has too, by its own names.
METADATA = ("Type", "video_category", "video_duration", "content_parent_category", "content_fine_category")

Row = dict[str, Any]


def official_rows(path: Path) -> list[Row]:
    """The rows of an official question file. Raises DataError when it is none."""
    table, _ = table_of(rows.read_json(path), path, None)
    rows.require(table, path, ("video_id", "Question", "Choice", "Answer"))
    return [row for row in table if isinstance(row, dict)]


def qa_row(row: Mapping[str, Any]) -> Row:
    """A row of the parquet release in the official form. An answer that names none of the options stays as it
    is, so that nobody takes it for a letter."""
    options = rows.options(row.get("candidates"))
    answer = rows.text(row, "answer")
    metadata = {name: row[name] for name in METADATA if row.get(name) is not None}
    return {
        "Question": rows.text(row, "question"),
        "Choice": list(options),
        "Answer": gold_letter(answer, options) or answer,
        "video_id": rows.text(row, "video_id"),
        **metadata,
    }


@dataclass
class Merged:
    """The rows to write, and what came of merging.

    Of the lists, unmatched names rows of the release that the official file does not have, differing those of
    which it has another answer or other options, restored rows that only the official file has, lost those of
    them whose video the release does not have.
    """

    rows: list[Row] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def merge(release: Sequence[Row], official: Sequence[Row], videos: Iterable[str]) -> Merged:
    """The official file's rows, in its order, as far as the release has them or at least their video; then
    the rows that only the release has. The official row counts where both have one.

    release: rows by `qa_row`. videos: the ids of the videos that are there.
    """
    there = set(videos)
    waiting: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in release:
        waiting[_key(row)].append(row)
    merged = Merged()
    for row in official:
        if twin := _take(waiting[_key(row)], row):
            if not _same(row, twin):
                merged.differing.append(name_of(row))
        elif rows.text(row, "video_id") in there:
            merged.restored.append(name_of(row))
        else:
            merged.lost.append(name_of(row))
            continue
        merged.rows.append(row)
    for row in release:
        if any(row is left for left in waiting[_key(row)]):
            merged.unmatched.append(name_of(row))
            merged.rows.append(row)
    return merged


def name_of(row: Mapping[str, Any]) -> str:
    """How a message names a row: its video and its question."""
    return f"{rows.text(row, 'video_id')}: {rows.text(row, 'Question')}"


def repeats(table: Iterable[Row]) -> tuple[list[str], list[str]]:
    """(rows that repeat an earlier one, questions of one video that have several answers)."""
    answers: dict[str, list[str]] = defaultdict(list)
    for row in table:
        key = json.dumps([*_key(row), sorted(rows.options(row.get("Choice")))], ensure_ascii=False)
        answers[key].append(_answer_text(row))
    names = {key: ": ".join(json.loads(key)[:2]) for key in answers}
    repeated = [names[key] for key, given in answers.items() for _ in given[1:]]
    return repeated, [names[key] for key, given in answers.items() if len(set(given)) > 1]


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return rows.text(row, "video_id"), " ".join(rows.text(row, "Question").split())


def _take(waiting: list[Row], row: Row) -> Row | None:
    """The row of the same question, and of several the one with the same options."""
    if not waiting:
        return None
    best = next((i for i, other in enumerate(waiting) if _same(row, other)), 0)
    return waiting.pop(best)


def _same(one: Row, other: Row) -> bool:
    options = [rows.options(row.get("Choice")) for row in (one, other)]
    return options[0] == options[1] and _answer_text(one) == _answer_text(other)


def _answer_text(row: Row) -> str:
    """The option that is right, or the answer as it stands."""
    options = rows.options(row.get("Choice"))
    letter = gold_letter(rows.text(row, "Answer"), options)
    return rows.text(row, "Answer") if letter is None else options["ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(letter)]
