"""Published word error rates and similarities to lay a spoken run beside, from `recipes/reference/*.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from omnieval.errors import ConfigError
from omnieval.recipe_files import recipe_folder
from omnieval.scoring.speaker.average import SimilarityAverage
from omnieval.scoring.speech import WerAverage


@dataclass(frozen=True, slots=True)
class SpeechReference:
    """One known result. wer: percent. similarity: mean cosine by `encoder`; recogniser: who heard it. rows:
    lines of the list. setting: recipe keys that it was measured with."""

    name: str
    wer: float | None
    similarity: float | None
    recogniser: str
    encoder: str
    rows: tuple[int, ...]
    setting: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SpeechReferenceRow:
    """A known result beside the run. caveat, wer_caveat, similarity_caveat: why both figures, or one, cannot
    be compared as they stand; None where they may."""

    name: str
    wer: float | None
    similarity: float | None
    encoder: str
    caveat: str | None
    wer_caveat: str | None
    similarity_caveat: str | None


def load_speech_references(benchmark: str) -> tuple[SpeechReference, ...]:
    """The known results of a benchmark; none where the project has none.

    Raises ConfigError when the file is not in the expected form.
    """
    path = recipe_folder() / "reference" / f"{benchmark}.yaml"
    if not path.is_file():
        return ()
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        return tuple(
            SpeechReference(
                entry["name"], entry.get("wer"), entry.get("similarity"), entry["recogniser"],
                entry["encoder"], tuple(entry["rows"]), entry["setting"],
            )
            for entry in content["results"]
        )  # fmt: skip
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not in the form of a reference file: {error!r}") from error


def reference_rows(
    references: Sequence[SpeechReference],
    config: Mapping[str, Any],
    *,
    rows: int,
    whole_set: bool,
    wer: WerAverage | None,
    recogniser: Mapping[str, str] | None,
    similarity: SimilarityAverage | None,
) -> tuple[SpeechReferenceRow, ...]:
    """The known results in the run's language and list; similarities by another encoder, or words heard by
    another recogniser, are named as not comparable."""
    found = []
    for reference in references:
        if any(config.get(key) != value for key, value in reference.setting.items()):
            continue
        caveat = wer_caveat = similarity_caveat = None
        if rows not in reference.rows:
            caveat = f"another list ({' or '.join(map(str, reference.rows))} lines, here {rows})"
        elif not whole_set:
            caveat = "this run asks a part of the list"
        if wer is not None and recogniser is not None and recogniser["name"] != reference.recogniser:
            wer_caveat = f"heard by {reference.recogniser}, here by {recogniser['name']}"
        if similarity is not None and similarity.encoder != reference.encoder:
            similarity_caveat = f"compared by {reference.encoder}, here by {similarity.encoder}"
        found.append(
            SpeechReferenceRow(
                reference.name,
                reference.wer,
                reference.similarity,
                reference.encoder,
                caveat,
                wer_caveat,
                similarity_caveat,
            )
        )
    return tuple(found)
