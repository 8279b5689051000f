"""Daily-Omni: multiple-choice questions on short videos whose answers need both picture and sound.

Data: Zhou et al., "Daily-Omni" (2025); the official layout is `qa.json` beside
`Videos/{video_id}/{video_id}_video.mp4` and `_audio.wav`, or `Videos.tar` with them; flat `{video_id}.mp4`
and `.wav` serve too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from omnieval.benchmarks import prompts, rows
from omnieval.benchmarks.base import Dataset
from omnieval.benchmarks.choice_request import choice_request, frames_and_sounds
from omnieval.benchmarks.daily_omni_data import (
    locate,
    missing_media_notes,
    sample_of,
    table_of,
    twin_notes,
)
from omnieval.benchmarks.frame_settings import FrameSettings
from omnieval.config import RunConfig, Strict
from omnieval.errors import ConfigError, MediaError
from omnieval.media.carried import CarriedFiles
from omnieval.media.source import archive_of
from omnieval.types import (
    MediaPart,
    MediaPlan,
    Part,
    PreparedMedia,
    Request,
    Sample,
)

QWEN_SYSTEM_PROMPT = (
    "You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group, "
    "capable of perceiving auditory and visual inputs, as well as generating text and speech."
)

# The packings by the names that all benchmarks share.
_PACKINGS = {"minicpm-interleave": "interleave", "qwen": "video-url"}


class Settings(FrameSettings):
    """Daily-Omni's own recipe keys; `recipes/daily-omni.yaml` comments on each."""

    prompt: Literal["official", "omnievalkit"] = "official"
    packing: Literal["minicpm-interleave", "qwen"] = "minicpm-interleave"
    input_mode: Literal["all", "visual", "audio"] = "all"
    system_prompt: str | None = None
    split: str | None = None


class DailyOmni:
    """The benchmark, configured; follows `omnieval.benchmarks.base.Benchmark`."""

    Settings: type[Strict] = Settings
    scoring: Literal["choice"] = "choice"
    default_parser = "daily-omni-official"
    group_keys = ("type", "category", "duration")

    def __init__(self, config: RunConfig) -> None:
        assert isinstance(config.task, Settings)
        self._config = config
        self._task = config.task
        self._carried = CarriedFiles(config.cache_dir)

    def headline(self) -> Mapping[str, str]:
        task = self._task
        return {
            "plan": task.frames_headline(),
            "prompt": task.prompt,
            "packing": task.packing,
            "input": task.input_mode,
        }

    def load(self) -> Dataset:
        if self._config.data is None:
            raise ConfigError(
                "daily-omni needs its data: give --data DIR (the folder with qa.json and Videos/), "
                "or --sample for the bundled sample"
            )
        qa_file, videos = locate(self._config.data)
        table, notes = table_of(rows.read_json(qa_file), qa_file, self._task.split)
        taken: set[str] = set()
        samples = tuple(sample_of(row, number, videos, taken) for number, row in enumerate(table))
        notes += rows.duplicate_notes(samples)
        notes += missing_media_notes(samples, self._task.input_mode)
        notes += twin_notes(samples, videos)
        return Dataset(root=qa_file.parent, samples=samples, notes=tuple(notes))

    def asks(self, sample: Sample) -> bool:
        del sample  # select.filter takes any group
        return True

    def plan(self, sample: Sample) -> MediaPlan | None:
        if self._config.media == "none":
            return None
        task = self._task
        video, audio = sample.media.get("video"), sample.media.get("audio")
        wants_picture = task.input_mode != "audio"
        wants_sound = task.input_mode != "visual"
        if (wants_picture and video is None) or (wants_sound and video is None and audio is None):
            raise MediaError(_missing_message(sample, task.input_mode), kind="media_missing")
        by_frame = wants_picture and task.packing == "minicpm-interleave"
        return task.media_plan(
            video=video,
            audio=audio if wants_sound else None,
            frames=by_frame,
            segments=by_frame and wants_sound,
            whole_audio=wants_sound and not by_frame and audio is None,
        )

    def pack(self, sample: Sample, media: PreparedMedia) -> Request:
        task = self._task
        system_prompt = task.system_prompt
        if system_prompt is None and task.packing == "qwen":
            system_prompt = QWEN_SYSTEM_PROMPT
        return choice_request(
            self._config,
            sample,
            self._prompt(sample),
            media=self._media_parts(sample, media),
            packing=None if self._config.media == "none" else _PACKINGS[task.packing],
            system_prompt=system_prompt,
        )

    def media_folders(self, dataset: Dataset, cache: Path) -> list[Path]:
        task = self._task
        if task.packing == "minicpm-interleave" and task.input_mode != "audio":
            return [cache]
        asked = [sample for sample in dataset.samples if sample.problem is None]
        if any(archive_of(path) is not None for sample in asked for path in sample.media.values()):
            return [cache]
        extracts_sound = task.input_mode != "visual" and any("audio" not in s.media for s in asked)
        return [dataset.root, cache] if extracts_sound else [dataset.root]

    def _prompt(self, sample: Sample) -> str:
        if self._task.prompt == "official":
            return prompts.daily_omni_official(sample.question, sample.options, self._task.input_mode)
        return prompts.omnievalkit_choice(sample.question, sample.options)

    def _media_parts(self, sample: Sample, media: PreparedMedia) -> tuple[Part, ...]:
        if self._config.media == "none":
            return ()
        task = self._task
        if task.packing == "minicpm-interleave" and task.input_mode != "audio":
            return frames_and_sounds(media)
        parts: list[Part] = []
        if task.input_mode != "audio":
            parts.append(MediaPart("video", self._carried.plain(sample.media["video"]), "video/mp4"))
        if task.input_mode != "visual":
            own = sample.media.get("audio")
            parts.append(
                MediaPart("audio", self._carried.plain(own), "audio/wav")
                if own
                else _present(media.audio, sample)
            )
        return tuple(parts)


def _present(part: MediaPart | None, sample: Sample) -> MediaPart:
    if part is None:
        raise MediaError(f"sample {sample.id}: no sound was prepared")
    return part


def _missing_message(sample: Sample, input_mode: str) -> str:
    name = sample.cluster
    video, audio = f"Videos/{name}/{name}_video.mp4", f"Videos/{name}/{name}_audio.wav"
    wanted = f"{audio} or {video}" if input_mode == "audio" else video
    return f"no media for video {name}: expected {wanted}; fetch the file, or run the rest as it is"
