"""One media plan to the files that a request carries: probe, plan, decode, cut, encode, keep."""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import mimetypes
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.errors import MediaError
from omnieval.media.audio import read_audio
from omnieval.media.cache import CachedFile, Entry, EntryWriter, MediaCache, entry_key, source_identity
from omnieval.media.decode import decode_frames
from omnieval.media.encode import encode_image, encode_wav, image_suffix_and_mime
from omnieval.media.plan import AudioCut, FramePlan, clip_duration, plan_audio, plan_frames, plan_stack
from omnieval.media.probe import probe, video_facts
from omnieval.media.source import archived, plain_file
from omnieval.media.stack import joined_pictures
from omnieval.media.timeline import shown_times
from omnieval.types import MediaPart, MediaPlan, PreparedMedia

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_WAV = (".wav", "audio/wav")
_VIDEO_MIMES = {
    ".mp4": "video/mp4",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".mov": "video/quicktime",
}


def video_mime(path: Path) -> str:
    """The MIME type of a video by its suffix; mp4 for any other."""
    return _VIDEO_MIMES.get(path.suffix.lower(), "video/mp4")


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
            _make(plain, writer)

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
    facts = video_facts(plan.video)
    planned = _planned(plan, facts.frames, facts.fps, None)
    return len(planned.indices) + sum(map(bool, _stacks(plan, planned, facts.frames, facts.fps, None)))


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


def _make(plan: MediaPlan, writer: EntryWriter) -> None:
    if plan.whole_video and plan.video is not None:
        video_facts(plan.video)
        writer.add_file("video", plan.video.suffix, video_mime(plan.video), plan.video)
    if plan.whole_audio:
        writer.add("sound", *_WAV, encode_wav(read_audio(_sound_source(plan))))
    if plan.frames:
        _make_frames(plan, writer)


def _make_frames(plan: MediaPlan, writer: EntryWriter) -> None:
    if plan.video is None:
        raise MediaError("frames were asked for, but there is no video file")
    facts = video_facts(plan.video)
    times = _real_times(plan.video) if plan.real_times else None
    frames = facts.frames if times is None else len(times)
    planned = _planned(plan, frames, facts.fps, times)
    indices, timestamps = planned.indices, planned.timestamps
    stacks = _stacks(plan, planned, frames, facts.fps, times)
    duration = clip_duration(frames, facts.fps, times)
    if plan.segments:
        sound = read_audio(_sound_source(plan))
        cuts = plan_audio(plan.frame_plan, timestamps=timestamps, duration=duration, samples=len(sound))
        if not cuts:
            raise MediaError(f"{_sound_source(plan)}: too short to cut; fetch the file again")
        if len(cuts) < len(indices):
            lost = len(indices) - len(cuts)
            writer.notes.append(
                f"the sound is shorter than the picture: {lost} frames without sound left out"
            )
            indices, timestamps = indices[: len(cuts)], timestamps[: len(cuts)]
        silent = sum(cut.end <= cut.start for cut in cuts)
        if silent:
            writer.notes.append(f"the sound is shorter than the picture: {silent} frames with silence")
        for timestamp, cut in zip(timestamps, cuts, strict=True):
            writer.add("segment", *_WAV, encode_wav(_cut(sound, cut)), timestamp)
    suffix, mime = image_suffix_and_mime(plan.image)
    damaged = repeated = False
    wanted = [(index, *stack) for index, stack in zip(indices, stacks, strict=False)]
    decoded = decode_frames(plan.video, list(itertools.chain.from_iterable(wanted)))
    for numbers, timestamp in zip(wanted, timestamps, strict=True):
        first, *further = itertools.islice(decoded, len(numbers))
        writer.add("frame", suffix, mime, encode_image(first.rgb, plan.image), timestamp)
        if further:
            joined = joined_pictures([picture.rgb for picture in further])
            writer.add("stacked", suffix, mime, encode_image(joined, plan.image), timestamp)
        damaged = damaged or first.damaged or any(picture.damaged for picture in further)
        repeated = repeated or (further or [first])[-1].number < numbers[-1]
    if repeated:
        writer.notes.append(
            "the video ends before its header says: the last picture stands for the missing one"
        )
    if facts.pixel_aspect != 1.0:
        writer.notes.append(
            f"pixels are {facts.pixel_aspect:.3g} times as wide as high; pictures are as coded, "
            "which is how the references pass them on"
        )
    if damaged:
        writer.notes.append("the decoder concealed errors in some pictures")


def _planned(plan: MediaPlan, frames: int, fps: float, times: list[float] | None) -> FramePlan:
    return plan_frames(plan.frame_plan, frames=frames, fps=fps, max_frames=plan.max_frames, times=times)


def _stacks(
    plan: MediaPlan, planned: FramePlan, frames: int, fps: float, times: list[float] | None
) -> tuple[tuple[int, ...], ...]:
    return plan_stack(
        plan.frame_plan, planned, frames=frames, fps=fps, stack_frames=plan.stack_frames, times=times
    )


def _real_times(path: Path) -> list[float]:
    times = shown_times(path)
    if times is None:
        raise MediaError(f"{path}: does not say when its frames are shown; set frame_times=nominal")
    return times


def _cut(sound: npt.NDArray[np.float32], cut: AudioCut) -> npt.NDArray[np.float32]:
    import numpy as np

    return np.concatenate([sound[cut.start : cut.end], np.zeros(cut.pad, dtype=np.float32)])


def _sound_source(plan: MediaPlan) -> Path:
    source = plan.audio or plan.video
    if source is None:
        raise MediaError("sound was asked for, but there is neither an audio nor a video file")
    return source


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
