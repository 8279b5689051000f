"""What a benchmark is, and what the benchmarks share when they read rows."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from omnieval.config import RunConfig, SelectConfig, Strict
from omnieval.errors import ConfigError
from omnieval.types import MediaPlan, PreparedMedia, Request, Sample
from omnieval.wording import suggest


@dataclass(frozen=True)
class Dataset:
    """All rows of a data set, in its own order.

    root: the folder it was read from. notes: what a reader of the report must know of the data
    (duplicates, missing media), one sentence each. source: the samples as the data set has them, where
    `samples` asks them in another form.
    """

    root: Path
    samples: tuple[Sample, ...]
    notes: tuple[str, ...] = ()
    source: tuple[Sample, ...] | None = None

    def fingerprint(self) -> str:
        """Hash over ids, questions, options and answers: equal for equal questions, wherever they lie."""
        digest = hashlib.sha256()
        for sample in self.samples if self.source is None else self.source:
            row = [sample.id, sample.question, list(sample.options), sample.gold]
            digest.update(json.dumps(row, ensure_ascii=False).encode())
        return digest.hexdigest()[:16]


class Benchmark(Protocol):
    """One benchmark, configured. Implementations live one a module and are found by the registry.

    Settings: pydantic model of the benchmark's own recipe keys. scoring: `choice` (a letter is read from the
    reply) or `speech` (the sound is heard). default_parser: the rule that `parser: official` stands for.
    group_keys: the `Sample.groups` that a report tabulates.
    """

    Settings: type[Strict]
    scoring: Literal["choice", "speech"]
    default_parser: str
    group_keys: tuple[str, ...]

    def __init__(self, config: RunConfig) -> None: ...

    def load(self) -> Dataset:
        """Read every row. Raises DataError when the data set as a whole cannot be used."""

    def asks(self, sample: Sample) -> bool:
        """Whether the benchmark's own settings ask this sample; the others are counted as not selected."""

    def plan(self, sample: Sample) -> MediaPlan | None:
        """What the sample needs prepared, or None. Raises MediaError when a needed file is missing."""

    def pack(self, sample: Sample, media: PreparedMedia) -> Request:
        """The request, parts in the order in which the model must see them."""

    def media_folders(self, dataset: Dataset, cache: Path) -> list[Path]:
        """The folders that media parts point into, for a server that reads files itself."""

    def headline(self) -> Mapping[str, str]:
        """The settings without which a score cannot be compared, for the report's first line."""


def select(samples: Sequence[Sample], choice: SelectConfig) -> list[Sample]:
    """The samples that a run asks, in asking order: those of one cluster follow each other.

    filter keeps samples whose groups match every given value; sample_id keeps the named ones;
    shuffle_seed shuffles whole clusters; limit keeps the first so many, in the data set's order or in the
    shuffled one.
    Raises ConfigError for an unknown group, value or id, with the nearest known one.
    """
    chosen = list(samples)
    for key, value in choice.filter.items():
        _check_filter(samples, key, value)
        chosen = [sample for sample in chosen if sample.groups.get(key) == value]
    if choice.sample_id:
        known = {sample.id for sample in samples}
        for wanted in choice.sample_id:
            if wanted not in known:
                raise ConfigError(f"no sample has the id {wanted!r}{suggest_near(wanted, known)}")
        chosen = [sample for sample in chosen if sample.id in set(choice.sample_id)]
    if choice.limit is not None and choice.shuffle_seed is None:
        chosen = chosen[: choice.limit]
    clusters: dict[str, list[Sample]] = defaultdict(list)
    for sample in chosen:
        clusters[sample.cluster].append(sample)
    names = list(clusters)
    if choice.shuffle_seed is not None:
        names.sort(key=lambda name: hashlib.sha256(f"{choice.shuffle_seed}:{name}".encode()).digest())
    ordered = [sample for name in names for sample in clusters[name]]
    if choice.limit is not None:
        ordered = ordered[: choice.limit]
    if not ordered:
        raise ConfigError(
            "the selection (filter, sample_id, settings such as durations) leaves nothing to ask; widen it"
        )
    return ordered


def suggest_near(word: str, known: Iterable[str]) -> str:
    """Like `suggest`, but silent instead of listing a whole data set when nothing is near."""
    text = suggest(word, known)
    return text if text.startswith(" (did") else "; `samples.jsonl` of any run lists the ids"


def _check_filter(samples: Sequence[Sample], key: str, value: str) -> None:
    keys = {name for sample in samples for name in sample.groups}
    if key not in keys:
        known = (
            f"filter by one of {', '.join(sorted(keys))}"
            if keys
            else "this data set has no groups (columns.groups names them)"
        )
        near = suggest(key, keys)
        raise ConfigError(f"unknown filter key {key!r}{near if near.startswith(' (did') else ''}; {known}")
    values = {sample.groups[key] for sample in samples if key in sample.groups}
    if value not in values:
        raise ConfigError(f"no sample has {key} {value!r}{suggest(value, values)}")
