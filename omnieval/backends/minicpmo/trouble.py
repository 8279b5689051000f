"""What an exception of torch, transformers or the model's own code says, and what to do about it."""

from __future__ import annotations

_LONGEST_ERROR = 2000


def hint_of(error: Exception) -> str:
    if "out of memory" in str(error).lower() or isinstance(error, MemoryError):
        return "free the card of other processes, or lower max_frames or transformers.num_beams"
    if "trust_remote_code" in str(error):
        return "read the model's code, then allow it with --set engine.trust_remote_code=true"
    return "is this the folder of a MiniCPM-o, and does this transformers suit it? See the model's card"


def words(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]} ..."
