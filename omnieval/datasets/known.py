"""How large the published data sets are. Sources: the benchmarks' papers and repositories, and full runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KnownSize:
    """questions: rows of the whole data set. videos: None where it has none. groups: rows by group and
    value."""

    questions: int
    videos: int | None = None
    groups: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


_DAILY_OMNI = KnownSize(
    1197,
    684,
    {
        "type": {
            "Comparative": 131,
            "Inference": 154,
            "Reasoning": 175,
            "AV Event Alignment": 238,
            "Context understanding": 193,
            "Event Sequence": 306,
        },
        "duration": {"30s": 647, "60s": 550},
    },
)
_VIDEO_MME = KnownSize(2700, 900, {"duration": {"short": 900, "medium": 900, "long": 900}})
# By language and list.
_SEED_TTS = {("en", "meta.lst"): 1088, ("zh", "meta.lst"): 2020, ("zh", "hardcase.lst"): 400}


def known_size(benchmark: str, settings: Mapping[str, object]) -> KnownSize | None:
    """The size of a benchmark's data set as its settings choose it; None for one that anybody may make."""
    if benchmark == "daily-omni":
        return _DAILY_OMNI
    if benchmark == "video-mme":
        return _VIDEO_MME
    if benchmark == "seed-tts":
        lines = _SEED_TTS.get((str(settings.get("language")), str(settings.get("utterances"))))
        return None if lines is None else KnownSize(lines)
    return None
