"""Rows from the file types that data sets come in: parquet, JSON, JSON lines, CSV and TSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from omnieval.benchmarks import rows
from omnieval.errors import DataError

SUFFIXES = (".parquet", ".jsonl", ".json", ".csv", ".tsv")
# One field of a CSV may be long (a question with its context), but not without end.
_LONGEST_FIELD = 2**24


def read_rows(path: Path, *, columns: Sequence[str] | None = None) -> list[Any]:
    """All rows of a file, each usually a mapping, in the file's order.

    columns: of a parquet file, the ones to read, as far as it has them (so that embedded media stay
    unread); None for all. Raises DataError naming the file, and line where there is one.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path, columns)
    if suffix == ".json":
        content = rows.read_json(path)
        if isinstance(content, dict):
            lists = [value for value in content.values() if isinstance(value, list)]
            content = lists[0] if len(lists) == 1 else content
        if not isinstance(content, list):
            raise DataError(f"{path}: expected a list of rows, found {type(content).__name__}")
        return content
    if suffix == ".jsonl":
        return _json_lines(path)
    if suffix in (".csv", ".tsv"):
        return _csv(path, "\t" if suffix == ".tsv" else ",")
    raise DataError(f"{path}: expected one of {', '.join(SUFFIXES)}, found {suffix or 'no suffix'}")


def read_all(paths: Iterable[Path], *, columns: Sequence[str] | None = None) -> list[Any]:
    """The rows of several files, one after the other."""
    return [row for path in paths for row in read_rows(path, columns=columns)]


def _parquet(path: Path, columns: Sequence[str] | None) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            known = file.schema_arrow.names
            wanted = None if columns is None else [name for name in columns if name in known]
            if wanted is not None and not wanted:
                raise DataError(
                    f"{path}: expected columns such as {', '.join(columns or ())}, found {', '.join(known)}"
                )
            found: list[Any] = file.read(columns=wanted).to_pylist()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path}: cannot be read as parquet: {reason}; fetch it again") from error
    return found


def _json_lines(path: Path) -> list[Any]:
    found = []
    for number, line in enumerate(rows.read_text(path).split("\n"), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise DataError(
                    f"{path}: line {number} is not JSON ({error.msg} at column {error.colno}); "
                    "mend the line, or fetch the file again"
                ) from error
    return found


def _csv(path: Path, delimiter: str) -> list[Any]:
    text = rows.read_text(path)
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        found: list[Any] = [{key: value for key, value in row.items() if key is not None} for row in reader]
    except csv.Error as error:
        raise DataError(f"{path}: not valid CSV after line {reader.line_num}: {error}; mend it") from error
    return found
