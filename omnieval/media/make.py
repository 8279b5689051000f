"""The files of a media plan: which frames, decoded, cut, encoded."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.errors import MediaError
from omnieval.media.audio import read_audio
from omnieval.media.cache import EntryWriter
from omnieval.media.decode import decode_frames
from omnieval.media.encode import encode_image, encode_wav, image_suffix_and_mime
from omnieval.media.plan import AudioCut, FramePlan, clip_duration, plan_audio, plan_frames, plan_stack
from omnieval.media.probe import video_facts, video_mime
from omnieval.media.stack import joined_pictures
from omnieval.media.timeline import shown_times
from omnieval.types import MediaPlan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_WAV = (".wav", "audio/wav")


def make_files(plan: MediaPlan, writer: EntryWriter) -> None:
    """All files of a plan whose sources are plain files. Raises MediaError, StorageError."""
    if plan.whole_video and plan.video is not None:
        video_facts(plan.video)
        writer.add_file("video", plan.video.suffix, video_mime(plan.video), plan.video)
    if plan.whole_audio:
        writer.add("sound", *_WAV, encode_wav(read_audio(_sound_source(plan))))
    if plan.frames:
        _make_frames(plan, writer)


def picture_count(plan: MediaPlan, video: Path) -> int:
    """How many pictures a plan makes of a video, by the file's header alone. Raises MediaError."""
    facts = video_facts(video)
    planned = _planned(plan, facts.frames, facts.fps, None)
    return len(planned.indices) + sum(map(bool, _stacks(plan, planned, facts.frames, facts.fps, None)))


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
