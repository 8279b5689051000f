"""Which frames and which pieces of sound: pure arithmetic on probe facts, no decoding.

A plan with the name of a reference reproduces its sampler exactly; the name of the plan belongs to every
score, since they differ for most clips.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from omnieval.errors import ConfigError
from omnieval.wording import suggest

AUDIO_RATE_HZ = 16_000
MIN_SEGMENT_SAMPLES = 1_600
_GRID_S = 0.1


@dataclass(frozen=True, slots=True)
class FramePlan:
    """indices: 0-based frame numbers in presentation order, one a picture. timestamps: their nominal
    times in seconds, where the sound is cut."""

    indices: tuple[int, ...]
    timestamps: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AudioCut:
    """Samples start..end (end excluded) of the sound at 16 kHz, then `pad` zeros.

    end never lies beyond the sound; a piece that would begin beyond it has start >= end and is empty.
    """

    start: int
    end: int
    pad: int = 0


def plan_frames(
    plan: str, *, frames: int, fps: float, max_frames: int, times: Sequence[float] | None = None
) -> FramePlan:
    """The frames that a sampler takes from a video of `frames` pictures at `fps`.

    plan: a name of `FRAME_PLANS`, or `fps-R` for R frames a second:
    `minicpm` (MiniCPM-o's `get_video_frame_audio_segments`), `omnievalkit` (OmniEvalKit) and `vllm-omni`
    (vLLM-Omni's Video-MME) take one frame a second, and when that would be more than `max_frames`, spread
    that many over a 0.1 s grid. `uniform` spreads `max_frames` over all frames. `fps-R` thins out evenly
    when it would take more than `max_frames`.
    times: when each frame is really shown, in seconds from the first one, ascending, for videos of variable
    rate; None takes every frame to last 1/fps, as the references do.
    Raises ConfigError for an unknown plan, ValueError for facts that no video has.
    """
    if frames < 1 or not (math.isfinite(fps) and fps > 0):
        raise ValueError(f"expected at least one frame at a positive rate, found {frames} at {fps} fps")
    if max_frames < 1:
        raise ValueError(f"max_frames must be at least 1, found {max_frames}")
    if times is not None and len(times) != frames:
        raise ValueError(f"expected a time for each of {frames} frames, found {len(times)}")
    sampler = _sampler(plan)
    duration = clip_duration(frames, fps, times)
    timestamps = sampler.timestamps(_Clip(frames, fps, duration), max_frames)
    if times is None:
        indices = [min(sampler.index(timestamp, fps), frames - 1) for timestamp in timestamps]
    else:
        indices = [sampler.shown(timestamp, times) for timestamp in timestamps]
    return FramePlan(tuple(indices), tuple(float(timestamp) for timestamp in timestamps))


def plan_stack(
    plan: str,
    planned: FramePlan,
    *,
    frames: int,
    fps: float,
    stack_frames: int,
    times: Sequence[float] | None = None,
) -> tuple[tuple[int, ...], ...]:
    """For each planned frame the numbers of the `stack_frames` - 1 that follow it evenly until the next one.

    The last frame has them as far apart as the one before it, and none beyond the video's end. Where the plan
    takes one frame a second, this is MiniCPM-o's `get_video_frame_audio_segments(stack_frames=...)`.
    """
    sampler = _sampler(plan)
    duration = clip_duration(frames, fps, times)
    starts = planned.timestamps
    last_gap = starts[-1] - starts[-2] if len(starts) > 1 else max(1.0, duration)
    stacks = []
    for start, end in _between(starts, starts[-1] + last_gap):
        further = (start + step * (end - start) / stack_frames for step in range(1, stack_frames))
        stacks.append(
            tuple(
                min(sampler.index(timestamp, fps), frames - 1)
                if times is None
                else sampler.shown(timestamp, times)
                for timestamp in further
                if timestamp < duration
            )
        )
    return tuple(stacks)


def clip_duration(frames: int, fps: float, times: Sequence[float] | None = None) -> float:
    """Seconds from the first frame to the end of the last, which is taken to last as long as the one
    before it where real times are given."""
    if times is None:
        return frames / fps
    return times[-1] + (times[-1] - times[-2] if len(times) > 1 else 1 / fps)


def check_plan(plan: str) -> str:
    """The name of a plan that exists. Raises ConfigError for any other."""
    _sampler(plan)
    return plan


def plan_audio(plan: str, *, timestamps: Sequence[float], duration: float, samples: int) -> list[AudioCut]:
    """The sound between one timestamp and the next, at 16 kHz.

    timestamps: as `plan_frames` gives them. duration: seconds of the video (frames / fps).
    samples: length of the sound.
    All plans but `omnievalkit`: the last piece ends at `duration` and is padded to 1 600 samples; an
    empty piece becomes 1 600 zeros. `omnievalkit`: the last piece ends with the sound; empty pieces are
    dropped, so that there may be fewer cuts than timestamps.
    """
    return _sampler(plan).cuts(timestamps, duration, samples)


@dataclass(frozen=True, slots=True)
class _Clip:
    frames: int
    fps: float
    duration: float


def _grid_time(number: int) -> float:
    return round(number * _GRID_S, 1)


def _spread(last: int, count: int) -> list[int]:
    """numpy.linspace(0, last, count, dtype=int), which truncates."""
    if count == 1:
        return [0]
    step = last / (count - 1)
    return [*(int(i * step) for i in range(count - 1)), last]


def _minicpm_timestamps(clip: _Clip, max_frames: int) -> Sequence[float]:
    if clip.duration <= max_frames:
        return range(max(1, math.ceil(clip.duration)))
    return [_grid_time(pick) for pick in _spread(int(clip.duration / _GRID_S) - 1, max_frames)]


def _omnievalkit_timestamps(clip: _Clip, max_frames: int) -> Sequence[float]:
    if clip.duration <= max_frames:
        return range(max(1, int(clip.duration)))
    gap = int(clip.duration / _GRID_S) / max_frames
    return [_grid_time(int(i * gap + gap / 2)) for i in range(max_frames)]


def _vllm_omni_timestamps(clip: _Clip, max_frames: int) -> Sequence[float]:
    if clip.duration <= max_frames:
        return range(max(1, int(clip.duration)))
    return [_grid_time(pick) for pick in _spread(int(clip.duration / _GRID_S) - 1, max_frames)]


def _uniform_timestamps(clip: _Clip, max_frames: int) -> Sequence[float]:
    picks = _spread(clip.frames - 1, min(max_frames, clip.frames))
    return [pick * clip.duration / clip.frames for pick in picks]


def _steady_timestamps(rate: float) -> Callable[[_Clip, int], Sequence[float]]:
    def timestamps(clip: _Clip, max_frames: int) -> Sequence[float]:
        count = max(1, math.ceil(clip.duration * rate - 1e-9))
        picks = range(count) if count <= max_frames else _spread(count - 1, max_frames)
        return [pick / rate for pick in picks]

    return timestamps


def _before(timestamp: float, fps: float) -> int:
    return int(timestamp * fps)


def _after(timestamp: float, fps: float) -> int:
    number = int(timestamp * fps)
    return number if number / fps >= timestamp else number + 1


def _nearest(timestamp: float, fps: float) -> int:
    return round(timestamp * fps)


def _shown_before(timestamp: float, times: Sequence[float]) -> int:
    return max(0, bisect.bisect_right(times, timestamp) - 1)


def _shown_after(timestamp: float, times: Sequence[float]) -> int:
    return min(bisect.bisect_left(times, timestamp), len(times) - 1)


def _minicpm_cuts(timestamps: Sequence[float], duration: float, samples: int) -> list[AudioCut]:
    cuts = []
    for i, (start_s, end_s) in enumerate(_between(timestamps, duration)):
        start, end = _bounds(start_s, end_s, samples)
        length = max(0, end - start)
        padded = i == len(timestamps) - 1 or length == 0
        cuts.append(AudioCut(start, end, max(0, MIN_SEGMENT_SAMPLES - length) if padded else 0))
    return cuts


def _omnievalkit_cuts(timestamps: Sequence[float], _duration: float, samples: int) -> list[AudioCut]:
    bounds = _between(timestamps, math.inf)
    cuts = [AudioCut(*_bounds(start_s, end_s, samples)) for start_s, end_s in bounds]
    return [cut for cut in cuts if cut.end > cut.start]


def _between(timestamps: Sequence[float], end: float) -> list[tuple[float, float]]:
    return list(zip(timestamps, [*timestamps[1:], end], strict=True))


def _bounds(start_s: float, end_s: float, samples: int) -> tuple[int, int]:
    return int(start_s * AUDIO_RATE_HZ), int(min(end_s * AUDIO_RATE_HZ, samples))


@dataclass(frozen=True, slots=True)
class _Sampler:
    """timestamps: of a clip and max_frames. cuts: of the sound. index, shown: the frame for a timestamp,
    by the average rate or by the frames' real times."""

    timestamps: Callable[[_Clip, int], Sequence[float]]
    cuts: Callable[[Sequence[float], float, int], list[AudioCut]] = _minicpm_cuts
    index: Callable[[float, float], int] = _before
    shown: Callable[[float, Sequence[float]], int] = _shown_before


_SAMPLERS: Mapping[str, _Sampler] = {
    "minicpm": _Sampler(_minicpm_timestamps),
    "omnievalkit": _Sampler(_omnievalkit_timestamps, cuts=_omnievalkit_cuts),
    "vllm-omni": _Sampler(_vllm_omni_timestamps, index=_after, shown=_shown_after),
    "uniform": _Sampler(_uniform_timestamps, index=_nearest),
}
FRAME_PLANS: tuple[str, ...] = tuple(_SAMPLERS)
_STEADY = re.compile(r"fps-(\d+(?:\.\d+)?)")


def _sampler(plan: str) -> _Sampler:
    steady = _STEADY.fullmatch(plan)
    if steady and float(steady.group(1)) > 0:
        return _Sampler(_steady_timestamps(float(steady.group(1))))
    if plan not in _SAMPLERS:
        raise ConfigError(f"unknown frame plan {plan!r}{suggest(plan, [*_SAMPLERS, 'fps-1'])}")
    return _SAMPLERS[plan]
