"""Video-MME's files: the question table, the videos and subtitles, and how a row becomes a Sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omnieval.benchmarks import rows
from omnieval.benchmarks.hub import snapshot_of
from omnieval.benchmarks.media_index import VIDEO_SUFFIXES, MediaIndex
from omnieval.benchmarks.row_files import read_all
from omnieval.errors import DataError
from omnieval.parsing import gold_letter
from omnieval.types import Failure, Sample
from omnieval.wording import counted

_COLUMNS = (
    "video_id", "duration", "domain", "sub_category", "videoID", "video_ID", "video_name", "question_id",
    "task_type", "question", "options", "candidates", "answer",
)  # fmt: skip
_GROUPS = {
    "duration": "duration",
    "domain": "domain",
    "sub category": "sub_category",
    "task type": "task_type",
}


def locate(data: Path) -> tuple[Path, list[Path]]:
    """(root folder, question files). `data` is the folder, or a question file in it.

    Raises DataError with what was found instead.
    """
    if data.is_file():
        return (data.parent.parent if data.parent.name == "videomme" else data.parent), [data]
    if not data.is_dir():
        raise DataError(f"{data}: no such folder; give the folder with the parquet and the videos")
    root = snapshot_of(data)
    for folder in (root / "videomme", root, root / "data"):
        files = sorted(folder.glob("test*.parquet")) or sorted(folder.glob("*.parquet"))
        if files:
            return root, files
    found = ", ".join(sorted(path.name for path in root.iterdir())[:8]) or "nothing"
    raise DataError(
        f"{root}: expected videomme/test-00000-of-00001.parquet, found {found}; name the folder that holds "
        "it, or fetch it: omnieval data pull video-mme --dst DIR"
    )


def read_table(tables: Sequence[Path]) -> list[Any]:
    """The rows of all question files. Raises DataError where they are no tables of such questions."""
    table = read_all(tables, columns=_COLUMNS)
    rows.require(table, tables[0], ("question", "options", "answer"))
    return table


class VideoMMEFiles:
    """The videos and subtitles of a root folder, in any of the layouts in use."""

    def __init__(self, root: Path, *, with_subtitles: bool) -> None:
        self.videos = MediaIndex(root, VIDEO_SUFFIXES)
        self.subtitles = MediaIndex(root, {".srt"}, archives="subtitle*") if with_subtitles else None

    def media(self, video: str) -> dict[str, Path]:
        """Paths by role of one video, as far as they are there."""
        found = {
            "video": self.videos.find(video),
            "subtitles": self.subtitles.find(video) if self.subtitles else None,
        }
        return {role: path for role, path in found.items() if path is not None}


def sample_of(row: Any, number: int, files: VideoMMEFiles, taken: set[str]) -> Sample:
    """The sample of one row; a row that cannot be asked carries its problem."""
    if not isinstance(row, Mapping):
        row = {"": row}
    video = rows.text(row, "videoID", "video_ID", "video_name") or rows.text(row, "video_id")
    question = rows.text(row, "question")
    options = rows.options(rows.field(row, "options", "candidates"))
    problem = _problem(number, video, question, options, rows.no_text(row, "question"))
    question_id = rows.text(row, "question_id")
    if question_id.isprintable() and 0 < len(question_id) <= 80:
        sample_id = rows.unique_id(question_id, taken)
    else:
        sample_id = rows.sample_id(video or f"row{number + 1}", question, options, taken)
    return Sample(
        id=sample_id,
        benchmark="video-mme",
        question=question,
        options=options,
        gold=gold_letter(rows.text(row, "answer"), options),
        groups={name: rows.text(row, key) or "unknown" for name, key in _GROUPS.items()},
        cluster=video or f"row{number + 1}",
        media={} if problem else files.media(video),
        row=number,
        problem=problem,
    )


def _problem(
    number: int, video: str, question: str, options: Sequence[str], odd: str | None
) -> Failure | None:
    unsafe = rows.unsafe_name(video)
    if not video:
        what = "has no videoID"
    elif unsafe:
        what = f"has the videoID {video!r}, which {unsafe}"
    elif not question:
        what = f"(video {video}) has no question"
    elif odd:
        what = f"(video {video}) has a question of the type {odd}, expected text"
    elif wrong := rows.options_problem(options):
        what = f"(video {video}) {wrong}"
    else:
        return None
    return Failure("data", f"row {number + 1} of the question table {what}", hint="fetch the data set again")


def data_notes(samples: Sequence[Sample], files: VideoMMEFiles, given_ids: Sequence[str]) -> list[str]:
    """What a reader must know of the data: missing videos and subtitles, repeats, unusable archives."""
    notes = [*files.videos.notes, *(files.subtitles.notes if files.subtitles else [])]
    asked = [sample for sample in samples if sample.problem is None]
    media = {sample.cluster: sample.media for sample in asked}
    missing = sorted(name for name, found in media.items() if "video" not in found)
    if missing:
        questions = sum("video" not in sample.media for sample in asked)
        fail = counted(questions, "question fails", "questions fail")
        notes.append(_without("file", missing, len(media), f" ({fail})"))
    if files.subtitles is not None:
        without = sorted(name for name, found in media.items() if "subtitles" not in found)
        if without:
            notes.append(_without("subtitles", without, len(media)))
    for what, index in (("videos", files.videos), ("subtitles", files.subtitles)):
        twice = sorted(name for name in media if index is not None and name in index.repeated)
        if twice:
            notes.append(f"{what} with several files, of which the first by path is used: {rows.few(twice)}")
    repeated = sorted(name for name, count in Counter(given_ids).items() if count > 1 and name)
    if repeated:
        notes.append(f"question ids that come more than once, each asked and counted: {rows.few(repeated)}")
    return [
        *notes,
        *rows.duplicate_notes(samples),
        *rows.same_option_notes(samples),
        *rows.no_gold_notes(samples),
    ]


def _without(what: str, names: Sequence[str], videos: int, more: str = "") -> str:
    have = "has" if len(names) == 1 else "have"
    return f"{len(names)} of {videos} videos {have} no {what}{more}, for example {rows.few(names)}"
