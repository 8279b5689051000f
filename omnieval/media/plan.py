"""Which frames and which pieces of sound: pure arithmetic on probe facts, no decoding.

Each plan reproduces one reference sampler exactly; the name of the plan belongs to every score, since
the two differ for most clips.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from omnieval.config import suggest
from omnieval.errors import ConfigError

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


def plan_frames(plan: str, *, frames: int, fps: float, max_frames: int) -> FramePlan:
    """The frames that a sampler takes from a video of `frames` pictures at `fps`.

    plan: `minicpm` (MiniCPM-o's `get_video_frame_audio_segments`) or `omnievalkit` (OmniEvalKit).
    Both take one frame a second, and when that would be more than `max_frames`, spread that many over a
    0.1 s grid. Raises ConfigError for an unknown plan, ValueError for facts that no video has.
    """
    if frames < 1 or not (math.isfinite(fps) and fps > 0):
        raise ValueError(f"expected at least one frame at a positive rate, found {frames} at {fps} fps")
    if max_frames < 1:
        raise ValueError(f"max_frames must be at least 1, found {max_frames}")
    timestamps = _sampler(plan).timestamps(frames / fps, max_frames)
    indices = tuple(min(int(timestamp * fps), frames - 1) for timestamp in timestamps)
    return FramePlan(indices, tuple(float(timestamp) for timestamp in timestamps))


def plan_audio(plan: str, *, timestamps: Sequence[float], duration: float, samples: int) -> list[AudioCut]:
    """The sound between one timestamp and the next, at 16 kHz.

    timestamps: as `plan_frames` gives them. duration: seconds of the video (frames / fps).
    samples: length of the sound.
    `minicpm`: the last piece ends at `duration` and is padded to 1 600 samples; an empty piece becomes
    1 600 zeros. `omnievalkit`: the last piece ends with the sound; empty pieces are dropped, so that
    there may be fewer cuts than timestamps.
    """
    return _sampler(plan).cuts(timestamps, duration, samples)


def _grid_time(number: int) -> float:
    return round(number * _GRID_S, 1)


def _minicpm_timestamps(duration: float, max_frames: int) -> Sequence[float]:
    if duration <= max_frames:
        return range(max(1, math.ceil(duration)))
    last = int(duration / _GRID_S) - 1
    return [_grid_time(_linspace_int(last, max_frames, i)) for i in range(max_frames)]


def _linspace_int(last: int, count: int, i: int) -> int:
    """Element i of numpy.linspace(0, last, count, dtype=int), which truncates."""
    if count == 1:
        return 0
    return last if i == count - 1 else int(i * (last / (count - 1)))


def _omnievalkit_timestamps(duration: float, max_frames: int) -> Sequence[float]:
    if duration <= max_frames:
        return range(max(1, int(duration)))
    gap = int(duration / _GRID_S) / max_frames
    return [_grid_time(int(i * gap + gap / 2)) for i in range(max_frames)]


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
    timestamps: Callable[[float, int], Sequence[float]]
    cuts: Callable[[Sequence[float], float, int], list[AudioCut]]


_SAMPLERS: Mapping[str, _Sampler] = {
    "minicpm": _Sampler(_minicpm_timestamps, _minicpm_cuts),
    "omnievalkit": _Sampler(_omnievalkit_timestamps, _omnievalkit_cuts),
}
FRAME_PLANS: tuple[str, ...] = tuple(_SAMPLERS)


def _sampler(plan: str) -> _Sampler:
    if plan not in _SAMPLERS:
        raise ConfigError(f"unknown frame plan {plan!r}{suggest(plan, _SAMPLERS)}")
    return _SAMPLERS[plan]
