"""Any multiple-choice set: a file of rows, or a data set of a hub, with its columns named in the recipe.

Rows have a question, 2 to 26 options, an answer, and any of a video, a sound and pictures. OmniBench,
WorldSense and sets of their kind need a recipe only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from omnieval.benchmarks import prompts, rows
from omnieval.benchmarks.base import Dataset
from omnieval.benchmarks.choice_request import choice_request, frames_and_sounds
from omnieval.benchmarks.frame_settings import FrameSettings
from omnieval.benchmarks.hub import blobs_of, hub_id, hub_rows, snapshot_of
from omnieval.benchmarks.mcq_columns import Columns, Layout
from omnieval.benchmarks.mcq_rows import AnswerKind, SampleMaker, data_notes
from omnieval.benchmarks.row_files import no_splits, read_all, row_files
from omnieval.config import RunConfig, Strict
from omnieval.errors import ConfigError, DataError, MediaError
from omnieval.media.cache import default_cache_dir
from omnieval.media.carried import CarriedFiles
from omnieval.media.probe import probe, video_mime
from omnieval.media.source import archived, is_there
from omnieval.types import (
    MediaPart,
    MediaPlan,
    Part,
    PreparedMedia,
    Request,
    Sample,
)

_MIMES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".bmp": "image/bmp",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".m4a": "audio/mp4",
}


class Settings(FrameSettings):
    """The recipe keys of a multiple-choice set; `recipes/mcq.yaml` comments on each."""

    columns: Columns = Columns()
    answer_is: AnswerKind = "auto"
    media_root: Path | None = None
    split: str | None = None
    packing: Literal["interleave", "frames", "video-url"] = "interleave"
    sound: Literal["wav", "original"] = "wav"
    prompt: Literal["omnievalkit", "official", "plain"] = "omnievalkit"
    system_prompt: str | None = None


class MultipleChoice:
    """The benchmark, configured; follows `omnieval.benchmarks.base.Benchmark`."""

    Settings: type[Strict] = Settings
    scoring: Literal["choice"] = "choice"
    default_parser = "careful"

    def __init__(self, config: RunConfig) -> None:
        assert isinstance(config.task, Settings)
        self._config = config
        self._task = config.task
        self.group_keys: tuple[str, ...] = tuple(config.task.columns.groups)
        self._cache_root = config.cache_dir or default_cache_dir()
        self._carried = CarriedFiles(self._cache_root)

    def headline(self) -> Mapping[str, str]:
        task = self._task
        return {
            "packing": task.packing,
            "plan": task.frames_headline(),
            "prompt": task.prompt,
        }

    def load(self) -> Dataset:
        if self._config.data is None:
            raise ConfigError(
                "a multiple-choice set needs its data: give --data FILE (parquet, JSON, JSON lines or CSV), "
                "a folder with one, or hf:ORGANISATION/NAME; or --sample with a recipe that has a sample"
            )
        table, source, root = self._rows(self._config.data)
        if not table:
            raise rows.no_rows(source)
        layout = Layout.of(table, self._task.columns, source)
        self.group_keys = tuple(layout.groups)
        maker = SampleMaker(
            layout,
            media_root=self._media_root(root),
            cache=self._cache_root,
            answers=self._task.answer_is,
        )
        samples = tuple(maker.sample(row, number) for number, row in enumerate(table))
        given = [
            rows.text(r, *layout.columns["id"])
            for r in table
            if layout.columns["id"] and isinstance(r, Mapping)
        ]
        notes = [*data_notes(maker, samples, given), *layout.unused_notes(table, samples)]
        return Dataset(root, samples, tuple(notes))

    def asks(self, sample: Sample) -> bool:
        del sample  # select.filter takes any group
        return True

    def plan(self, sample: Sample) -> MediaPlan | None:
        if self._config.media == "none":
            return None
        task = self._task
        for path in sample.media.values():
            if archived(path) is None and not is_there(path):
                raise MediaError(f"{path}: no such file; fetch it, or set media_root", kind="media_missing")
        for role, path in sample.media.items():
            if role.startswith("image"):
                self._carried.plain(path)
            elif role.startswith("audio") and (task.sound == "original" or role != "audio"):
                self._check_sound(path, first=role == "audio")
        video, sound = sample.media.get("video"), sample.media.get("audio")
        if video is None and (sound is None or task.sound == "original"):
            return None
        by_frame = video is not None and task.packing != "video-url"
        segments = by_frame and task.packing == "interleave"
        return task.media_plan(
            video=video,
            audio=sound,
            frames=by_frame,
            segments=segments,
            whole_audio=sound is not None and not segments and task.sound == "wav",
            whole_video=video is not None and not by_frame,
        )

    def pack(self, sample: Sample, media: PreparedMedia) -> Request:
        with_media = self._config.media != "none"
        return choice_request(
            self._config,
            sample,
            self._text(sample),
            media=self._media_parts(sample, media) if with_media else (),
            packing=self._task.packing if with_media and "video" in sample.media else None,
            system_prompt=self._task.system_prompt,
        )

    def media_folders(self, dataset: Dataset, cache: Path) -> list[Path]:
        if not any(sample.media for sample in dataset.samples):
            return [cache]
        root = self._media_root(dataset.root)
        blobs = blobs_of(root)
        return [root, *([blobs] if blobs else []), cache]

    def _check_sound(self, path: Path, *, first: bool) -> None:
        """A sound that goes out as it is must be one, and a WAV where the recipe says so."""
        if not first and self._task.sound == "wav" and path.suffix.lower() != ".wav":
            raise MediaError(
                f"{path}: only a row's first sound is made a WAV; set sound=original for this set"
            )
        plain = self._carried.plain(path)
        try:
            audio = probe(plain).audio
        except MediaError as error:
            raise MediaError(str(error).replace(str(plain), str(path)), kind=error.kind) from error
        if audio is None:
            raise MediaError(f"{path}: no audio track in it; fetch the file again")

    def _rows(self, data: Path) -> tuple[list[Any], Path, Path]:
        """(rows, what they were read from, folder that relative paths start from)."""
        name = hub_id(data)
        if name is not None:
            return hub_rows(name, self._task.split), data, Path.cwd()
        if rows.first_file([data]):
            if self._task.split is not None:
                raise no_splits(self._task.split, str(data))
            return read_all([data]), data, data.parent
        if not os.path.isdir(data):  # noqa: PTH112 - never raises
            raise DataError(f"{data}: no such file or folder; check the path that --data gives")
        root = snapshot_of(data)
        files = row_files(root, self._task.split)
        return read_all(files), files[0], root

    def _media_root(self, root: Path) -> Path:
        given = self._task.media_root
        return root if given is None else (root / given.expanduser())

    def _text(self, sample: Sample) -> str:
        if self._task.prompt == "official":
            return prompts.video_mme_official(sample.question, sample.options)
        if self._task.prompt == "plain":
            return prompts.plain_choice(sample.question, sample.options)
        return prompts.omnievalkit_choice(sample.question, sample.options)

    def _media_parts(self, sample: Sample, media: PreparedMedia) -> list[Part]:
        """Pictures, then the video, then sounds, in the order in which the row has them."""
        parts: list[Part] = [
            self._picture(path) for role, path in sample.media.items() if role.startswith("image")
        ]
        parts += frames_and_sounds(media)
        video = sample.media.get("video")
        if video is not None and self._task.packing == "video-url":
            parts.append(media.video or MediaPart("video", video, video_mime(video)))
        for role, path in sample.media.items():
            if role.startswith("audio") and not (role == "audio" and media.segments):
                whole = media.audio if role == "audio" else None
                parts.append(whole or self._sound(path))
        return parts

    def _sound(self, path: Path) -> MediaPart:
        """A sound as it is; `plan` has checked that it is one."""
        return MediaPart("audio", self._carried.plain(path), _MIMES.get(path.suffix.lower(), "audio/wav"))

    def _picture(self, path: Path) -> MediaPart:
        """A picture as it is. Raises MediaError when it is none."""
        from PIL import Image

        plain = self._carried.plain(path)
        try:
            with Image.open(plain) as image:
                mime = Image.MIME.get(image.format or "") or _MIMES.get(path.suffix.lower(), "image/jpeg")
                if image.format == "PNG":
                    image.verify()
                else:  # which looks at no more than the header of other formats
                    image.draft("L", (max(1, image.width // 8), max(1, image.height // 8)))
                    image.load()
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            reason = str(error).replace(str(plain), path.name)
            raise MediaError(f"{path}: cannot be read as a picture ({reason}); fetch it again") from error
        return MediaPart("image", plain, mime)
