"""Stacked frames are those of MiniCPM-o's own client, joined as there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.media.plan import FRAME_PLANS, plan_frames, plan_stack
from omnieval.media.stack import joined_pictures

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "stacked.json").read_text())


def test_the_frames_between_two_seconds_equal_the_references() -> None:
    for case in VECTORS["plans"]:
        facts = {"frames": case["frames"], "fps": case["fps"]}
        planned = plan_frames("minicpm", max_frames=64, **facts)
        stacks = plan_stack("minicpm", planned, stack_frames=case["stack_frames"], **facts)
        assert list(planned.indices) == case["pictures"], case
        assert [list(stack) for stack in stacks] == case["stacked"], case


@pytest.mark.parametrize("layout", VECTORS["layouts"], ids=lambda case: str(list(case.values())[:3]))
def test_joined_pictures_equal_the_references_pixel_by_pixel(layout: dict[str, Any]) -> None:
    rows, columns = np.mgrid[0 : layout["height"], 0 : layout["width"]]
    pictures = [
        np.stack([(columns + 40 * k) % 256, (3 * rows + k) % 256, (columns + rows + 17 * k) % 256], -1)
        for k in range(layout["pictures"])
    ]
    joined = joined_pictures([picture.astype(np.uint8) for picture in pictures])
    assert [joined.shape[1], joined.shape[0]] == layout["size"]
    assert hashlib.sha256(joined.tobytes()).hexdigest() == layout["sha256"]


def test_a_plan_that_spreads_its_frames_spreads_those_between_them() -> None:
    facts: dict[str, Any] = {"frames": 1000, "fps": 25.0}
    planned = plan_frames("uniform", max_frames=5, **facts)
    assert planned.indices == (0, 249, 499, 749, 999)
    assert plan_stack("uniform", planned, stack_frames=3, **facts) == (
        (83, 166), (332, 416), (582, 666), (832, 916), (),
    )  # fmt: skip
    alone = plan_frames("minicpm", max_frames=1, **facts)
    assert plan_stack("minicpm", alone, stack_frames=5, **facts) == ((200, 400, 600, 800),)


def test_real_times_decide_where_the_rate_varies() -> None:
    times = [0.0, 0.1, 0.2, 0.3, 0.4, 1.0, 1.9, 2.0]
    facts: dict[str, Any] = {"frames": 8, "fps": 3.5, "times": times}
    planned = plan_frames("minicpm", max_frames=64, **facts)
    assert planned.indices == (0, 5, 7)
    assert plan_stack("minicpm", planned, stack_frames=5, **facts) == ((2, 4, 4, 4), (5, 5, 5, 5), ())


@pytest.mark.parametrize("plan", [*FRAME_PLANS, "fps-2.5"])
@given(
    video=st.tuples(st.integers(1, 400_000), st.floats(0.5, 240, allow_nan=False), st.integers(1, 128)),
    stack_frames=st.integers(1, 16),
)
def test_frames_exist_and_lie_in_order_between_the_planned_ones(
    plan: str, video: tuple[int, float, int], stack_frames: int
) -> None:
    frames, fps, max_frames = video
    planned = plan_frames(plan, frames=frames, fps=fps, max_frames=max_frames)
    stacks = plan_stack(plan, planned, frames=frames, fps=fps, stack_frames=stack_frames)
    flat = [
        number for index, stack in zip(planned.indices, stacks, strict=True) for number in (index, *stack)
    ]
    assert flat == sorted(flat)
    assert flat[-1] < frames
    assert {len(stack) for stack in stacks[:-1]} <= {stack_frames - 1}
    assert len(stacks[-1]) < stack_frames
