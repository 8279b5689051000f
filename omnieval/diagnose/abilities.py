"""What a backend cannot be asked on a rung: it would refuse, or answer as without the rung's change."""

from __future__ import annotations

from pathlib import Path

from omnieval.backends.llamacpp.programs import FRAMES_PROGRAM
from omnieval.config import RunConfig

# They read a request's question and media, and nothing of how it is asked.
_OF_OUR_OWN = frozenset({"embedded", "chance"})
_SETTINGS = frozenset({"image-id", "thinking"})


def unable(rung: str, config: RunConfig) -> str | None:
    """Why the backend cannot do a rung, None where it can. config: of the rung."""
    if config.backend in _OF_OUR_OWN and rung in _SETTINGS | {"order"}:
        return f"the backend {config.backend} takes no such setting"
    if config.backend == "realtime-duplex" and rung != "text":
        return "a full-duplex session takes no media with a question, and no such setting"
    if config.backend != "llamacpp-omni":
        return None
    if rung in _SETTINGS:
        return "llama.cpp-omni takes no such setting from a request"
    return _unable_programs(rung, config) if config.llamacpp.transport == "cli" else None


def _unable_programs(rung: str, config: RunConfig) -> str | None:
    """The evaluation programs show picture, sound, picture, sound, ..., and then the text."""
    http = "; llamacpp.transport=http keeps any order"
    if rung == "order":
        return f"llama.cpp-omni's evaluation programs show the media before the text{http}"
    if not _cuts_sound(config):
        if config.media == "none" or config.flat().get("input_mode") != "audio":
            return None
        return f"llama.cpp-omni's evaluation programs hear no sound without a picture{http}"
    if Path(config.llamacpp.program or "").name == FRAMES_PROGRAM:
        return f"{FRAMES_PROGRAM} takes pictures alone; llamacpp.program=null takes the right one"
    if rung == "stacked":
        return f"llama.cpp-omni's evaluation programs show one picture before each sound{http}"
    return None


def _cuts_sound(config: RunConfig) -> bool:
    """Whether sounds follow the frames."""
    flat = config.flat()
    interleaves = flat.get("packing") in ("minicpm-interleave", "interleave")
    return config.media == "full" and interleaves and flat.get("input_mode", "all") == "all"
