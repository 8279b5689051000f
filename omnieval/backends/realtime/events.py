"""The events of a full-duplex session, by both spellings, and what makes one unusable."""

from __future__ import annotations

import json
from typing import Any

from omnieval.backends import faults
from omnieval.backends.failed import FailedTry
from omnieval.types import Failure, JsonDict

AUDIO = ("response.audio.delta", "response.output_audio.delta")
TRANSCRIPT = ("response.audio_transcript.delta", "response.output_audio_transcript.delta")
TEXT = ("response.text.delta", "response.output_text.delta")
# What only echoes an event of ours; it comes also where the model hangs.
ECHOES = ("session.heartbeat_ack", "playback.acknowledged")
_MOST_LEVELS = 64


def event_of(frame: str | bytes) -> JsonDict:
    """The event in a frame. Raises FailedTry for anything else."""
    try:
        event = json.loads(frame)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or _too_deep(event):
        shown = faults.shorten(frame if isinstance(frame, str) else repr(frame[:200]))
        hint = "the server or a proxy sent a damaged frame; look at their logs"
        raise FailedTry(Failure("protocol", f"expected an event, found: {shown}", retryable=True, hint=hint))
    return event


def delta_of(event: JsonDict) -> str:
    """What an event adds, maybe nothing. Raises FailedTry where it has no delta, or one that is no text."""
    delta = event.get("delta")
    if not isinstance(delta, str):
        found = faults.shorten(json.dumps(delta)) if "delta" in event else "none"
        message = f"{event['type']}: expected a delta that is text, found: {found}"
        hint = "this is a fault of the server; look at its version and its log"
        raise FailedTry(Failure("protocol", message, retryable=True, hint=hint))
    return delta


def told_of(event: JsonDict) -> JsonDict:
    """What the server tells of its own work, with an event or with the response in it: `stage_metrics`, times
    of the model's stages, and `response_request_metrics`, its own TTFT and TTFP (ms)."""
    told: JsonDict = {}
    for carrier in (event, event.get("response")):
        metadata = _within(carrier, "metadata")
        for place in (
            _within(carrier, "metrics"), _within(metadata, "duplex_event"), _within(metadata, "vllm_omni"),
        ):  # fmt: skip
            for name in ("stage_metrics", "response_request_metrics"):
                if found := _within(place, name):
                    told[name] = {**told.get(name, {}), **found}
    return told


def _within(place: Any, name: str) -> JsonDict:
    found = place.get(name) if isinstance(place, dict) else None
    return found if isinstance(found, dict) else {}


def _too_deep(event: JsonDict) -> bool:
    """No event has so many levels, and whoever walks through one must come to its ground."""
    level: list[Any] = [event]
    for _ in range(_MOST_LEVELS):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        ]
    return bool(level)
