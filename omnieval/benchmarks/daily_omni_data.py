"""Daily-Omni's files: where they lie, and how a row of `qa.json` becomes a Sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from omnieval.benchmarks import rows
from omnieval.benchmarks.hub import snapshot_of
from omnieval.errors import ConfigError, DataError
from omnieval.media.content_key import content_keys
from omnieval.media.source import is_archive, is_there, listed
from omnieval.parsing import gold_letter
from omnieval.types import Failure, Sample
from omnieval.wording import as_typed, counted, suggest

_FOLDERS = ("Videos", "videos")
_ARCHIVES = ("Videos.tar", "videos.tar", "Videos.tar.gz", "Videos.tgz", "Videos.zip")


def locate(data: Path) -> tuple[Path, Path]:
    """(question file, videos folder). `data` is the data set's folder or the question file itself.

    A folder of the hub's cache stands for its newest snapshot. The videos folder may lie in an archive
    beside the question file (see `omnieval.media.source`); a plain one comes first. Raises DataError with
    what was found instead.
    """
    if data.is_file():
        if is_archive(data):
            raise DataError(f"{data}: an archive; --data names the folder that holds it and qa.json")
        qa_file: Path | None = data
        root = data.parent
    else:
        if not data.is_dir():
            raise DataError(f"{data}: no such folder; give the folder with qa.json and Videos/")
        root = snapshot_of(data)
        qa_file = rows.first_file(root / name for name in ("qa.json", "QA.json"))
    if qa_file is None:
        found = ", ".join(sorted(path.name for path in root.iterdir())[:8]) or "nothing"
        raise DataError(f"{root}: expected qa.json and a folder Videos, found {found}{_hint(root)}")
    return qa_file, _videos(root)


def _hint(root: Path) -> str:
    if not any(any(place.glob("*.parquet")) for place in (root, root / "data")):
        return "; get them with omnieval data pull daily-omni, then omnieval data convert daily-omni"
    command = f"omnieval data convert daily-omni --src {as_typed(root)} --dst DIR"
    return f"; make them of these parquet files: {command}"


def _videos(root: Path) -> Path:
    plain = next((root / name for name in _FOLDERS if (root / name).is_dir()), None)
    if plain is not None:
        return plain
    archive = archive_in(root)
    if archive is not None:
        tops = {PurePosixPath(member.name).parts[0] for member in listed(archive)}
        return next((archive / name for name in _FOLDERS if name in tops), archive)
    if any(root.glob("*.mp4")):
        return root
    raise DataError(f"{root}: the folder Videos is missing; fetch it, or Videos.tar, which is read as it is")


def archive_in(root: Path) -> Path | None:
    """The archive of all videos in a data set's folder, or None."""
    return rows.first_file(root / name for name in _ARCHIVES)


def table_of(content: Any, path: Path, split: str | None) -> tuple[list[Any], list[str]]:
    """All rows of the question file, and notes; a dict holds the rows by name, or splits of them."""
    notes: list[str] = []
    content = rows.listed_entries(content)
    if isinstance(content, dict):
        content = {name: rows.listed_entries(part) for name, part in content.items()}
        if not content or not all(isinstance(part, list) for part in content.values()):
            raise DataError(
                f"{path}: expected a list of rows, or splits that are lists of rows; fetch the file again"
            )
        if split is not None and split not in content:
            raise ConfigError(f"{path}: no split {split!r}{suggest(split, content)}")
        names = [split] if split is not None else list(content)
        if len(names) > 1:
            counts = ", ".join(f"{name} ({len(content[name])})" for name in names)
            notes.append(f"{path.name} has several splits, all are asked: {counts}; choose with split=NAME")
        content = [row for name in names for row in content[name]]
    elif split is not None:
        raise ConfigError(f"{path}: split={split!r} was asked for, but the file is a plain list of rows")
    if not isinstance(content, list):
        raise DataError(
            f"{path}: expected a list of rows, found {type(content).__name__}; fetch the file again"
        )
    if not content:
        raise rows.no_rows(path)
    return content, notes


def sample_of(row: Any, number: int, videos: Path, taken: set[str]) -> Sample:
    if not isinstance(row, Mapping):
        row = {"": row}
    video_id = rows.text(row, "video_id", "video")
    question = rows.text(row, "Question", "question")
    options = rows.options(rows.field(row, "Choice", "choice", "options", "candidates"))
    problem = _row_problem(number, video_id, question, options)
    return Sample(
        id=rows.sample_id(
            video_id if rows.unsafe_name(video_id) is None else f"row{number + 1}", question, options, taken
        ),
        benchmark="daily-omni",
        question=question,
        options=options,
        gold=gold_letter(rows.text(row, "Answer", "answer"), options),
        groups={
            "type": rows.text(row, "Type", "task_type", "type") or "unknown",
            "category": rows.text(row, "video_category", "videoCategory") or "unknown",
            "duration": rows.text(row, "video_duration", "videoDuration") or "unknown",
            "parent category": rows.text(row, "content_parent_category") or "unknown",
            "fine category": rows.text(row, "content_fine_category") or "unknown",
        },
        cluster=video_id or f"row{number + 1}",
        media={} if problem else _media(videos, video_id),
        row=number,
        problem=problem,
    )


def _row_problem(number: int, video_id: str, question: str, options: tuple[str, ...]) -> Failure | None:
    unsafe = rows.unsafe_name(video_id)
    if not video_id:
        what = "has no video_id"
    elif unsafe:
        what = f"has the video_id {video_id!r}, which {unsafe}"
    elif not question:
        what = f"(video {video_id}) has no Question"
    elif wrong := rows.options_problem(options):
        what = f"(video {video_id}) {wrong}"
    else:
        return None
    return Failure(
        "data", f"row {number + 1} of the question file {what}", hint="mend the row or fetch the file again"
    )


def _media(videos: Path, video_id: str) -> dict[str, Path]:
    found = {role: next(filter(is_there, places), None) for role, places in _places(videos, video_id).items()}
    return {role: path for role, path in found.items() if path is not None}


def _places(videos: Path, video_id: str) -> dict[str, tuple[Path, Path]]:
    """Where the files of a video may lie, by role; the first that is there counts."""
    own = videos / video_id
    return {
        "video": (own / f"{video_id}_video.mp4", videos / f"{video_id}.mp4"),
        "audio": (own / f"{video_id}_audio.wav", videos / f"{video_id}.wav"),
    }


def twin_notes(samples: Sequence[Sample], videos: Path) -> list[str]:
    """Videos of which two files with different contents are there, in a folder of their own and flat, as far
    as `omnieval.media.content_key` tells."""
    names = dict.fromkeys(sample.cluster for sample in samples if sample.problem is None)
    twins = [name for name in names if any(map(_differ, _places(videos, name).values()))]
    if not twins:
        return []
    first = twins[0]
    there = counted(len(twins), "video lies", "videos lie")
    return [
        f"{there} there twice with other bytes; those in a folder of their own are used "
        f"(Videos/{first}/{first}_video.mp4 before Videos/{first}.mp4, sounds alike): "
        f"{rows.few(twins)}; take the others away"
    ]


def _differ(places: tuple[Path, Path]) -> bool:
    there = {str(path): path for path in places if is_there(path)}
    return len(there) > 1 and len(set(content_keys(there).values())) > 1


def missing_media_notes(samples: tuple[Sample, ...], input_mode: str) -> list[str]:
    clusters = {sample.cluster: sample.media for sample in samples if sample.problem is None}
    role = "audio" if input_mode == "audio" else "video"
    missing = sorted(name for name, media in clusters.items() if role not in media and "video" not in media)
    silent = [name for name, media in clusters.items() if "audio" not in media and "video" in media]
    notes = []
    if missing:
        have = "has" if len(missing) == 1 else "have"
        notes.append(
            f"{len(missing)} of {len(clusters)} videos {have} no file, for example {rows.few(missing)}"
        )
    if silent and input_mode != "visual":
        have = counted(len(silent), "video has no WAV of its", "videos have no WAV of their")
        notes.append(f"{have} own; the video file's own sound is used")
    return notes
