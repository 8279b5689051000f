"""Daily-Omni's official layout to parquet, in the form of the release that `convert_daily_omni` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from omnieval.benchmarks import rows
from omnieval.benchmarks.daily_omni_data import locate, sample_of, table_of
from omnieval.datasets.merge import METADATA
from omnieval.datasets.target import Target, storage_errors
from omnieval.datasets.unpack import Unpacked
from omnieval.errors import DataError
from omnieval.media.archives import read_member
from omnieval.media.source import archived
from omnieval.types import Sample
from omnieval.wording import counted

# Hubs show files of about this size well, and readers hold a row group of it.
SHARD_BYTES, GROUP_BYTES = 500_000_000, 64_000_000

Notify = Callable[[str], None]


def daily_omni_to_parquet(
    src: Path,
    dst: Path,
    *,
    shard_bytes: int = SHARD_BYTES,
    notify: Notify = lambda _: None,
) -> Unpacked:
    """Write `data/test-0000i-of-0000n.parquet` from qa.json and Videos, media on every row of their video,
    and the metadata of the official file in columns of their own.

    shard_bytes: about how much media a file holds. Memory: one row group (64 MB of media, or one row).
    Raises DataError for a row without its video or with an id that cannot name a file, StorageError.
    """
    qa_file, videos = locate(src)
    table, _ = table_of(rows.read_json(qa_file), qa_file, None)
    taken: set[str] = set()
    samples = [sample_of(row, number, videos, taken) for number, row in enumerate(table)]
    for sample in samples:
        if sample.problem is not None or "video" not in sample.media:
            reason = sample.problem.message if sample.problem else f"video {sample.cluster} has no file"
            raise DataError(f"{qa_file}: {reason}; mend the row, or fetch the video, before it is published")
    sizes = [_media_bytes(sample) for sample in samples]
    shards = list(_cut(range(len(table)), sizes, shard_bytes))
    with Target(dst) as target:
        _take_away_others(target, len(shards))
        for number, rows_of_shard in enumerate(shards):
            name = f"data/test-{number:05}-of-{len(shards):05}.parquet"
            groups = _cut(rows_of_shard, sizes, GROUP_BYTES)
            _write(target, name, [[(table[i], samples[i]) for i in group] for group in groups])
            notify(f"{number + 1}/{len(shards)} {name}: {counted(len(rows_of_shard), 'row', 'rows')}")
    return Unpacked(dst, len(table), len(target.written), 0, target.bytes_written)


def _take_away_others(target: Target, shards: int) -> None:
    """Remove the files of an earlier call that had another number of them. Raises DataError for such files of
    other origin, since together they are no release."""
    written = {f"test-{number:05}-of-{shards:05}.parquet" for number in range(shards)}
    for path in sorted((target.folder / "data").glob("*.parquet")):
        if path.name not in written:
            target.withdraw(f"data/{path.name}")
    others = rows.few(p.name for p in (target.folder / "data").glob("*.parquet") if p.name not in written)
    if others:
        raise DataError(f"{target.folder}: holds files of another release ({others}); name another folder")


def _cut(numbers: Sequence[int], sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """The row numbers in runs of at most so many bytes, or of one row."""
    run: list[int] = []
    total = 0
    for number in numbers:
        if run and total + sizes[number] > most:
            yield run
            run, total = [], 0
        run.append(number)
        total += sizes[number]
    if run:
        yield run


def _write(target: Target, name: str, groups: Sequence[Sequence[tuple[Mapping[str, Any], Sample]]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    media = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema(
        [
            ("video_id", pa.string()),
            ("video", media),
            ("audio", media),
            ("question", pa.string()),
            ("candidates", pa.list_(pa.string())),
            ("answer", pa.string()),
            *((column, pa.string()) for column in METADATA),
        ]
    )
    path = target.folder / name
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.part")
        try:
            with pq.ParquetWriter(partial, schema, write_page_checksum=True) as writer:
                for group in groups:
                    contents: dict[Path, bytes] = {}
                    rows_of_group = [_row(row, sample, contents) for row, sample in group]
                    writer.write_table(pa.Table.from_pylist(rows_of_group, schema))
            target.move(name, partial, "publish")
        finally:
            partial.unlink(missing_ok=True)


def _row(row: Mapping[str, Any], sample: Sample, contents: dict[Path, bytes]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "video_id": sample.cluster,
        "question": sample.question,
        "candidates": list(sample.options),
        "answer": rows.text(row, "Answer", "answer"),
        **{column: rows.text(row, column) or None for column in METADATA},
    }
    for role in ("video", "audio"):
        path = sample.media.get(role)
        if path is None:
            found[role] = {"bytes": None, "path": None}
            continue
        if path not in contents:
            contents[path] = _content(path)
        found[role] = {"bytes": contents[path], "path": path.name}
    return found


def _media_bytes(sample: Sample) -> int:
    members = {path: archived(path) for path in sample.media.values()}
    return sum(path.stat().st_size if member is None else member.size for path, member in members.items())


def _content(path: Path) -> bytes:
    member = archived(path)
    return path.read_bytes() if member is None else read_member(member, most_bytes=member.size)
