"""One media plan to the files that a request carries: probe, plan, decode, cut, encode, keep."""

from __future__ import annotations

import contextlib
import importlib.metadata
import mimetypes
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from omnieval.errors import MediaError
from omnieval.media.cache import CachedFile, Entry, EntryWriter, MediaCache, entry_key, source_identity
from omnieval.media.make import make_files, picture_count
from omnieval.media.probe import probe, video_facts
from omnieval.media.source import archived, plain_file
from omnieval.types import MediaPart, MediaPlan, PreparedMedia


def prepare_media(plan: MediaPlan, cache: MediaCache) -> PreparedMedia:
    """The files of a plan, from the cache or newly made. Blocking; safe in several threads at once.

    Files that the request carries as they are (no frames, no cut) are only checked to be media.
    Raises MediaError naming the file, StorageError when the cache cannot be written.
    """
    if not _makes_files(plan):
        _check_sources(plan, cache)
        return PreparedMedia()
    description = _description(plan)
    key = entry_key(description)
    made_with = {"made_with": _versions()}

    def make(writer: EntryWriter) -> None:
        with _plain_sources(plan, cache) as plain:
            make_files(plain, writer)

    return _prepared(cache.get_or_make(key, description | made_with, make))


def carried_file(path: Path, cache: MediaCache) -> Path:
    """The file itself, for a request that carries it as it is; of one that lies in an archive a copy in the
    cache, made once. Raises MediaError, StorageError."""
    if archived(path) is None:
        return path
    description = {"sources": {"file": source_identity(path)}, "settings": {"carried": True}}

    def make(writer: EntryWriter) -> None:
        with cache.scratch() as scratch, plain_file(path, scratch) as plain:
            mime = mimetypes.guess_type(plain.name)[0] or "application/octet-stream"
            writer.add_file("file", plain.suffix, mime, plain)

    return cache.get_or_make(entry_key(description), description, make).files["file"][0].path


def find_prepared(plan: MediaPlan, cache: MediaCache) -> PreparedMedia | None:
    """The files of a plan if the cache holds them; decodes nothing. Raises MediaError for a missing file."""
    entry = cache.get(entry_key(_description(plan))) if _makes_files(plan) else None
    return None if entry is None else _prepared(entry)


def planned_frames(plan: MediaPlan | None) -> int:
    """How many pictures a plan makes, by the file's header alone; of a file in an archive, the most that it
    may make. Raises MediaError."""
    if plan is None or not plan.frames or plan.video is None:
        return 0
    if archived(plan.video) is not None:
        return plan.max_frames * min(plan.stack_frames, 2)
    return picture_count(plan, plan.video)


def _makes_files(plan: MediaPlan) -> bool:
    return plan.frames or plan.whole_audio or _copies_video(plan)


def _copies_video(plan: MediaPlan) -> bool:
    return plan.whole_video and plan.video is not None and archived(plan.video) is not None


@contextlib.contextmanager
def _plain_sources(plan: MediaPlan, cache: MediaCache) -> Iterator[MediaPlan]:
    """The plan with its sources as plain files, taken out of archives for as long as they are needed."""
    with contextlib.ExitStack() as stack:
        plain: dict[str, Path] = {}
        for role, path in (("video", plan.video), ("audio", plan.audio)):
            if path is not None and archived(path) is not None:
                scratch = stack.enter_context(cache.scratch())
                plain[role] = stack.enter_context(plain_file(path, scratch))
        copies = plan.whole_video and "video" in plain
        yield replace(
            plan,
            video=plain.get("video", plan.video),
            audio=plain.get("audio", plan.audio),
            whole_video=copies,
        )


def _prepared(entry: Entry) -> PreparedMedia:
    return PreparedMedia(
        frames=tuple(_part("image", file) for file in entry.files.get("frame", ())),
        segments=tuple(_part("audio", file) for file in entry.files.get("segment", ())),
        stacked=tuple(_part("image", file) for file in entry.files.get("stacked", ())),
        audio=next((_part("audio", file) for file in entry.files.get("sound", ())), None),
        video=next((_part("video", file) for file in entry.files.get("video", ())), None),
        notes=entry.notes,
    )


def _check_sources(plan: MediaPlan, cache: MediaCache) -> None:
    if plan.video is not None:
        with _as_carried(plan.video, cache) as video:
            video_facts(video)
    if plan.audio is not None:
        with _as_carried(plan.audio, cache) as audio:
            if probe(audio).audio is None:
                raise MediaError(f"{audio}: no audio track in it; fetch the file again")


@contextlib.contextmanager
def _as_carried(path: Path, cache: MediaCache) -> Iterator[Path]:
    """The file as a request carries it; errors that name a copy name the file itself."""
    carried = carried_file(path, cache)
    try:
        yield carried
    except MediaError as error:
        raise MediaError(str(error).replace(str(carried), str(path)), kind=error.kind) from error


def _description(plan: MediaPlan) -> dict[str, Any]:
    """Everything that shapes the files: the sources' content and the settings, not the sources' names.

    A setting that came later is left out where it changes nothing, so that older entries stay of use.
    """
    settings = asdict(plan)
    if plan.stack_frames == 1:
        del settings["stack_frames"]
    sources = {role: settings.pop(role) for role in ("video", "audio")}
    identities = {role: source_identity(path) if path else None for role, path in sources.items()}
    return {"sources": identities, "settings": settings}


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("av", "pillow")}


def _part(kind: Any, file: CachedFile) -> MediaPart:
    return MediaPart(kind, file.path, file.mime, file.sha256, file.timestamp)
