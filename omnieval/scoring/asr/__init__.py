"""What a recogniser hears in a sound; another recogniser, model or decoding hears something else."""

from omnieval.scoring.asr.base import RECOGNISERS, Recogniser, load_recogniser
from omnieval.scoring.asr.transcribe import Transcript, TranscriptCache, transcribe

__all__ = ["RECOGNISERS", "Recogniser", "Transcript", "TranscriptCache", "load_recogniser", "transcribe"]
