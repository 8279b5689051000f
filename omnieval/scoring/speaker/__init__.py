"""How alike two voices are, by a named encoder: similarities of different encoders cannot be compared."""

from omnieval.scoring.speaker.average import SimilarityAverage, average_similarity
from omnieval.scoring.speaker.base import ENCODERS, SpeakerEncoder, VoiceMatcher, load_encoder

__all__ = [
    "ENCODERS",
    "SimilarityAverage",
    "SpeakerEncoder",
    "VoiceMatcher",
    "average_similarity",
    "load_encoder",
]
