"""What the error events of a full-duplex session mean."""

from __future__ import annotations

from typing import Any

from omnieval.backends import faults
from omnieval.types import Failure, JsonDict

NO_DUPLEX = (
    "this server has no full-duplex sessions at /v1/realtime?duplex=1: its deploy file needs session_mode: "
    "duplex (and --base-url usually ends with /v1)"
)
_SETTING = "look at extra_body and the other settings of the session, and at the server's version"
# By the codes of vLLM-Omni; those that are not here are faults of the server, and tried again.
_CONFIGURATION = {
    "unsupported": NO_DUPLEX,
    "multi_api_duplex_unsupported": "start the server with one API process: --api-server-count 1",
    "ref_audio_required": "this model speaks in a reference voice only; name a recording with --ref-audio",
    "unsupported_ref_audio_path": "the server takes no path in extra_body; name a recording with --ref-audio",
    "unsupported_audio_format": _SETTING,
    "unsupported_turn_detection": _SETTING,
    "invalid_session_config": _SETTING,
    "invalid_duplex_runtime_config": _SETTING,
    "invalid_sliding_window_config": _SETTING,
    "invalid_input_modality": "the model hears no sound; look at the deployment",
}
_BEHIND = "input_backpressure"  # so much input waits that the server takes no more
# A listener who is late, or names what the server has forgotten, harms no answer.
_OF_PLAYBACK = {"playback_ack_too_late", "playback_item_not_found", "playback_item_mismatch"}


def is_harmless(event: JsonDict) -> bool:
    """Whether an error only says that an acknowledgement of playback was of no use."""
    return _code(event) in _OF_PLAYBACK


def refusal_of(event: JsonDict, secret: str | None) -> Failure:
    """What an error event means."""
    code = _code(event)
    message = faults.message_in(event.get("error") or event)
    said = f"{code}: {message}" if code else message
    known = faults.classify(None, said, secret=secret)
    if known.kind != "server":
        return known
    if code in _CONFIGURATION:
        return Failure("configuration", known.message, hint=_CONFIGURATION[code])
    if code == _BEHIND:
        return Failure("busy", known.message, retryable=True, hint="lower --concurrency")
    return known


def _code(event: JsonDict) -> str | None:
    """Most stand in the error, some beside it."""
    error: Any = event.get("error")
    code = error.get("code") if isinstance(error, dict) else event.get("code")
    return code if isinstance(code, str) and code else None
