"""Published word error rates and similarities to lay a spoken run beside, from `recipes/reference/*.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from omnieval.errors import ConfigError
from omnieval.recipe_files import recipe_folder
from omnieval.scoring.speaker.average import SimilarityAverage
from omnieval.scoring.speech import WerAverage

# Keys that make a known result one of the same list.
_OF_THE_LIST = ("language", "utterances")
# What the names of the official recognisers' models, also of local copies, have in them.
_OFFICIAL_MODELS: Mapping[str, str] = {"whisper-hf": "large-v3", "paraformer": "paraformer-zh"}
_OFFICIAL_SIZE = "24 layers of 1024"


@dataclass(frozen=True, slots=True)
class SpeechReference:
    """One known result. wer: percent. similarity: mean cosine by `encoder`; recogniser: who heard it. rows:
    lines of the list. setting: recipe keys that it was measured with. latency: known figures, by the names of
    `omnieval.types.Timing`. caveat: what else keeps them from being compared as they stand."""

    name: str
    wer: float | None
    similarity: float | None
    recogniser: str
    encoder: str
    rows: tuple[int, ...]
    setting: Mapping[str, Any]
    latency: Mapping[str, float] = field(default_factory=dict)
    caveat: str | None = None


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
    latency: Mapping[str, float] = field(default_factory=dict)


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
                entry["name"], entry.get("wer"), entry.get("similarity"), entry.get("recogniser", ""),
                entry.get("encoder", ""), tuple(entry["rows"]), entry["setting"],
                entry.get("latency", {}), entry.get("caveat"),
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
    encoder: Mapping[str, str] | None,
) -> tuple[SpeechReferenceRow, ...]:
    """The known results in the run's language and list; similarities by another encoder, or words heard by
    another recogniser, are named as not comparable."""
    found = []
    for reference in references:
        if any(config.get(key) != reference.setting.get(key) for key in _OF_THE_LIST):
            continue
        found.append(
            SpeechReferenceRow(
                reference.name,
                reference.wer,
                reference.similarity,
                reference.encoder,
                _setting_caveat(reference, config, rows=rows, whole_set=whole_set),
                None if wer is None or recogniser is None else _recogniser_caveat(reference, recogniser),
                None if similarity is None or encoder is None else _encoder_caveat(reference, encoder),
                reference.latency,
            )
        )
    return tuple(found)


def _setting_caveat(
    reference: SpeechReference, config: Mapping[str, Any], *, rows: int, whole_set: bool
) -> str | None:
    """Why what was said is not what the known result said."""
    if reference.caveat is not None:
        return reference.caveat
    caveats = []
    if rows not in reference.rows:
        caveats.append(f"another list ({' or '.join(map(str, reference.rows))} lines, here {rows})")
    elif not whole_set:
        caveats.append("this run asks a part of the list")
    different = [f"{key} {value}" for key, value in reference.setting.items() if config.get(key) != value]
    if different:
        caveats.append("measured with " + ", ".join(different))
    return "; ".join(caveats) or None


def _recogniser_caveat(reference: SpeechReference, recogniser: Mapping[str, str]) -> str | None:
    if reference.wer is None:
        return None
    if recogniser["name"] != reference.recogniser:
        return f"heard by {reference.recogniser}, here by {recogniser['name']}"
    official = _OFFICIAL_MODELS.get(reference.recogniser, "")
    if official not in recogniser.get("model", "").lower():
        return f"heard by {official}, here by {recogniser.get('model')}"
    return None


def _encoder_caveat(reference: SpeechReference, encoder: Mapping[str, str]) -> str | None:
    if reference.similarity is None:
        return None
    if encoder["name"] != reference.encoder:
        return f"compared by {reference.encoder}, here by {encoder['name']}"
    size = encoder.get("size", _OFFICIAL_SIZE)
    return None if size == _OFFICIAL_SIZE else f"compared by {_OFFICIAL_SIZE}, here by {size}"
