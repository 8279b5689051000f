"""Seed-TTS: say a text in the voice of a recording; scored by what is heard and by whose voice it is.

Data layout (seed-tts-eval): `{en,zh}/meta.lst`, `zh/hardcase.lst`, `{en,zh}/prompt-wavs/`, `{en,zh}/wavs/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

from omnieval.benchmarks import rows
from omnieval.benchmarks.base import Dataset
from omnieval.benchmarks.hub import local_folder
from omnieval.benchmarks.seed_tts_list import ListLine, UtteranceList, locate, read_list
from omnieval.config import RecogniserConfig, RunConfig, SimilarityConfig, Strict
from omnieval.errors import ConfigError, MediaError
from omnieval.media.carried import CarriedFiles
from omnieval.media.source import archive_of, is_there
from omnieval.types import (
    Failure,
    Generation,
    MediaPart,
    MediaPlan,
    Message,
    PreparedMedia,
    Request,
    Sample,
    SpeechTask,
    TextPart,
)

_HANZI = re.compile(r"[\u3400-\u9fff]")
# The backends that give recordings back need no voice to copy.
_LONGEST_NAME = 200  # bytes; a file of it gets a suffix
_RECORDED = ("ground-truth", "recorded")


class Settings(Strict):
    """The recipe keys of Seed-TTS; `recipes/seed-tts-en.yaml` comments on each."""

    language: Literal["en", "zh"] = "en"
    utterances: str = "meta.lst"
    variant: Literal["clone", "voice", "design"] = "clone"
    voice: str | None = None
    system_prompt: str | None = None
    score: Literal["now", "later"] = "later"
    recogniser: RecogniserConfig = RecogniserConfig()
    similarity: SimilarityConfig = SimilarityConfig()


def _refuse_senseless(config: RunConfig, task: Settings) -> None:
    """Raises ConfigError for settings that would be named in the report and do nothing."""
    senseless = {
        "media=none": config.media != "full",
        f"question_place={config.question_place}": config.question_place != "after",
        f"options.order={config.options.order}": config.options.order != "original",
        "decode.constrain": config.decode.constrain is not None,
        f"parser={config.parser}": config.parser != "official",
        "voice without variant=voice": task.variant != "voice" and task.voice is not None,
    }
    named = [name for name, wrong in senseless.items() if wrong]
    if named:
        raise ConfigError(
            f"Seed-TTS asks for sounds, for which {', '.join(named)} means nothing; leave it out"
        )
    if task.variant == "voice" and not task.voice:
        raise ConfigError("variant voice needs the name of the voice: --set voice=NAME")


class SeedTTS:
    """The benchmark, configured; follows `omnieval.benchmarks.base.Benchmark`."""

    Settings: type[Strict] = Settings
    scoring: Literal["speech"] = "speech"
    default_parser = "official"
    group_keys: tuple[str, ...] = ()

    def __init__(self, config: RunConfig) -> None:
        assert isinstance(config.task, Settings)
        self._config = config
        self._task = config.task
        self._carried = CarriedFiles(config.cache_dir)
        self._list = self._task.utterances
        _refuse_senseless(config, self._task)

    def headline(self) -> Mapping[str, str]:
        task = self._task
        named = {"voice": task.voice} if task.variant == "voice" and task.voice else {}
        kind = "recordings" if self._config.backend in _RECORDED else task.variant
        return {"language": task.language, "list": self._list, "variant": kind} | named

    def load(self) -> Dataset:
        if self._config.data is None:
            raise ConfigError(
                "seed-tts needs its data: give --data DIR (the folder with en/meta.lst and zh/meta.lst, or "
                "seedtts_testset.tar), a list file itself, or --sample for the bundled sample"
            )
        task = self._task
        data = local_folder(self._config.data, patterns=[f"{task.language}/**", "*.tar"])
        found = read_list(locate(data, task.language, task.utterances))
        self._list = found.path.name
        self._check_script(found)
        folder = found.path.parent.resolve()
        names = [_file_name(line) for line in found.lines]
        ids = _distinct(names)
        samples = tuple(self._sample(line, row, folder, ids[row]) for row, line in enumerate(found.lines))
        return Dataset(root=folder, samples=samples, notes=(*found.notes, *self._missing(samples)))

    def asks(self, sample: Sample) -> bool:
        del sample
        return True

    def plan(self, sample: Sample) -> MediaPlan | None:
        reference = self._reference(sample)
        if reference is None:
            return None
        if not is_there(reference):
            raise MediaError(
                f"sample {sample.id}: no reference voice at {reference}; fetch the file, or run the rest as "
                "it is",
                kind="media_missing",
            )
        return MediaPlan(
            video=None,
            audio=self._plain(reference),
            frame_plan="none",
            max_frames=1,
            frames=False,
            segments=False,
        )

    def pack(self, sample: Sample, media: PreparedMedia) -> Request:
        del media  # the reference goes out as it is
        task, config = self._task, self._config
        reference = self._reference(sample)
        reference = None if reference is None else self._plain(reference)
        recording = sample.media.get("recording") if config.backend == "ground-truth" else None
        system = (Message("system", (TextPart(task.system_prompt),)),) if task.system_prompt else ()
        return Request(
            sample_id=sample.id,
            messages=(*system, Message("user", (TextPart(sample.question),))),
            generation=Generation(**config.decode.model_dump()),
            question=sample.question,
            modalities=config.modalities,
            extra_body={key: value for key, value in config.extra_body.items() if value is not None},
            speech=SpeechTask(
                text=sample.question,
                language=task.language,
                reference_audio=None if reference is None else MediaPart("audio", reference, "audio/wav"),
                reference_text=None if reference is None else sample.details.get("prompt_text"),
                voice=task.voice if task.variant == "voice" else None,
                instructions=sample.details.get("voice") if task.variant == "design" else None,
                recording=None if recording is None else self._plain(recording),
            ),
        )

    def media_folders(self, dataset: Dataset, cache: Path) -> list[Path]:
        return [cache] if archive_of(dataset.root) is not None else [dataset.root]

    def _plain(self, path: Path) -> Path:
        """A file that goes out as it is; what lies in an archive is copied into the cache."""
        return self._carried.plain(path) if is_there(path) else path

    def _reference(self, sample: Sample) -> Path | None:
        """The voice to copy, where one is asked for."""
        if self._task.variant != "clone" or self._config.backend in _RECORDED:
            return None
        return sample.media.get("reference")

    def _check_script(self, found: UtteranceList) -> None:
        """Refuse a list in the other language. Raises ConfigError."""
        text = "".join(line.text for line in found.lines)
        letters = sum(character.isalpha() for character in text)
        chinese = len(_HANZI.findall(text))
        if letters and (chinese > letters / 2) != (self._task.language == "zh"):
            other = "zh" if chinese > letters / 2 else "en"
            raise ConfigError(
                f"{found.path}: most of this list is not in language {self._task.language}; "
                f"set language={other}"
            )

    def _sample(self, line: ListLine, row: int, folder: Path, sample_id: str) -> Sample:
        media: dict[str, Path] = {}
        details: dict[str, str] = {}
        copies = self._task.variant == "clone" or self._config.backend in _RECORDED
        if line.prompt_wav is not None and copies:
            media["reference"] = folder / line.prompt_wav
        if line.prompt_text is not None:
            details["prompt_text"] = line.prompt_text
        if self._task.variant == "design":
            details |= {"voice": line.fifth} if line.fifth else {}
        else:
            recording = folder / (line.fifth or f"wavs/{line.utterance}.wav")
            media["recording"] = recording
        problem = self._problem(line)
        return Sample(
            id=sample_id,
            benchmark="seed-tts",
            question=line.text,
            options=(),
            gold=line.text or None,
            groups={},
            cluster=line.prompt_wav or line.utterance,
            media=media,
            row=row,
            problem=None if problem is None else Failure("data", problem),
            details=details,
        )

    def _problem(self, line: ListLine) -> str | None:
        if line.problem is not None:
            return line.problem
        files = [line.prompt_wav, None if self._task.variant == "design" else line.fifth]
        if self._config.backend == "recorded":
            return None  # nothing of it is sent anywhere
        if any(_leaves_folder(name) for name in files if name):
            return (
                f"line {line.number} ({line.utterance}) names a file outside the list's folder; "
                "use relative paths below it"
            )
        if self._config.backend in _RECORDED:
            return None
        if self._task.variant == "clone" and line.prompt_wav is None:
            return (
                f"line {line.number} ({line.utterance}) names no reference voice; "
                "set variant=voice and voice=NAME"
            )
        if self._task.variant == "design" and (line.fifth or ".wav").lower().endswith(".wav"):
            return f"line {line.number} ({line.utterance}) describes no voice in a fifth field"
        return None

    def _missing(self, samples: tuple[Sample, ...]) -> list[str]:
        """What is named but not there, said before the first request."""
        wanted = "recording" if self._config.backend == "ground-truth" else "reference"
        if self._task.variant != "clone" and wanted == "reference":
            return []
        missing = [
            sample.id
            for sample in samples
            if sample.problem is None and wanted in sample.media and not is_there(sample.media[wanted])
        ]
        what = "ground-truth recordings" if wanted == "recording" else "reference voices"
        return [f"{len(missing)} {what} are missing, of {rows.few(missing)}"] if missing else []


def _leaves_folder(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or "\0" in name


def _file_name(line: ListLine) -> str:
    """The utterance's id where it can name a file, else a stand-in."""
    name = line.utterance
    short = len(name.encode("utf-8", "replace")) <= _LONGEST_NAME
    if name and rows.unsafe_name(name) is None and name.isprintable() and short:
        return name
    return f"line{line.number}"


def _distinct(names: list[str]) -> list[str]:
    """Each name once: the first line of a name keeps it, later ones get -2, -3 ..., never another line's."""
    taken = set(names)
    seen: set[str] = set()
    ids = []
    for name in names:
        ids.append(rows.unique_id(name, taken) if name in seen else name)
        seen.add(name)
    return ids
