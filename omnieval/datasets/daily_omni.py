"""Daily-Omni from parquet, as the ModelScope release has it, to the official layout: qa.json and Videos.

Source: `data/test-0000{0..9}-of-00010.parquet` with the columns video_id, video and audio (structs of bytes
and path), question, candidates and answer (the whole text of an option). Media repeat on every row of a
video; each is written once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from omnieval.benchmarks import rows
from omnieval.datasets.merge import METADATA, Merged, Row, merge, name_of, official_rows, qa_row, repeats
from omnieval.datasets.row_media import MEDIA, RowMedia, file_of, names_files
from omnieval.datasets.shards import Shard, complete_shards
from omnieval.datasets.target import Target, WriteBehind
from omnieval.errors import ConfigError, MediaError
from omnieval.media.probe import video_facts
from omnieval.parsing import gold_letter
from omnieval.wording import counted

COLUMNS = {
    "video_id": "text",
    "video": "media",
    "audio": "media",
    "question": "text",
    "candidates": "texts",
    "answer": "text",
}
_QA = "qa.json"
_TEXTS = {*COLUMNS, *METADATA} - set(MEDIA)
_DURATIONS_S = (30, 60)
MAX_MEMORY = 10**9

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Converted:
    """What a conversion came to. rows: of the question file that was written, restored ones among them. The
    lists name rows by video and question, or videos by id."""

    folder: Path
    rows: int
    videos: int
    files_written: int
    files_kept: int
    bytes_written: int
    restored: Sequence[str] = ()
    lost: Sequence[str] = ()
    without_match: Sequence[str] = ()
    differing: Sequence[str] = ()
    without_question: Sequence[str] = ()
    without_options: Sequence[str] = ()
    without_letter: Sequence[str] = ()
    repeated: Sequence[str] = ()
    conflicting: Sequence[str] = ()
    unsafe_ids: Sequence[str] = ()
    other_media: Sequence[str] = ()
    without_video: Sequence[str] = ()
    without_audio: Sequence[str] = ()
    without_duration: Sequence[str] = ()

    def summary(self) -> str:
        """Counts, in a sentence."""
        return (
            f"{self.folder}: {counted(self.rows, 'row', 'rows')}, {counted(self.videos, 'video', 'videos')}; "
            f"{self.files_written} media files written ({self.bytes_written / 1e6:.1f} MB), "
            f"{self.files_kept} there before; {len(self.without_letter)} without a letter, "
            f"{len(self.without_match)} without a match, {len(self.repeated)} repeated"
            + (f"; from the official file alone: {rows.few(self.restored)}" if self.restored else "")
        )

    def problems(self) -> list[str]:
        """What makes the result less than the whole data set, one sentence each; `--strict` fails on any."""
        said = (
            (self.without_question, "row without a question", "rows without a question"),
            (self.without_options, "row without usable options", "rows without usable options"),
            (self.without_letter, "row without an answer letter", "rows without an answer letter"),
            (self.without_match, "row that the official file lacks", "rows that the official file lacks"),
            (self.lost, "official row whose video is not there", "official rows whose video is not there"),
            (
                self.differing,
                "row that the official file answers otherwise",
                "rows that it answers otherwise",
            ),
            (self.repeated, "row that repeats another", "rows that repeat another"),
            (self.conflicting, "question with several answers", "questions with several answers"),
            (self.unsafe_ids, "video_id that cannot name a file", "video_ids that cannot name a file"),
            (
                self.other_media,
                "video with other bytes on a later row, of which the first are kept",
                "videos with other bytes on a later row, of which the first are kept",
            ),
            (self.without_video, "video without bytes", "videos without bytes"),
            (self.without_audio, "video without a sound of its own", "videos without a sound of their own"),
            (self.without_duration, "video without a duration", "videos without a duration"),
        )
        return [f"{counted(len(names), one, many)}: {rows.few(names)}" for names, one, many in said if names]


def convert_daily_omni(
    src: Path,
    dst: Path,
    *,
    official_qa: Path | None = None,
    probe_duration: bool = False,
    split: str = "test",
    max_memory: int = MAX_MEMORY,
    notify: Notify = lambda _: None,
) -> Converted:
    """Write `qa.json` and `Videos/{id}/{id}_video.mp4`, `_audio.wav` into dst.

    A second call writes only what is missing or was cut; qa.json comes last, so that it stands for a whole
    conversion. official_qa: the official question file; its rows count where both have one. probe_duration:
    measure the durations that no file tells, as the nearer of 30 and 60 s. max_memory: bytes above an idle
    process that reading a shard may take; nothing is converted when one would take more. notify: is told what
    goes on.
    Raises DataError naming file, row group or columns, StorageError naming the file that cannot be written,
    ConfigError where official_qa would be overwritten.
    """
    shards = complete_shards(src, split)
    official = None if official_qa is None else official_rows(official_qa)
    if official_qa is not None and official_qa.resolve() == (dst / _QA).resolve():
        raise ConfigError(f"{official_qa}: would be overwritten by the conversion; put it elsewhere")
    for path in shards:
        with Shard(path) as shard:
            shard.require(COLUMNS)
            shard.require_memory(tuple(MEDIA), max_memory)
    with Target(dst) as target:
        media = RowMedia(target, _QA)
        release: list[Row] = []
        places = _places(official_qa, official) if official_qa and official else {}
        for number, path in enumerate(shards, 1):
            with Shard(path) as shard, WriteBehind(target) as writer:
                columns = [name for name in shard.names() if name in _TEXTS]
                part: list[Row] = []
                for group in range(shard.groups):
                    table = shard.rows(group, columns)
                    media.take(shard, group, [rows.text(row, "video_id") for row in table], writer)
                    part += [qa_row(row) for row in table]
            release += part
            places |= _places(path, part)
            done = f"{len(release)} rows, {len(target.written)} files written"
            notify(f"{number}/{len(shards)} {path.name}: {done}")
        if not release:
            raise rows.no_rows(shards[0])
        merged = Merged(release) if official is None else merge(release, official, media.present["video"])
        unknown = _measure(merged.rows, dst) if probe_duration else []
        text = json.dumps(merged.rows, ensure_ascii=False, indent=1)
        target.put(_QA, [text.encode()], "conversion", flush=True)
    return _result(target, media, merged, unknown, places)


def _measure(table: Sequence[Row], dst: Path) -> list[str]:
    """Give every row without a duration that of its video; the videos that cannot be measured."""
    durations: dict[str, str | None] = {}
    for row in table:
        if rows.text(row, "video_duration"):
            continue
        video = rows.text(row, "video_id")
        if video not in durations:
            durations[video] = _nominal_duration(dst, video) if names_files(video) else None
        if durations[video] is not None:
            row["video_duration"] = durations[video]
    return [video for video, duration in durations.items() if duration is None]


def _nominal_duration(dst: Path, video: str) -> str | None:
    try:
        measured_s = video_facts(dst / file_of(video, "video")).duration_s
    except MediaError:
        return None
    return f"{min(_DURATIONS_S, key=lambda nominal: abs(nominal - measured_s))}s"


def _places(path: Path, table: Sequence[Row]) -> dict[int, str]:
    """Where rows stand, by their identity, which merging keeps."""
    return {id(row): f"row {number} of {path.name}" for number, row in enumerate(table, 1)}


def _result(
    target: Target, media: RowMedia, merged: Merged, unknown: Sequence[str], places: Mapping[int, str]
) -> Converted:
    repeated, conflicting = repeats(merged.rows)
    safe = [i for i in media.ids if names_files(i)]
    files = [name for name in target.written if name != _QA]
    return Converted(
        folder=target.folder,
        rows=len(merged.rows),
        videos=len(media.ids),
        files_written=len(files),
        files_kept=len(target.kept),
        bytes_written=target.bytes_written,
        restored=merged.restored,
        lost=merged.lost,
        without_match=merged.unmatched,
        differing=merged.differing,
        without_question=[name_of(row) for row in merged.rows if not rows.text(row, "Question")],
        without_options=[f"{name_of(r)} ({places[id(r)]})" for r in merged.rows if not _has_options(r)],
        without_letter=[name_of(r) for r in merged.rows if _has_options(r) and _letter(r) is None],
        repeated=repeated,
        conflicting=conflicting,
        unsafe_ids=[i for i in media.ids if not names_files(i)],
        other_media=list(media.other),
        without_video=[i for i in safe if i not in media.present["video"]],
        without_audio=[i for i in safe if i not in media.present["audio"]],
        without_duration=unknown,
    )


def _has_options(row: Row) -> bool:
    return rows.options_problem(rows.options(row.get("Choice"))) is None


def _letter(row: Row) -> str | None:
    return gold_letter(rows.text(row, "Answer"), rows.options(row.get("Choice")))
