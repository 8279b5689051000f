"""Reading rows of a data set: files, fields, ids, and what to say about repeats."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omnieval.errors import DataError
from omnieval.parsing import well_formed
from omnieval.types import Sample


def read_text(path: Path) -> str:
    """The content of a UTF-8 file, with or without a mark at its beginning. Raises DataError naming the
    file when it is missing, empty or in another encoding."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not text.strip():
        raise DataError(f"{path}: the file is empty; fetch the data set again")
    return text


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises DataError naming the file, line and column when it is not JSON."""
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}: not valid JSON, line {error.lineno} column {error.colno}: {error.msg}; "
            "fetch the file again"
        ) from error


def first_file(candidates: Iterable[Path]) -> Path | None:
    """The first candidate that is a file; names that the file system refuses count as absent."""
    return next((path for path in candidates if os.path.isfile(path)), None)  # noqa: PTH113 - never raises


def unsafe_name(name: str) -> str | None:
    """Why a name from a data set must not become part of a path, or None when it may."""
    if name in ("", ".", ".."):
        return "is not a name"
    if any(character in name for character in "/\\\0"):
        return "contains a path separator or NUL"
    return None


def sample_id(cluster: str, question: str, options: Sequence[str], taken: set[str]) -> str:
    """`{cluster}-{8 hex digits of the question and its options}`, with -2, -3 ... for exact repeats.

    The same question keeps its id when rows are added, removed or reordered. `taken` is updated.
    """
    content = json.dumps([question, list(options)], ensure_ascii=False).encode()
    name = "".join(c if c.isprintable() else "?" for c in cluster[:80])
    return unique_id(f"{name}-{hashlib.sha256(content).hexdigest()[:8]}", taken)


def unique_id(wanted: str, taken: set[str]) -> str:
    """The id, with -2, -3 ... when it is taken. `taken` is updated."""
    unique, repeat = wanted, 1
    while unique in taken:
        repeat += 1
        unique = f"{wanted}-{repeat}"
    taken.add(unique)
    return unique


def field(row: Mapping[str, Any], *names: str) -> Any:
    """The first of the named fields that the row has, or None."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def text(row: Mapping[str, Any], *names: str) -> str:
    """`field` as stripped text, empty when absent."""
    value = field(row, *names)
    return "" if value is None else well_formed(str(value)).strip()


def options(value: Any) -> tuple[str, ...]:
    """Options from a list, an array, a mapping of letter to text, or lines of text (also the text of a
    JSON list); empty for anything else."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str) and value.strip().startswith("["):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, Mapping):
        value = [f"{letter}. {option}" for letter, option in value.items()]
    elif isinstance(value, str):
        value = [line.strip() for line in value.splitlines() if line.strip()]
    if not isinstance(value, list | tuple):
        return ()
    return tuple("" if option is None else well_formed(str(option)) for option in value)


def few(names: Iterable[str], shown: int = 5) -> str:
    """The first names, and how many more there are."""
    ordered = sorted(names)
    rest = f" and {len(ordered) - shown} more" if len(ordered) > shown else ""
    return ", ".join(ordered[:shown]) + rest


def require(table: Sequence[Any], path: Path, names: Sequence[str]) -> None:
    """Raises DataError naming the columns that were found when no row has the needed ones."""
    columns = {str(key) for row in table[:100] if isinstance(row, Mapping) for key in row}
    missing = [name for name in names if name not in columns]
    if not table:
        raise DataError(f"{path}: the file holds no rows; fetch the data set again")
    if missing:
        raise DataError(
            f"{path}: expected the columns {', '.join(names)}, found {', '.join(sorted(columns))}"
        )


def no_gold_notes(samples: Sequence[Sample]) -> list[str]:
    """Rows that can be asked but not judged, named."""
    ids = [sample.id for sample in samples if sample.gold is None and sample.problem is None]
    if not ids:
        return []
    return [f"{len(ids)} rows have an answer that names none of their options; not asked: {few(ids)}"]


def duplicate_notes(samples: Sequence[Sample]) -> list[str]:
    """Every row counts, as the official scorers count; repeats are named so that nobody is misled."""
    golds: dict[tuple[str, str, tuple[str, ...]], list[str | None]] = defaultdict(list)
    for sample in samples:
        if sample.problem is None:
            golds[sample.cluster, sample.question, sample.options].append(sample.gold)
    repeated = {key: letters for key, letters in golds.items() if len(letters) > 1}
    if not repeated:
        return []
    extra = sum(len(letters) - 1 for letters in repeated.values())
    named = few({cluster for cluster, _, _ in repeated})
    notes = [f"{extra} rows repeat another row; each is asked and counted (videos: {named})"]
    conflicting = {cluster for (cluster, _, _), letters in repeated.items() if len(set(letters)) > 1}
    if conflicting:
        notes.append(
            f"questions repeated with different answers, at most one of them right: {few(conflicting)}"
        )
    return notes
