"""Speech: what a recogniser heard against what should have been said, by the official protocols."""

from omnieval.scoring.speech.average import WerAverage, average_wer
from omnieval.scoring.speech.wer import (
    EmptyReferenceError,
    WordErrors,
    aligned_words,
    lenient_wer,
    official_wer,
)

__all__ = [
    "EmptyReferenceError",
    "WerAverage",
    "WordErrors",
    "aligned_words",
    "average_wer",
    "lenient_wer",
    "official_wer",
]
