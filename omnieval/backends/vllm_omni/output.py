"""What vLLM-Omni's `Omni` gives back, stage by stage, as one plain answer for each prompt."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from typing import Any

from omnieval.backends.sound.samples import NO_NUMBERS, samples_of
from omnieval.media.encode import encode_wav
from omnieval.types import JsonDict

# Of a model that does not say it; MiniCPM-o and Qwen-Omni speak at this rate.
_RATE_HZ = 24_000


def answers_of(outputs: Iterable[Any], prompts: int) -> list[JsonDict]:
    """One answer a prompt: `ok` with `text`, `finish_reason`, token counts and `wav` (base64), or an `error`;
    and `stage_metrics` by the number of the stage, as its server sends them, where the engine tells.

    outputs: of one call with so many prompts; each output is that of one stage for one prompt.
    """
    answers: list[JsonDict] = [{} for _ in range(prompts)]
    metrics: list[JsonDict] = [{} for _ in range(prompts)]
    for output in outputs:
        number = _number(output, prompts)
        if number is None:
            continue
        try:
            answers[number] |= _of_stage(output)
            metrics[number] |= _stage_metrics(output)
        except Exception as error:  # noqa: BLE001 - whatever an engine of another version gives back
            problem = f"its output cannot be read: {type(error).__name__}: {error}"
            answers[number] |= {"error": problem, "kind": "protocol"}
    told = [{"stage_metrics": stages} if stages else {} for stages in metrics]
    return [_judged(answer) | stages for answer, stages in zip(answers, told, strict=True)]


def _judged(answer: JsonDict) -> JsonDict:
    if not answer:
        return {"ok": False, "error": "the engine gave no output for this prompt", "kind": "protocol"}
    has_text = "text" in answer or "wav" not in answer  # a model that only speaks has no stage for text
    if "error" not in answer and has_text and not answer.get("finish_reason"):
        return {**answer, "ok": False, "error": "the text has no finish reason", "kind": "protocol"}
    return {**answer, "ok": "error" not in answer}


def _number(output: Any, prompts: int) -> int | None:
    """Which prompt an output belongs to: request ids begin with it."""
    inner = _request_output(output)
    name = str(getattr(output, "request_id", "") or getattr(inner, "request_id", ""))
    head = name.partition("_")[0]
    if head.isdecimal() and int(head) < prompts:
        return int(head)
    return 0 if prompts == 1 else None


def _request_output(output: Any) -> Any:
    """vLLM's own output: inside (a list of one in older versions), or the object itself."""
    inner = getattr(output, "request_output", None)
    if isinstance(inner, list):
        inner = inner[0] if inner else None
    return output if inner is None else inner


def _of_stage(output: Any) -> JsonDict:
    inner = _request_output(output)
    error = getattr(output, "error", None)
    if error:
        return {"error": str(error)}
    completions = getattr(inner, "outputs", None) or []
    first = completions[0] if completions else None
    if output.final_output_type == "audio":
        sound = getattr(first, "multimodal_output", None) or getattr(output, "multimodal_output", None)
        return {} if not sound else _sound(sound)
    if output.final_output_type != "text" or first is None:
        return {}
    return {
        "text": first.text,
        "finish_reason": first.finish_reason,
        "prompt_tokens": _count(getattr(inner, "prompt_token_ids", None)),
        "completion_tokens": _count(getattr(first, "token_ids", None)),
    }


def _count(tokens: Any) -> int | None:
    return None if tokens is None else len(tokens)


def _stage_metrics(output: Any) -> JsonDict:
    """The numbers of all stages so far; each output of a prompt brings those of the earlier stages again."""
    metrics = getattr(output, "metrics", None)
    stages = metrics.get("stage_metrics") if isinstance(metrics, Mapping) else None
    if not isinstance(stages, Mapping):
        return {}
    return {
        str(stage): {name: value for name, value in found.items() if _is_number(value)}
        for stage, found in stages.items()
        if isinstance(found, Mapping)
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _sound(found: Any) -> JsonDict:
    """A WAV of 16 bits, as the engine's own examples write it."""
    import numpy as np

    samples, rate_hz = samples_of(found["audio"]), _rate_hz(found.get("sr"))
    if not np.isfinite(samples).all():
        return {"error": NO_NUMBERS, "kind": "audio"}
    clipped = int((np.abs(samples) > 1.0).sum())
    wav = base64.b64encode(encode_wav(samples.astype(np.float32), rate_hz)).decode()
    return {"wav": wav, "clipped": clipped}


def _rate_hz(value: Any) -> int:
    if isinstance(value, list | tuple):
        value = value[-1] if value else None
    if value is None:
        return _RATE_HZ
    return int(value.item() if hasattr(value, "item") else value)
