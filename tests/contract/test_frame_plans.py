"""Frame and sound plans equal what the reference samplers really return."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.errors import ConfigError
from omnieval.media.plan import FRAME_PLANS, MIN_SEGMENT_SAMPLES, plan_audio, plan_frames

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "frame_plan.json").read_text())[
    "cases"
]
COLUMNS = [
    ("minicpm64", "minicpm", 64),
    ("omnievalkit64", "omnievalkit", 64),
    ("omnievalkit96", "omnievalkit", 96),
]


@pytest.mark.parametrize(("column", "plan", "max_frames"), COLUMNS)
def test_frames_equal_the_reference(column: str, plan: str, max_frames: int) -> None:
    for case in CASES:
        got = plan_frames(plan, frames=case["frames"], fps=case["fps"], max_frames=max_frames)
        expected = case[column]
        if not expected["frame_index"]:
            # OmniEvalKit plans no frame for a clip under a second; we take its first.
            assert case["duration"] < 1
            assert (got.indices, got.timestamps) == ((0,), (0.0,))
            continue
        assert list(got.indices) == expected["frame_index"], case["frames"]
        assert list(got.timestamps) == expected["timestamps"], case["frames"]


def test_timestamps_of_the_video_mme_sampler_equal_the_reference() -> None:
    for case in CASES:
        expected = case["vllm_omni_videomme96"]["timestamps"]
        got = plan_frames("vllm-omni", frames=case["frames"], fps=case["fps"], max_frames=96)
        if expected:
            assert list(got.timestamps) == expected, case["frames"]
        for timestamp, index in zip(got.timestamps, got.indices, strict=True):
            assert index / case["fps"] >= timestamp or index == case["frames"] - 1
            assert index == 0 or (index - 1) / case["fps"] < timestamp


@pytest.mark.parametrize(
    ("plan", "frames", "max_frames", "indices"),
    [
        ("uniform", 100, 5, (0, 24, 49, 74, 99)),
        ("uniform", 3, 8, (0, 1, 2)),
        ("uniform", 100, 1, (0,)),
        ("fps-1", 75, 64, (0, 25, 50)),
        ("fps-2", 75, 64, (0, 12, 25, 37, 50, 62)),
        ("fps-0.5", 125, 64, (0, 50, 100)),
        ("fps-5", 125, 4, (0, 40, 80, 120)),
        ("fps-100", 3, 2, (0, 2)),
    ],
)
def test_plans_of_our_own(plan: str, frames: int, max_frames: int, indices: tuple[int, ...]) -> None:
    assert plan_frames(plan, frames=frames, fps=25.0, max_frames=max_frames).indices == indices


def test_real_times_decide_where_the_rate_varies() -> None:
    times = [0.0, 0.5, 2.2, 2.4, 3.0, 4.0]
    nominal = plan_frames("minicpm", frames=6, fps=1.2, max_frames=64)
    real = plan_frames("minicpm", frames=6, fps=1.2, max_frames=64, times=times)
    assert nominal.indices == (0, 1, 2, 3, 4)
    assert (real.timestamps, real.indices) == ((0.0, 1.0, 2.0, 3.0, 4.0), (0, 1, 1, 4, 5))
    after = plan_frames("vllm-omni", frames=6, fps=1.2, max_frames=64, times=times)
    assert (after.timestamps, after.indices) == (real.timestamps, (0, 2, 2, 4, 5))
    with pytest.raises(ValueError, match="a time for each of 6 frames"):
        plan_frames("minicpm", frames=6, fps=1.2, max_frames=64, times=times[:3])


@given(
    video=st.tuples(st.integers(1, 3000), st.sampled_from([10.0, 23.976, 25.0, 30.0])),
    limit=st.integers(1, 70),
)
def test_real_times_of_a_steady_video_change_nothing(video: tuple[int, float], limit: int) -> None:
    frames, fps = video
    # Binary fractions, so that times and rate agree to the last bit.
    rate = 2 ** round(math.log2(fps))
    times = [i / rate for i in range(frames)]
    for plan in FRAME_PLANS:
        plain = plan_frames(plan, frames=frames, fps=rate, max_frames=limit)
        assert plan_frames(plan, frames=frames, fps=rate, max_frames=limit, times=times) == plain


@pytest.mark.parametrize(("column", "plan", "max_frames"), COLUMNS[:2])
@pytest.mark.parametrize("length", ["equal", "audio_0.4s_shorter", "audio_half"])
def test_sound_cuts_equal_the_reference(column: str, plan: str, max_frames: int, length: str) -> None:
    cases = [case for case in CASES if "audio" in case]
    assert len(cases) == 24
    for case in cases:
        frames = plan_frames(plan, frames=case["frames"], fps=case["fps"], max_frames=max_frames)
        if not case[column]["frame_index"]:
            continue
        sound = case["audio"][length]
        cuts = plan_audio(
            plan,
            timestamps=frames.timestamps,
            duration=case["frames"] / case["fps"],
            samples=sound["audio_samples"],
        )
        assert [[cut.start, cut.end, cut.pad] for cut in cuts] == sound[column], case["frames"]


VIDEOS = st.tuples(st.integers(1, 400_000), st.floats(0.5, 240, allow_nan=False), st.integers(1, 128))


@pytest.mark.parametrize("plan", FRAME_PLANS)
@given(video=VIDEOS)
def test_planned_frames_exist_are_in_order_and_not_too_many(plan: str, video: tuple[int, float, int]) -> None:
    frames, fps, max_frames = video
    planned = plan_frames(plan, frames=frames, fps=fps, max_frames=max_frames)
    assert 1 <= len(planned.indices) == len(planned.timestamps) <= max(1, max_frames)
    assert list(planned.indices) == sorted(planned.indices)
    assert planned.indices[0] >= 0
    assert planned.indices[-1] < frames
    assert list(planned.timestamps) == sorted(planned.timestamps)


@pytest.mark.parametrize("plan", FRAME_PLANS)
@given(video=VIDEOS, share=st.floats(0, 2))
def test_cuts_lie_in_the_sound_and_follow_each_other(
    plan: str, video: tuple[int, float, int], share: float
) -> None:
    frames, fps, max_frames = video
    duration = frames / fps
    samples = int(duration * 16_000 * share)
    planned = plan_frames(plan, frames=frames, fps=fps, max_frames=max_frames)
    cuts = plan_audio(plan, timestamps=planned.timestamps, duration=duration, samples=samples)
    assert len(cuts) <= len(planned.timestamps)
    assert all(cut.end <= samples for cut in cuts)
    for cut in cuts:
        assert cut.pad == 0 or max(0, cut.end - cut.start) + cut.pad == MIN_SEGMENT_SAMPLES
    heard = [cut for cut in cuts if cut.end > cut.start]
    assert all(a.end == b.start for a, b in pairwise(heard))
    if plan != "omnievalkit":
        assert len(cuts) == len(planned.timestamps)
        assert all(cut.end > cut.start or cut.pad == MIN_SEGMENT_SAMPLES for cut in cuts)
    else:
        assert heard == cuts
        assert not cuts or cuts[-1].end == samples


@pytest.mark.parametrize(
    "facts", [{"frames": 0, "fps": 30.0}, {"frames": 9, "fps": 0.0}, {"frames": 9, "fps": math.nan},
              {"frames": 9, "fps": math.inf}]
)  # fmt: skip
def test_facts_that_no_video_has_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least one frame"):
        plan_frames("minicpm", **facts, max_frames=64)


def test_an_unknown_plan_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'minicpm'"):
        plan_frames("minicpn", frames=30, fps=30.0, max_frames=64)
    with pytest.raises(ValueError, match="max_frames"):
        plan_frames("minicpm", frames=30, fps=30.0, max_frames=0)
