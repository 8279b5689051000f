"""The same questions with their options in another order, and the gold letter moved along.

A model that prefers a letter, or the first option, shows it here.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from omnieval.benchmarks.base import Dataset
from omnieval.benchmarks.rows import unique_id
from omnieval.config import OptionsConfig
from omnieval.parsing import lettered
from omnieval.parsing.options import LETTERS
from omnieval.types import Sample


def arrange(
    dataset: Dataset, chosen: Sequence[Sample], settings: OptionsConfig
) -> tuple[Dataset, list[Sample]]:
    """(the data set, the chosen samples) with the options in the configured order.

    `circular` gives every sample once for each of its options: the options move up by one place from one
    to the next. Samples without options stay as they are.
    """
    if settings.order == "original":
        return dataset, list(chosen)
    taken = {sample.id for sample in dataset.samples}
    arranged = {sample.id: list(_variants(sample, settings, taken)) for sample in dataset.samples}
    samples = tuple(variant for sample in dataset.samples for variant in arranged[sample.id])
    asked = [variant for sample in chosen for variant in arranged[sample.id]]
    return replace(dataset, samples=samples, source=dataset.samples), asked


def _variants(sample: Sample, settings: OptionsConfig, taken: set[str]) -> Iterator[Sample]:
    """The forms in which a sample is asked. taken: ids in use, to which those of new samples are added."""
    count = len(sample.options)
    if sample.problem is not None or not 2 <= count <= len(LETTERS):
        yield sample
    elif settings.order == "shuffle":
        order = list(range(count))
        digest = hashlib.sha256(f"{settings.seed}:{sample.id}".encode()).digest()
        random.Random(digest).shuffle(order)
        yield _reordered(sample, order)
    else:
        for turn in range(count):
            order = [(position + turn) % count for position in range(count)]
            name = unique_id(f"{sample.id}~{turn + 1}", taken)
            yield replace(_reordered(sample, order), id=name, origin=sample.id)


def _reordered(sample: Sample, order: Sequence[int]) -> Sample:
    by_letter = lettered(sample.options)
    texts = list(by_letter.values())
    moved = [texts[position] for position in order]
    labelled = texts != [option.strip() for option in sample.options]
    options = (
        [f"{letter}. {text}" for letter, text in zip(LETTERS, moved, strict=False)] if labelled else moved
    )
    gold = sample.gold
    if gold is not None:
        gold = LETTERS[order.index(list(by_letter).index(gold))]
    return replace(sample, options=tuple(options), gold=gold, order=tuple(order))
