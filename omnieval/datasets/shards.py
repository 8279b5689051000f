"""Parquet files of a data set whose rows carry media: their text is read at once, their media one by one."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from omnieval.benchmarks import rows
from omnieval.benchmarks.hub import snapshot_of
from omnieval.datasets.pages import memory_for, pages
from omnieval.errors import ConfigError, DataError
from omnieval.sizes import size_text
from omnieval.wording import counted

# test-00000-of-00010.parquet, with or without a hash.
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})(?:-[0-9a-f]+)?\.parquet")
_BUFFER_BYTES = 2**20
# Beside the pages of a shard: rows, and media on their way to the disk.
_REST_BYTES = 100_000_000
# What a row group may hold to be read with little memory, for the command that cuts larger ones.
_GOOD_GROUP_BYTES = 100_000_000


def complete_shards(data: Path, split: str = "test") -> list[Path]:
    """The parquet files of a folder (or of its folder `data`), in order, or the one that is given.

    split: which one, where the names tell of several. Raises DataError when there is none, or when one of a
    series is missing; ConfigError when the split is not there.
    """
    if data.is_file():
        return [data]
    if not data.is_dir():
        raise DataError(f"{data}: no such folder; --src names the folder with data/test-*.parquet")
    root = snapshot_of(data)
    found = next(
        (files for place in (root / "data", root) if (files := sorted(place.glob("*.parquet")))), None
    )
    if found is None:
        holds = rows.few(path.name for path in root.iterdir()) or "nothing"
        hint = "fetch them: omnieval data pull daily-omni --dst DIR"
        if (root / "qa.json").is_file():
            hint = "it is converted already: give it to a run with --data"
        raise DataError(f"{root}: expected data/test-00000-of-00010.parquet and so on, found {holds}; {hint}")
    named = [_PART.fullmatch(path.name) for path in found]
    if not all(named):
        return found
    by_split: dict[str, list[Path]] = defaultdict(list)
    for path, match in zip(found, named, strict=True):
        assert match is not None
        by_split[match.group(1)].append(path)
    if split not in by_split and len(by_split) > 1:
        raise ConfigError(f"{root}: several splits; set --split to one of {', '.join(by_split)}")
    chosen = by_split.get(split) or next(iter(by_split.values()))
    _require_all(root, chosen)
    return chosen


def _require_all(root: Path, shards: Sequence[Path]) -> None:
    matches = [match for path in shards if (match := _PART.fullmatch(path.name))]
    totals = {int(match.group(3)) for match in matches}
    numbers = [int(match.group(2)) for match in matches]
    if len(totals) > 1 or len(set(numbers)) < len(numbers):
        names = rows.few(path.name for path in shards)
        raise DataError(f"{root}: parts of several versions lie together ({names}); keep those of one")
    total = totals.pop()
    missing = sorted(set(range(total)) - set(numbers))
    if missing:
        first = matches[0].group(1)
        names = rows.few(f"{first}-{number:05}-of-{total:05}.parquet" for number in missing)
        raise DataError(f"{root}: {len(missing)} of {total} files are missing: {names}; fetch them")


@dataclass(frozen=True, slots=True)
class Blob:
    """The bytes of one medium. repeats: whether they are those of the last one before it in its row group."""

    content: memoryview
    repeats: bool


class Shard:
    """One parquet file, open. Use as a context; every damage is a DataError that names the file.

    source: tells this file from another of the same name, without reading it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = ""
        self._file: Any = None

    def __enter__(self) -> Shard:
        import pyarrow.parquet as pq

        with self._damage("it cannot be opened"):
            self.source = f"{self.path.name} {self.path.stat().st_size}"
            # Pages come one after the other: a file is never in memory, nor is a row group of many pages.
            self._file = pq.ParquetFile(
                self.path, pre_buffer=False, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def groups(self) -> int:
        """How many row groups the file has."""
        return int(self._file.metadata.num_row_groups)

    def require(self, expected: Mapping[str, str]) -> None:
        """expected: column -> `text`, `texts` (a list) or `media` (a struct with `bytes`).

        Raises DataError that names the columns that were expected, and those that were found.
        """
        with self._damage("its columns cannot be read"):
            schema = self._file.schema_arrow
        found = {field.name: _kind(field.type) for field in schema}
        if len(found) < len(schema.names) or any(found.get(name) != kind for name, kind in expected.items()):
            wanted = ", ".join(f"{name} ({kind})" for name, kind in expected.items())
            names = ", ".join(f"{field.name} ({field.type})" for field in schema) or "no columns"
            raise DataError(
                f"{self.path}: expected the columns {wanted}; found {names}; fetch the data set again"
            )

    def require_memory(self, columns: Sequence[str], most: int) -> None:
        """Raises DataError when the media columns cannot be read within `most` bytes of memory: however many
        values a page holds, it is decoded as a whole."""
        with self._damage("its page headers cannot be read"), self.path.open("rb") as file:
            for group in range(self.groups):
                about = self._file.metadata.row_group(group)
                for chunk in map(about.column, range(about.num_columns)):
                    if chunk.path_in_schema.removesuffix(".bytes") in columns:
                        starts = (chunk.dictionary_page_offset, chunk.data_page_offset)
                        start = min(offset for offset in starts if offset)
                        needed = memory_for(pages(file, start, chunk.total_compressed_size)) + _REST_BYTES
                        if needed > most:
                            raise self._too_large(group, chunk, needed, most)

    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._file.schema_arrow.names)

    def rows(self, group: int, columns: Sequence[str]) -> list[dict[str, Any]]:
        """The rows of a row group, of which only small columns should be asked for."""
        with self._damage(f"row group {group + 1} of {self.groups} cannot be read"):
            table: list[dict[str, Any]] = self._file.read_row_group(group, columns=list(columns)).to_pylist()
        return table

    def blobs(self, group: int, column: str) -> Iterator[Blob | None]:
        """The bytes of a media column, row by row, as they lie in pyarrow's memory; None where there are
        none. Memory: see `require_memory`.
        """
        last: Any = None
        with self._damage(f"row group {group + 1} of {self.groups}, column {column}, cannot be read"):
            batches = self._file.iter_batches(
                batch_size=1, row_groups=[group], columns=[f"{column}.bytes"], use_threads=False
            )
        while True:
            with self._damage(f"row group {group + 1} of {self.groups}, column {column}, cannot be read"):
                batch = next(batches, None)
            if batch is None:
                return
            (values,) = batch.column(0).flatten()
            content = _only_value(values)
            if content is None:
                yield None
                continue
            repeats = last is not None and content.equals(last)
            last = content
            yield Blob(memoryview(content), repeats)

    def _too_large(self, group: int, chunk: Any, needed: int, most: int) -> DataError:
        size = chunk.total_uncompressed_size
        rows_a_group = max(1, chunk.num_values * _GOOD_GROUP_BYTES // max(1, size))
        cut = (
            "import sys, pyarrow.parquet as pq; "
            f"pq.write_table(pq.read_table(sys.argv[1]), sys.argv[2], row_group_size={rows_a_group})"
        )
        return DataError(
            f"{self.path}: row group {group + 1} of {self.groups} holds {size_text(size)} of "
            f"{chunk.path_in_schema} in such large pages that reading them takes {size_text(needed)} of "
            f"memory, more than {size_text(most)}. Allow more with --max-memory {needed / 1e9 + 0.1:.1f}GB, "
            f"or cut the file into row groups of {counted(rows_a_group, 'row', 'rows')}, which takes memory "
            f"for all of it: python -c {shlex.quote(cut)} {shlex.quote(str(self.path))} NEW.parquet"
        )

    @contextlib.contextmanager
    def _damage(self, what: str) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except FileNotFoundError:
            raise DataError(f"{self.path}: no such file; fetch it again") from None
        except (OSError, pa.ArrowException, ValueError, MemoryError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(f"{self.path}: {what}: {reason}; fetch the file again") from error


def _only_value(array: Any) -> Any:
    """The buffer of the value of an array of one, without copying it as a scalar does; None when it is null
    or empty."""
    _, offsets, content = array.buffers()
    ends = memoryview(offsets).cast("q" if str(array.type) == "large_binary" else "i")
    start, end = ends[array.offset : array.offset + 2]
    return content.slice(start, end - start) if end > start and array.null_count == 0 else None


def _kind(kind: Any) -> str:
    import pyarrow as pa

    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if (types.is_list(kind) or types.is_large_list(kind)) and _kind(kind.value_type) == "text":
        return "texts"
    if types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        inner = kind.field("bytes").type
        return "media" if types.is_binary(inner) or types.is_large_binary(inner) else "another"
    return "another"
