"""The sampling parameters of one stage, as far as a deploy file of vLLM-Omni sets them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class StructuredOutputsParams:
    choice: list[str] = field(default_factory=list)


@dataclass
class SamplingParams:
    max_tokens: int = 2048
    temperature: float = 0.7
    top_p: float = 1.0
    top_k: int = -1
    repetition_penalty: float = 1.1
    seed: int | None = None
    structured_outputs: Any = None
