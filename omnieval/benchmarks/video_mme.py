"""Video-MME: multiple-choice questions on videos of a minute to an hour.

Data: Fu et al., "Video-MME" (2024): 900 videos, three questions each, published as one parquet table, zip
archives of videos, and subtitles.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from omnieval.benchmarks import prompts, rows
from omnieval.benchmarks.base import Dataset
from omnieval.benchmarks.choice_request import choice_request, frames_and_sounds
from omnieval.benchmarks.frame_settings import FrameSettings, PlanName
from omnieval.benchmarks.hub import blobs_of, local_folder
from omnieval.benchmarks.subtitles import subtitle_notes, subtitle_text
from omnieval.benchmarks.video_mme_data import VideoMMEFiles, data_notes, locate, read_table, sample_of
from omnieval.config import RunConfig, Strict
from omnieval.errors import ConfigError, MediaError
from omnieval.media.probe import video_mime
from omnieval.media.source import is_archive
from omnieval.types import (
    MediaPart,
    MediaPlan,
    Part,
    PreparedMedia,
    Request,
    Sample,
)

# What of a hub's repository is needed.
_HUB_FILES = (
    "videomme/*",
    "*.parquet",
    "videos_chunked_*.zip",
    "subtitle.zip",
    "subtitle/*",
    "video/*",
    "videos/*",
)


class Settings(FrameSettings):
    """Video-MME's own recipe keys; `recipes/video-mme.yaml` comments on each."""

    packing: Literal["frames", "interleave", "video-url"] = "frames"
    plan: PlanName = "omnievalkit"
    max_frames: int = Field(96, ge=1)
    durations: Literal["all", "short", "medium", "long"] = "all"
    subtitles: bool = False
    subtitle_lines: Literal["all", "frames"] = "all"
    prompt: Literal["omnievalkit", "official"] = "omnievalkit"
    system_prompt: str | None = None


class VideoMME:
    """The benchmark, configured; follows `omnieval.benchmarks.base.Benchmark`."""

    Settings: type[Strict] = Settings
    scoring: Literal["choice"] = "choice"
    default_parser = "videomme-official"
    group_keys = ("duration", "domain", "sub category", "task type")

    def __init__(self, config: RunConfig) -> None:
        assert isinstance(config.task, Settings)
        self._config = config
        self._task = config.task

    def headline(self) -> Mapping[str, str]:
        task = self._task
        frames = {} if task.packing == "video-url" else {
            "plan": task.frames_headline()
        }  # fmt: skip
        lines = "at the frames" if task.subtitle_lines == "frames" else "all"
        return {
            **frames,
            "prompt": task.prompt,
            "packing": task.packing,
            "durations": task.durations,
            "subtitles": lines if task.subtitles else "none",
        }

    def load(self) -> Dataset:
        if self._config.data is None:
            raise ConfigError(
                "video-mme needs its data: give --data DIR (the folder with the parquet table and the "
                "videos, or hf:ORGANISATION/NAME to fetch them), or --sample for the bundled sample"
            )
        folder = local_folder(self._config.data, patterns=_HUB_FILES)
        root, tables = locate(folder)
        files = VideoMMEFiles(root, with_subtitles=self._task.subtitles)
        table = read_table(tables)
        taken: set[str] = set()
        samples = tuple(sample_of(row, number, files, taken) for number, row in enumerate(table))
        ids = [rows.text(row, "question_id") for row in table if isinstance(row, Mapping)]
        return Dataset(root, samples, tuple(data_notes(samples, files, ids)))

    def asks(self, sample: Sample) -> bool:
        return self._task.durations in ("all", sample.groups["duration"])

    def plan(self, sample: Sample) -> MediaPlan | None:
        if self._config.media == "none":
            return None
        task, video = self._task, sample.media.get("video")
        if video is None:
            raise MediaError(
                f"no file for video {sample.cluster}: expected {sample.cluster}.mp4 (or .mkv, .webm) at any "
                "depth of the data folder, or in a zip archive there; fetch it, or run the rest as it is",
                kind="media_missing",
            )
        return task.media_plan(
            video=video,
            frames=task.packing != "video-url",
            segments=task.packing == "interleave",
            whole_video=task.packing == "video-url",
        )

    def pack(self, sample: Sample, media: PreparedMedia) -> Request:
        return choice_request(
            self._config,
            sample,
            self._text(sample, media),
            media=self._media_parts(sample, media),
            packing=None if self._config.media == "none" else self._task.packing,
            system_prompt=self._task.system_prompt,
            notes=self._notes(sample),
        )

    def media_folders(self, dataset: Dataset, cache: Path) -> list[Path]:
        if self._task.packing != "video-url":
            return [cache]
        videos = [s.media["video"] for s in dataset.samples if "video" in s.media]
        zipped = any(is_archive(parent) for path in videos for parent in path.parents)
        blobs = blobs_of(dataset.root)
        return [dataset.root, *([blobs] if blobs else []), *([cache] if zipped else [])]

    def _media_parts(self, sample: Sample, media: PreparedMedia) -> tuple[Part, ...]:
        if self._config.media == "none":
            return ()
        if self._task.packing == "video-url":
            video = sample.media["video"]
            return (media.video or MediaPart("video", video, video_mime(video)),)
        return frames_and_sounds(media)

    def _notes(self, sample: Sample) -> tuple[str, ...]:
        path = sample.media.get("subtitles")
        return () if path is None or self._config.media == "none" else subtitle_notes(path)

    def _text(self, sample: Sample, media: PreparedMedia) -> str:
        wording = (
            prompts.omnievalkit_choice if self._task.prompt == "omnievalkit" else prompts.video_mme_official
        )
        text = wording(sample.question, sample.options)
        path = sample.media.get("subtitles")
        if path is None or self._config.media == "none":
            return text
        times = None
        if self._task.subtitle_lines == "frames":
            times = [part.timestamp for part in media.frames if part.timestamp is not None]
        return prompts.with_subtitles(text, subtitle_text(path, times))
