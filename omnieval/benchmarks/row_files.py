"""Rows from the file types that data sets come in: parquet, JSON, JSON lines, CSV and TSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from omnieval.benchmarks import rows
from omnieval.errors import ConfigError, DataError

SUFFIXES = (".parquet", ".jsonl", ".json", ".csv", ".tsv")
# Files that stand beside the rows of a hub's data set.
_METADATA = frozenset({"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json"})
# A part of one split, as a hub names it: test-00000-of-00001.parquet, with or without a hash.
_PART = re.compile(r"(.+)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.parquet")
# One field of a CSV may be long (a question with its context), but not without end.
_LONGEST_FIELD = 2**24
_TAB = "\t"
# Key of the fields that go beyond the header of a CSV; no column is called so.
_MORE = "\0more"


def row_files(folder: Path, split: str | None) -> list[Path]:
    """The files of a folder that hold the rows: lying in it, or in its folder `data`; the parts of one split
    where they are named as a hub names them. What tells of the data set and holds no rows is passed over.

    split: which one; None takes `test`, or the only one. Raises DataError, ConfigError when the files are
    several.
    """
    for place in (folder, folder / "data"):
        files = sorted(
            path
            for path in place.glob("*")
            if path.suffix.lower() in SUFFIXES
            and not (path.name in _METADATA or path.name.startswith("."))
            and path.is_file()
        )
        if files and all(_PART.fullmatch(path.name) for path in files):
            files = _of_split(folder, files, split)
        elif files and split is not None:
            names = ", ".join(path.name for path in files[:8])
            raise no_splits(split, names)
        if len(files) > 1 and {path.suffix.lower() for path in files} != {".parquet"}:
            names = ", ".join(path.name for path in files[:8])
            raise ConfigError(f"{folder}: holds several files ({names}); name one with --data")
        if files:
            return files
    raise DataError(
        f"{folder}: no file with rows in it or in its folder data; expected one of {', '.join(SUFFIXES)}; "
        "name it with --data"
    )


def no_splits(split: str, what: str) -> ConfigError:
    """A split was asked for of rows that have none."""
    return ConfigError(f"split={split!r} was asked for, but {what} has no splits; set split=null")


def _of_split(folder: Path, files: Sequence[Path], split: str | None) -> list[Path]:
    by_split: dict[str, list[Path]] = {}
    for path in files:
        match = _PART.fullmatch(path.name)
        by_split.setdefault(match.group(1) if match else "", []).append(path)
    if split is None:
        split = "test" if "test" in by_split else next(iter(by_split)) if len(by_split) == 1 else None
    if split not in by_split:
        wanted = f"no split {split!r}" if split else "several splits"
        raise ConfigError(f"{folder}: {wanted}; set split to one of {', '.join(by_split)}")
    return by_split[split]


def read_rows(path: Path, *, columns: Sequence[str] | None = None) -> list[Any]:
    """All rows of a file, each usually a mapping, in the file's order.

    columns: of a parquet file, the ones to read, as far as it has them (so that embedded media stay
    unread); None for all. Raises DataError naming the file, and line where there is one.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path, columns)
    if suffix == ".json":
        content = rows.listed_entries(rows.read_json(path))
        if isinstance(content, dict):
            lists = [value for value in content.values() if isinstance(value, list)]
            content = lists[0] if len(lists) == 1 else content
        if not isinstance(content, list):
            raise DataError(
                f"{path}: expected a list of rows, found {_kind(content)}; put the rows into a list, or "
                "one a line into a .jsonl file"
            )
        return content
    if suffix == ".jsonl":
        return _json_lines(path)
    if suffix in (".csv", ".tsv"):
        return _csv(path, _TAB if suffix == ".tsv" else ",")
    raise DataError(
        f"{path}: expected one of {', '.join(SUFFIXES)}, found {suffix or 'no suffix'}; "
        "unpack, convert or rename it"
    )


def read_all(paths: Iterable[Path], *, columns: Sequence[str] | None = None) -> list[Any]:
    """The rows of several files, one after the other."""
    return [row for path in paths for row in read_rows(path, columns=columns)]


def _parquet(path: Path, columns: Sequence[str] | None) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            known = file.schema_arrow.names
            _check_columns(path, known)
            wanted = None if columns is None else [name for name in columns if name in known]
            if wanted is not None and not wanted:
                raise DataError(
                    f"{path}: expected columns such as {', '.join(columns or ())}, found {', '.join(known)}; "
                    "name the right file with --data"
                )
            found: list[Any] = file.read(columns=wanted).to_pylist()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path}: cannot be read as parquet: {reason}; fetch it again") from error
    return found


def _json_lines(path: Path) -> list[Any]:
    found = []
    for number, line in enumerate(rows.read_text(path).split("\n"), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"{path}: line {number} is {rows.json_problem(error)}; "
                    "mend the line, or fetch the file again"
                ) from error
    return found


def _check_columns(path: Path, names: Sequence[str]) -> None:
    """Raises DataError for columns of one name, of which nobody could say which one counts."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{path}: several columns are called {', '.join(twice[:5])}; rename all but one")


def _kind(content: Any) -> str:
    """What a JSON file holds instead of a list."""
    if not isinstance(content, dict):
        return type(content).__name__
    lists = [str(key) for key, value in content.items() if isinstance(value, list)]
    return f"several lists ({', '.join(lists[:8])})" if lists else "a mapping without one"


def _csv(path: Path, delimiter: str) -> list[Any]:
    text = rows.read_text(path)
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, restkey=_MORE)
    found: list[Any] = []
    try:
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        _check_columns(path, [name for name in reader.fieldnames if name])
        for row in reader:
            more = row.pop(_MORE, None)
            if more and any(field.strip() for field in more):
                raise DataError(
                    f"{path}: line {reader.line_num} has more fields than the first line names; put fields "
                    f"that hold {'a tab' if delimiter == _TAB else 'a comma'} between quotation marks"
                )
            found.append(row)
    except csv.Error as error:
        raise DataError(f"{path}: not valid CSV after line {reader.line_num}: {error}; mend it") from error
    return found
