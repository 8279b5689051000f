"""What came of one conversation, as `result.json` holds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from omnieval.types import JsonDict


@dataclass(frozen=True, slots=True)
class Latency:
    """ttft_ms, ttfp_ms: the first text and the first sound, counted from the first silence after the input.

    rtf: from there to the last sound, by the length of the sound. Each is None where there was nothing to
    measure.
    """

    ttft_ms: float | None
    ttfp_ms: float | None
    rtf: float | None
    measurement_origin: Literal["first_silence_append"] = "first_silence_append"


@dataclass(frozen=True, slots=True)
class Trouble:
    """kind: one of `FAILURE_KINDS`, or `storage`. hint: the next step."""

    kind: str
    message: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """ok: the session went well, also where the model chose to listen, and all of its files are there.

    model_decision: None where the session ended before there was one. session: its id, how many responses,
    how late the input was, gaps in the sound. asked: what was sent. directory: of the files.
    """

    ok: bool
    model_decision: Literal["speak", "listen"] | None
    transcript: str
    audio_chunk_count: int
    output_sample_rate_hz: int | None
    output_duration_s: float
    latency: Latency
    session: JsonDict
    notes: tuple[str, ...]
    errors: tuple[Trouble, ...]
    asked: JsonDict
    directory: Path = field(compare=False)
