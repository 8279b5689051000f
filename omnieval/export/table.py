"""A scored run as CSV or parquet, one row a row of the data set, written a batch at a time."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from omnieval.errors import ConfigError
from omnieval.runlog import Run
from omnieval.runlog.files import replace_file, storage_error, written_in_place
from omnieval.runlog.rows import columns, rows

_BATCH = 2000
# What a spreadsheet takes for the start of a formula, also in full width.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def write_csv(run: Run, path: Path) -> None:
    """CSV by RFC 4180 in UTF-8, with a header.

    Safe to open in a spreadsheet: text that would be taken for a formula gets an apostrophe in front, as
    spreadsheets have it for text; numbers stay numbers. Parquet has the text as it is.
    Raises ScoringError for an unscored run, StorageError.
    """
    replace_file(path, _csv(run))


def write_parquet(run: Run, path: Path) -> None:
    """Parquet with typed columns; each has its meaning as metadata, and the file says of which run it is.

    Raises ScoringError for an unscored run, ConfigError for a device or a pipe, StorageError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if written_in_place(path):
        raise ConfigError(
            f"{path}: parquet cannot be written into a device or a pipe; name a file with --out"
        )
    schema = _schema(run)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for batch in _batches(run):
                writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
        temporary.replace(path)
    except OSError as error:
        raise storage_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _csv(run: Run) -> Iterator[bytes]:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n")
    texts = {column.name for column in columns(run) if column.kind == "text"}
    writer.writerow(column.name for column in columns(run))
    for batch in _batches(run):
        for row in batch:
            writer.writerow(_cell(value, text=name in texts) for name, value in row.items())
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _cell(value: Any, *, text: bool) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if text and value is not None and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _batches(run: Run) -> Iterator[list[dict[str, Any]]]:
    remaining = rows(run)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _schema(run: Run) -> Any:
    import pyarrow as pa

    types = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "truth": pa.bool_()}
    fields = [pa.field(c.name, types[c.kind], metadata={"meaning": c.meaning}) for c in columns(run)]
    return pa.schema(
        fields,
        metadata={
            "omnieval.run_id": run.name,
            "omnieval.recipe_hash": run.info["recipe_hash"],
            "omnieval.version": run.info["versions"]["omnieval"],
            "omnieval.fingerprint": run.info["dataset"]["fingerprint"],
        },
    )
