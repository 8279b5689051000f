"""The session that a full-duplex server is asked for."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnieval.backends.realtime.pace import RATE_HZ
from omnieval.types import JsonDict, Request, TextPart

OUTPUT_RATE_HZ = 24_000


def session_fields(
    model: str,
    *,
    text: str | None = None,
    instructions: str | None = None,
    voice: Path | None = None,
    temperature: float | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> JsonDict:
    """The body of `session.update`.

    text: what the model is to say, as if a user had asked for it. voice: a WAV file in whose voice it speaks.
    temperature: None for the server's own. Raises OSError when that cannot be read.
    """
    session: dict[str, Any] = {
        "model": model,
        "modalities": ["audio", "text"],
        "input_audio_format": "pcm16",
        "output_audio_format": "pcm16",
        "sample_rate_hz": RATE_HZ,
        "audio": {"input": {"sample_rate_hz": RATE_HZ}, "output": {"sample_rate_hz": OUTPUT_RATE_HZ}},
        "turn_detection": None,
        "overlap_policy": "listen_only",
        "playback_commit_policy": "ack_only",
        "extra_body": {
            "auto_response": True,
            "force_listen_count": 0,
            **(extra_body or {}),
            **({} if text is None else {"duplex_initial_user_text": text}),
        },
    }
    if instructions:
        session["instructions"] = instructions
    if temperature is not None:
        session["temperature"] = temperature
    if voice is not None:
        session["ref_audio"] = f"data:audio/wav;base64,{base64.b64encode(voice.read_bytes()).decode('ascii')}"
    return session


def session_of(request: Request, model: str) -> JsonDict:
    """The session for one utterance. Raises OSError when the reference voice cannot be read."""
    speech = request.speech
    voice = speech.reference_audio if speech else None
    return session_fields(
        model,
        text=speech.text if speech else _texts(request, "user"),
        instructions=_texts(request, "system"),
        voice=voice.path if voice else None,
        temperature=request.generation.temperature,
        extra_body=request.extra_body,
    )


def _texts(request: Request, role: str) -> str:
    parts = [part for message in request.messages if message.role == role for part in message.parts]
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))
