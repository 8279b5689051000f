"""Settings that benchmarks on videos share: which frames, and how they are encoded."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from omnieval.config import Strict
from omnieval.errors import ConfigError
from omnieval.media.plan import check_plan
from omnieval.types import ImageEncoding


def _known_plan(name: str) -> str:
    """Raises ValueError, as validators do, for a name that is no frame plan's."""
    try:
        return check_plan(name)
    except ConfigError as error:
        raise ValueError(str(error)) from error


PlanName = Annotated[str, AfterValidator(_known_plan)]
FrameTimes = Literal["nominal", "real"]
# Joined pictures of more become too wide for any picture encoder.
StackFrames = Annotated[int, Field(ge=1, le=16)]


class ImageSettings(Strict):
    """How frames are encoded."""

    format: Literal["jpeg", "png", "webp"] = "jpeg"
    quality: int = Field(85, ge=1, le=100)
    subsampling: Literal["4:2:0", "4:2:2", "4:4:4"] = "4:2:0"

    def encoding(self) -> ImageEncoding:
        """The same as the media layer takes it."""
        return ImageEncoding(self.format, self.quality, self.subsampling)


def plan_headline(plan: str, max_frames: int, times: FrameTimes, stack_frames: int) -> str:
    """How a report names a choice of frames."""
    real = ", by real times" if times == "real" else ""
    stacked = f", stacked by {stack_frames}" if stack_frames > 1 else ""
    return f"{plan}, at most {max_frames} frames{real}{stacked}"
