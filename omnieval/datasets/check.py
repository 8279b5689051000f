"""Whether a data set is whole: its rows counted, its media opened, probed and hashed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from omnieval.benchmarks import rows
from omnieval.benchmarks.base import Dataset
from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import RunConfig, Strict, load_recipe, resolve
from omnieval.datasets.file_facts import FileFacts, all_facts
from omnieval.datasets.known import KnownSize, known_size
from omnieval.media.source import is_there
from omnieval.recipe_files import find_recipe
from omnieval.types import Sample
from omnieval.wording import counted

# A video may be this much longer or shorter than the class that its rows name, and than its sound.
_CLASS_TOLERANCE_S, _SOUND_TOLERANCE_S = 5.0, 1.0
# Benchmarks every question of which is about a video.
_ABOUT_VIDEOS = ("daily-omni", "video-mme")
# What only some uses of a data set need.
_OPTIONAL_ROLES = frozenset({"recording"})

Told = Callable[[int, int], None]


@dataclass(frozen=True)
class Durations:
    """Seconds, of the files whose tracks tell theirs."""

    files: int
    shortest_s: float
    median_s: float
    longest_s: float
    total_s: float


@dataclass(frozen=True)
class Checked:
    """What was found. Lists name rows by their id, files by their path below root; unusable tells why by id.

    questions_fingerprint is what a run of this data stores as `dataset.fingerprint`: ids, questions, options
    and answers. media_fingerprint is over the content of the files by id and role. fingerprint is over both,
    so that equal ones mean the same questions about the same bytes.
    """

    recipe: str
    root: Path
    questions: int
    videos: int
    expected: KnownSize | None
    groups: Mapping[str, Mapping[str, int]]
    files: Sequence[FileFacts]
    durations: Mapping[str, Durations]
    missing_media: Sequence[str]
    without_answer: Sequence[str]
    repeated: Sequence[str]
    conflicting: Sequence[str]
    unusable: Mapping[str, str]
    without_sound: Sequence[str]
    other_duration: Sequence[str]
    other_sound_length: Sequence[str]
    notes: Sequence[str]
    fingerprint: str
    questions_fingerprint: str
    media_fingerprint: str

    @property
    def broken(self) -> list[FileFacts]:
        """The files that cannot be used."""
        return [file for file in self.files if file.problem is not None]

    def problems(self) -> list[str]:
        """What keeps a run on this data from being one on the whole data set, one sentence each."""
        known = self.expected
        found: list[str] = []
        if known is not None and known.questions != self.questions:
            found.append(f"{counted(self.questions, 'row', 'rows')}, expected {known.questions}")
        if known is not None and known.videos is not None and known.videos != self.videos:
            found.append(f"{counted(self.videos, 'video', 'videos')}, expected {known.videos}")
        said = (
            (self.missing_media, "row whose media are missing", "rows whose media are missing"),
            (self.without_answer, "row without a usable answer", "rows without a usable answer"),
            (self.conflicting, "question with several answers", "questions with several answers"),
            (list(self.unusable.values()), "row that cannot be asked", "rows that cannot be asked"),
        )
        found += [
            f"{counted(len(names), one, many)}: {rows.few(names)}" for names, one, many in said if names
        ]
        return [*found, *(str(file.problem) for file in self.broken)]

    def remarks(self) -> list[str]:
        """What a reader should know, and what changes no count."""
        said = (
            (self.repeated, "row repeats another", "rows repeat another"),
            (self.without_sound, "video has no sound", "videos have no sound"),
            (
                self.other_duration,
                "video is not as long as its row says",
                "videos are not as long as rows say",
            ),
            (
                self.other_sound_length,
                "sound is not as long as its video",
                "sounds are not as long as their videos",
            ),
        )
        found = [f"{counted(len(names), one, many)}: {rows.few(names)}" for names, one, many in said if names]
        if self.expected is not None and self.expected.questions == self.questions:
            found += _other_groups(self.expected, self.groups)
        return [*found, *self.notes]


def check_data(
    recipe: str | Path,
    data: Path | str,
    *,
    part: bool = False,
    workers: int | None = None,
    told: Told = lambda _done, _total: None,
    overrides: Sequence[tuple[str, Any]] = (),
) -> Checked:
    """Read a data set as a recipe reads it, and every media file of it.

    recipe: name of a bundled recipe or path of one. part: do not expect the counts of the whole data set.
    workers: processes to read files with. told: hears (files done, all files). overrides: (dotted key, value)
    of recipe keys. Raises ConfigError, and DataError where the data set cannot be read at all.
    """
    path = find_recipe(recipe)
    config = resolve(
        {"recipe": path.stem} | load_recipe(path), _settings_of, overrides=[*overrides, ("data", str(data))]
    )
    dataset = BENCHMARKS.load(config.benchmark)(config).load()
    wanted = dict.fromkeys(path for sample in dataset.samples for path in sample.media.values())
    facts = all_facts([path for path in wanted if is_there(path)], workers=workers, told=told)
    return _checked(config, dataset, facts, None if part else known_size(config.benchmark, config.flat()))


def _checked(
    config: RunConfig, dataset: Dataset, facts: Mapping[Path, FileFacts], expected: KnownSize | None
) -> Checked:
    samples = dataset.samples
    good = [sample for sample in samples if sample.problem is None]
    videos = {s.cluster: s for s in good if config.benchmark in _ABOUT_VIDEOS or "video" in s.media}
    repeated, conflicting = _repeats(good)
    questions, media = dataset.fingerprint(), _media_fingerprint(samples, facts)
    return Checked(
        recipe=config.recipe,
        root=dataset.root,
        questions=len(samples),
        videos=len(videos),
        expected=expected,
        groups={
            name: dict(Counter(sample.groups[name] for sample in samples if name in sample.groups))
            for name in sorted({name for sample in samples for name in sample.groups})
        },
        files=[_below(dataset.root, path, found) for path, found in facts.items()],
        durations=_durations(facts.values()),
        missing_media=[s.id for s in good if _lacks_media(config.benchmark, s)],
        without_answer=[s.id for s in good if s.gold is None],
        repeated=repeated,
        conflicting=conflicting,
        unusable={sample.id: sample.problem.message for sample in samples if sample.problem is not None},
        without_sound=[name for name, s in videos.items() if _is_silent(s, facts)],
        other_duration=list(dict.fromkeys(s.cluster for s in good if _has_other_duration(s, facts))),
        other_sound_length=[name for name, s in videos.items() if _has_other_sound(s, facts)],
        notes=dataset.notes,
        fingerprint=hashlib.sha256(f"{questions} {media}".encode()).hexdigest()[:16],
        questions_fingerprint=questions,
        media_fingerprint=media,
    )


def _settings_of(benchmark: str) -> type[Strict]:
    settings: type[Strict] = BENCHMARKS.load(benchmark).Settings
    return settings


def _media_fingerprint(samples: Sequence[Sample], facts: Mapping[Path, FileFacts]) -> str:
    digest = hashlib.sha256()
    for sample in samples:
        media = {role: facts[path].sha256 for role, path in sample.media.items() if path in facts}
        digest.update(json.dumps([sample.id, sorted(media.items())], ensure_ascii=False).encode())
    return digest.hexdigest()[:16]


def _below(root: Path, path: Path, facts: FileFacts) -> FileFacts:
    """The facts with a path below the root, where it lies there."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return FileFacts(
        name, facts.bytes, facts.sha256, facts.video_s, facts.audio_s, facts.has_audio, facts.problem
    )


def _lacks_media(benchmark: str, sample: Sample) -> bool:
    if benchmark in _ABOUT_VIDEOS and "video" not in sample.media:
        return True
    return any(role not in _OPTIONAL_ROLES and not is_there(path) for role, path in sample.media.items())


def _repeats(samples: Sequence[Sample]) -> tuple[list[str], list[str]]:
    """(ids of rows that repeat an earlier one, ids of the first of those with several answers)."""
    same: dict[tuple[Any, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        media = tuple(sorted(map(str, sample.media.values()))) if sample.options else (sample.id,)
        same[sample.cluster, sample.question, sample.options, media].append(sample)
    several = [group for group in same.values() if len(group) > 1]
    repeated = [sample.id for group in several for sample in group[1:]]
    return repeated, [group[0].id for group in several if len({sample.gold for sample in group}) > 1]


def _durations(files: Any) -> dict[str, Durations]:
    by_track = {
        "video": [file.video_s for file in files if file.video_s is not None],
        "sound": [file.audio_s for file in files if file.audio_s is not None],
    }
    return {
        track: Durations(len(found), min(found), median(found), max(found), sum(found))
        for track, found in by_track.items()
        if found
    }


def _is_silent(sample: Sample, facts: Mapping[Path, FileFacts]) -> bool:
    found = [facts[path] for path in sample.media.values() if path in facts]
    return bool(found) and not any(file.has_audio or file.problem for file in found)


def _has_other_duration(sample: Sample, facts: Mapping[Path, FileFacts]) -> bool:
    """Whether a video is not as long as its row says (`30s`)."""
    said = sample.groups.get("duration", "").removesuffix("s")
    measured_s = _video_s(sample, facts)
    return said.isdigit() and measured_s is not None and abs(measured_s - int(said)) > _CLASS_TOLERANCE_S


def _has_other_sound(sample: Sample, facts: Mapping[Path, FileFacts]) -> bool:
    """Whether a file of sound that stands beside a video has another length."""
    audio, video_s = sample.media.get("audio"), _video_s(sample, facts)
    audio_s = facts[audio].audio_s if audio is not None and audio in facts else None
    return audio_s is not None and video_s is not None and abs(audio_s - video_s) > _SOUND_TOLERANCE_S


def _video_s(sample: Sample, facts: Mapping[Path, FileFacts]) -> float | None:
    video = sample.media.get("video")
    return facts[video].video_s if video is not None and video in facts else None


def _other_groups(expected: KnownSize, groups: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Groups whose counts are not those of the whole data set."""
    return [
        f"{name}: {_counts(groups.get(name, {}))}; expected {_counts(counts)}"
        for name, counts in expected.groups.items()
        if dict(counts) != dict(groups.get(name, {}))
    ]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{value} {count}" for value, count in sorted(counts.items())) or "none"
