"""All that is known of one sample: its records, its request and the media files that may be served."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from omnieval.benchmarks.base import Benchmark
from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import RunConfig
from omnieval.errors import OmnievalError
from omnieval.media.cache import MediaCache, users_cache_dir
from omnieval.media.prepare import carried_file, find_prepared
from omnieval.media.source import archive_of, archived, begin_anew
from omnieval.runlog import PlannedSample, Run
from omnieval.runlog.store import RESPONSES, SAMPLES, SCORES
from omnieval.settings import reconfigure
from omnieval.types import MediaPlan, PreparedMedia, Request, Response, Score
from omnieval.view.index import line_at

# What a browser may be given, by suffix; nothing else leaves a data set's folder.
_MIMES = {
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp",
    ".wav": "audio/wav", ".mp3": "audio/mpeg", ".flac": "audio/flac", ".ogg": "audio/ogg",
    ".m4a": "audio/mp4", ".opus": "audio/ogg", ".aac": "audio/aac",
    ".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime",
    ".mkv": "video/x-matroska",
}  # fmt: skip


@dataclass(frozen=True)
class MediaFile:
    """One file that may be served. role: frame, segment, sound, answer, try, or of the sample. packed: it
    lies in an archive."""

    role: str
    path: Path
    mime: str
    timestamp: float | None = None
    packed: bool = False

    @property
    def kind(self) -> str:
        return self.mime.partition("/")[0]


@dataclass(frozen=True)
class Material:
    """One sample. files: by position, which is their id in URLs. plan, config: None where they cannot be made
    anew. remarks: why something is not shown."""

    planned: PlannedSample
    score: Score | None
    tries: tuple[Response, ...]
    files: tuple[MediaFile, ...]
    request: Request | None
    plan: MediaPlan | None
    prepared: PreparedMedia | None
    config: RunConfig | None
    remarks: tuple[str, ...]


def material(run: Run, index: sqlite3.Connection, n: int) -> Material | None:
    """What is known of the sample in row n of the index; None where its record is gone."""
    begin_anew()  # a viewer outlives archives: one that was replaced is read as it is now
    row = index.execute("SELECT id, sample_at, score_at FROM sample WHERE n = ?", (n,)).fetchone()
    planned = None if row is None else line_at(run.directory / SAMPLES, PlannedSample, row["sample_at"])
    if row is None or planned is None or planned.sample.id != row["id"]:
        return None
    places = index.execute("SELECT at FROM tried WHERE id = ? ORDER BY at", (row["id"],))
    tries = tuple(
        found
        for (at,) in places
        if (found := line_at(run.directory / RESPONSES, Response, at)) is not None
        and found.sample_id == row["id"]
    )
    score = line_at(run.directory / SCORES, Score, row["score_at"])
    if score is not None and score.sample_id != row["id"]:
        score = None
    remarks: list[str] = []
    config: RunConfig | None = None
    plan: MediaPlan | None = None
    prepared: PreparedMedia | None = None
    request: Request | None = None
    try:
        config = reconfigure(run.directory, [])
        benchmark: Benchmark = BENCHMARKS.load(config.benchmark)(config)
        plan, prepared, request = _asked(benchmark, config, planned)
        if plan is not None and prepared is None:
            remarks.append("The prepared media are not in the cache of this machine.")
    except OmnievalError as error:
        remarks.append(f"The request cannot be made anew here: {error}")
    except Exception as error:  # noqa: BLE001 - a run from elsewhere may be anything; the rest is shown
        remarks.append(f"The request cannot be made anew here: {type(error).__name__}: {error}")
    files = _files(run, planned, tries, prepared, remarks)
    return Material(planned, score, tries, files, request, plan, prepared, config, tuple(remarks))


def cache_of(config: RunConfig | None) -> MediaCache:
    """The media cache of a run where this machine has it, else this machine's own. Raises StorageError."""
    named = config.cache_dir if config is not None else None
    return _cache_at(named if named is not None and named.is_dir() else users_cache_dir())


@lru_cache(maxsize=16)
def _cache_at(root: Path) -> MediaCache:
    """One for all requests, so that each entry is hashed once."""
    return MediaCache(root, tidy=False)


def plain(file: MediaFile, config: RunConfig | None) -> Path:
    """A file to send; of one that lies in an archive a copy in the cache. Raises MediaError, StorageError."""
    return carried_file(file.path, cache_of(config)) if file.packed else file.path


def _asked(
    benchmark: Benchmark, config: RunConfig, planned: PlannedSample
) -> tuple[MediaPlan | None, PreparedMedia | None, Request | None]:
    plan = benchmark.plan(planned.sample)
    if plan is None or not (plan.frames or plan.whole_audio or plan.whole_video):
        return None, PreparedMedia(), benchmark.pack(planned.sample, PreparedMedia())
    prepared = find_prepared(plan, cache_of(config))
    return plan, prepared, None if prepared is None else benchmark.pack(planned.sample, prepared)


def _files(
    run: Run,
    planned: PlannedSample,
    tries: tuple[Response, ...],
    prepared: PreparedMedia | None,
    remarks: list[str],
) -> tuple[MediaFile, ...]:
    files = []
    if prepared is not None:
        for role, parts in (
            ("frame", prepared.frames), ("stacked", prepared.stacked), ("segment", prepared.segments),
            ("sound", (prepared.audio,)), ("video", (prepared.video,)),
        ):  # fmt: skip
            files += [MediaFile(role, p.path, p.mime, p.timestamp) for p in parts if p is not None]
    for number, response in enumerate(tries):
        name = response.audio.file if response.audio is not None else None
        if name:
            role = "answer" if number == len(tries) - 1 and response.answered else "try"
            _add(files, role, run.directory / name, run.directory, remarks)
    root = str(run.info["dataset"].get("root") or "")
    for role, path in planned.sample.media.items():
        if root:
            _add(files, role, path, Path(root), remarks)
    return tuple(files)


def _add(files: list[MediaFile], role: str, path: Path, root: Path, remarks: list[str]) -> None:
    """Take a file in where it is one of media inside its root; else say why not."""
    try:
        resolved, home = path.resolve(), root.resolve()
        mime = _MIMES.get(resolved.suffix.lower())
        packed = archive_of(resolved) is not None
        if home == Path(home.anchor) or not resolved.is_relative_to(home):
            remarks.append(f"The {role} lies outside the run's folders and is not shown: {path}")
        elif mime is None:
            remarks.append(f"The {role} is of no kind that a browser plays: {path}")
        elif archived(resolved) is None if packed else not resolved.is_file():
            remarks.append(f"The {role} is not on this machine: {path}")
        else:
            files.append(MediaFile(role, resolved, mime, packed=packed))
    except OmnievalError as error:  # of the archive
        remarks.append(f"The {role} cannot be taken out of its archive: {error}")
    except (OSError, ValueError, RuntimeError) as error:
        remarks.append(f"The {role} cannot be read: {error}")
