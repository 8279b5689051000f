"""Reading rows of a data set: files, fields, ids, and what to say about repeats."""

from __future__ import annotations

import ast
import codecs
import contextlib
import hashlib
import json
import os
import string
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omnieval.errors import DataError, MediaError
from omnieval.media.source import read_small_file
from omnieval.parsing import lettered, well_formed
from omnieval.types import Sample
from omnieval.wording import counted

_LONGEST_NAME = 100
_MOST_OPTIONS = len(string.ascii_uppercase)


def read_text(path: Path) -> str:
    """The content of a file, plain or in an archive, in UTF-8, with or without a mark at its beginning, or in
    UTF-16 with one. Raises DataError naming the file when it is missing, empty or in another encoding."""
    try:
        content = read_small_file(path)
        marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8, for example "
            f"with `iconv -f GB18030 -t UTF-8`"
        ) from error
    except MediaError as error:
        raise DataError(str(error)) from error
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
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: {json_problem(error)}; mend it, or fetch the file again") from error


def json_problem(error: ValueError | RecursionError) -> str:
    """Why text cannot be read as JSON, in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg} at column {error.colno})"
    if isinstance(error, RecursionError):
        return "JSON that is nested too deep"
    return "JSON with a number of too many digits"


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


def no_text(row: Mapping[str, Any], *names: str) -> str | None:
    """The type of the first of the named fields that the row has, where it cannot be taken for text."""
    value = field(row, *names)
    return type(value).__name__ if isinstance(value, list | tuple | Mapping | bytes) else None


def options(value: Any) -> tuple[str, ...]:
    """Options from a list, an array, a mapping of letter to text, or lines of text (also the text of a
    list in JSON or Python); empty for anything else."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str) and value.strip().startswith("["):
        value = _written_list(value.strip())
    value = _labelled_pairs(value)
    if isinstance(value, list) and value and all(isinstance(v, tuple) and len(v) == 2 for v in value):
        value = dict(value)  # how a mapping in a parquet file arrives
    if isinstance(value, Mapping):
        value = _by_label(value)
    elif isinstance(value, str):
        value = [line.strip() for line in value.splitlines() if line.strip()]
    if not isinstance(value, list | tuple) or any(
        isinstance(option, list | tuple | Mapping) for option in value
    ):
        return ()
    return tuple("" if option is None else well_formed(str(option)) for option in value)


def options_problem(options: Sequence[str]) -> str | None:
    """What keeps a row with these options from being asked, or None. An empty one is not left out, since the
    letters of those after it would shift."""
    if not 2 <= len(options) <= _MOST_OPTIONS:
        return f"has {counted(len(options), 'option', 'options')}, expected 2 to {_MOST_OPTIONS}"
    return None if all(option.strip() for option in options) else "has an empty option"


def _written_list(value: str) -> Any:
    """The list that a text holds, or None."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(value)
    with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.literal_eval(value)
    return None


def _labelled_pairs(value: Any) -> Any:
    """`{"label": [...], "text": [...]}` and `[{"label": ..., "text": ...}, ...]` as label -> text."""
    if isinstance(value, Mapping) and set(value) == {"label", "text"}:
        labels, texts = value["label"], value["text"]
        if isinstance(labels, list) and isinstance(texts, list) and len(labels) == len(texts):
            return dict(zip(map(str, labels), texts, strict=True))
    if (
        isinstance(value, list)
        and value
        and all(isinstance(v, Mapping) and {"label", "text"} <= set(v) for v in value)
    ):
        return {str(option["label"]): option["text"] for option in value}
    return value


def _by_label(value: Mapping[Any, Any]) -> list[str | None]:
    """The options of a mapping whose keys are A, B, C ... (in any order; those without text at the end are
    none); nothing where the keys are others."""
    by_letter = {str(key).strip().upper(): option for key, option in value.items()}
    letters = sorted(by_letter)
    if letters != list(string.ascii_uppercase[: len(letters)]):
        return []
    while letters and by_letter[letters[-1]] in (None, ""):
        letters.pop()
    if any(isinstance(option, list | tuple | Mapping) for option in by_letter.values()):
        return []
    return [None if by_letter[x] is None else f"{x}. {by_letter[x]}" for x in letters]


def few(names: Iterable[str], shown: int = 5) -> str:
    """The first names, and how many more there are."""
    ordered = sorted(
        name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names
    )
    rest = f" and {len(ordered) - shown} more" if len(ordered) > shown else ""
    return ", ".join(ordered[:shown]) + rest


def listed_entries(content: Any) -> Any:
    """The rows of a mapping of rows (`{"Entry_1": {...}, ...}`) as a list, in order; all else as it is."""
    entries = list(content.values()) if isinstance(content, dict) else []
    return entries if entries and all(map(_is_row, entries)) else content


def _is_row(value: Any) -> bool:
    """A mapping that holds more than mappings and lists: not a split of rows, nor settings by group."""
    return isinstance(value, dict) and any(isinstance(field, str | int | float) for field in value.values())


def require(table: Sequence[Any], path: Path, names: Sequence[str]) -> None:
    """Raises DataError naming the columns that were found when no row has the needed ones."""
    columns = {str(key) for row in table[:100] if isinstance(row, Mapping) for key in row}
    missing = [name for name in names if name not in columns]
    if not table:
        raise no_rows(path)
    if missing:
        raise DataError(
            f"{path}: expected the columns {', '.join(names)}, found {', '.join(sorted(columns)) or 'none'}; "
            "fetch the data set again"
        )


def no_rows(path: Path) -> DataError:
    """What to say of a file without rows."""
    return DataError(f"{path}: the file holds no rows; fetch the data set again, or name another with --data")


def no_gold_notes(samples: Sequence[Sample]) -> list[str]:
    """Rows that can be asked but not judged, named."""
    ids = [sample.id for sample in samples if sample.gold is None and sample.problem is None]
    if not ids:
        return []
    what = counted(
        len(ids), "row has an answer that names none of its", "rows have an answer that names none of their"
    )
    return [f"{what} options; not asked: {few(ids)}"]


def same_option_notes(samples: Sequence[Sample]) -> list[str]:
    """Questions of which two options say the same, so that more than one letter may be right."""
    ids = [
        sample.id
        for sample in samples
        if sample.problem is None and len(set(texts := [*lettered(sample.options).values()])) < len(texts)
    ]
    if not ids:
        return []
    what = counted(len(ids), "row has options of the same text", "rows have options of the same text")
    return [f"{what}, of which only the letter of the answer counts as right: {few(ids)}"]


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
    repeats = counted(extra, "row repeats", "rows repeat")
    notes = [f"{repeats} another row; each is asked and counted (for example {named})"]
    conflicting = {cluster for (cluster, _, _), letters in repeated.items() if len(set(letters)) > 1}
    if conflicting:
        notes.append(
            f"questions repeated with different answers, at most one of them right: {few(conflicting)}"
        )
    return notes
