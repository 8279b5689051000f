"""Settings that benchmarks on videos share: which frames, and how they are encoded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from omnieval.config import Strict
from omnieval.errors import ConfigError
from omnieval.media.plan import check_plan
from omnieval.types import ImageEncoding, MediaPlan


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


class FrameSettings(Strict):
    """The recipe keys of a benchmark that may show the frames of videos."""

    plan: PlanName = "minicpm"
    max_frames: int = Field(64, ge=1)
    frame_times: FrameTimes = "nominal"
    stack_frames: StackFrames = 1
    image: ImageSettings = ImageSettings()

    def frames_headline(self) -> str:
        """How a report names the choice of frames."""
        real = ", by real times" if self.frame_times == "real" else ""
        stacked = f", stacked by {self.stack_frames}" if self.stack_frames > 1 else ""
        return f"{self.plan}, at most {self.max_frames} frames{real}{stacked}"

    def media_plan(
        self,
        *,
        video: Path | None,
        audio: Path | None = None,
        frames: bool,
        segments: bool,
        whole_audio: bool = False,
        whole_video: bool = False,
    ) -> MediaPlan:
        """A plan of media, its frames as these keys say; the arguments are those of `MediaPlan`."""
        return MediaPlan(
            video=video,
            audio=audio,
            frame_plan=self.plan,
            max_frames=self.max_frames,
            image=self.image.encoding(),
            real_times=self.frame_times == "real",
            stack_frames=self.stack_frames if frames else 1,
            frames=frames,
            segments=segments,
            whole_audio=whole_audio,
            whole_video=whole_video,
        )
