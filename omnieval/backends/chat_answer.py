"""One chat answer, put together chunk by chunk, with its times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from omnieval.parsing import well_formed
from omnieval.types import Failure, Response, Timing, Usage

_DIGITS = 6  # microseconds; clocks are not finer


class ChatAnswer:
    """Collects the chunks of a stream, or one whole body.

    vLLM-Omni tags each chunk with a modality; plain vLLM, SGLang and llama.cpp do not. Text is what is
    tagged `text` or not tagged at all.
    """

    def __init__(self, sample_id: str) -> None:
        self._sample_id = sample_id
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._started_wall: float | None = None
        self._started = 0.0
        self._first_text: float | None = None
        self._last_token: float | None = None
        self._last_chunk: float | None = None
        self._tokens_seen = 0
        self._itl_s: list[float] = []

    def begin(self) -> None:
        """The request goes out now."""
        self._started_wall, self._started = time.time(), time.monotonic()

    @property
    def began(self) -> bool:
        """Whether any chunk has arrived."""
        return self._last_chunk is not None

    @property
    def finished(self) -> bool:
        """Whether the finish reason has arrived, so that the answer is complete."""
        return self._finish_reason is not None

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Take one chunk (or whole body) of the chat completions protocol; odd fields are left out."""
        now = time.monotonic()
        model = chunk.get("model")
        self._model = model if isinstance(model, str) else self._model
        tokens = self._take_usage(chunk.get("usage"))
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, Mapping):
                self._take_choice(choice, chunk.get("modality"), tokens, now)
        self._last_chunk = now

    def problem(self) -> Failure | None:
        """Why the answer is not complete, or None when it is."""
        if self.finished:
            return None
        hint = "the server died or was stopped while it answered; look at its log"
        if not self.began:
            return Failure("server", "the answer ended before its first chunk", retryable=True, hint=hint)
        message = "the answer ended without a finish reason, so it is cut short"
        return Failure("server", message, retryable=True, hint=hint)

    def response(self, error: Failure | None) -> Response:
        """The end of the try."""
        return Response(
            sample_id=self._sample_id,
            text=well_formed("".join(self._text)),
            reasoning=well_formed("".join(self._reasoning)),
            finish_reason=self._finish_reason,
            usage=self._usage,
            timing=Timing(
                started=self._started_wall,
                ttft_s=self._since_start(self._first_text),
                itl_s=tuple(round(gap, _DIGITS) for gap in self._itl_s),
                e2e_s=self._since_start(self._last_chunk),
            ),
            model=self._model,
            error=error,
        )

    def _since_start(self, moment: float | None) -> float | None:
        return None if moment is None else round(moment - self._started, _DIGITS)

    def _take_choice(self, choice: Mapping[str, Any], modality: Any, tokens: int, now: float) -> None:
        if self.finished or choice.get("modality", modality) not in (None, "text"):
            return
        delta = choice.get("delta") or choice.get("message")
        delta = delta if isinstance(delta, Mapping) else {}
        text = _text_of(delta.get("content"))
        reasoning = _text_of(delta.get("reasoning_content") or delta.get("reasoning"))
        self._text.append(text)
        self._reasoning.append(reasoning)
        if text or reasoning:
            self._take_token_times(tokens, now)
        if text and self._first_text is None:
            self._first_text = now
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish_reason = reason

    def _take_token_times(self, tokens: int, now: float) -> None:
        if self._last_token is not None:
            self._itl_s += [(now - self._last_token) / tokens] * tokens
        self._last_token = now

    def _take_usage(self, usage: Any) -> int:
        """Keep the counts; return how many tokens this chunk brought (1 where the server does not say)."""
        if not isinstance(usage, Mapping):
            return 1
        details = usage.get("prompt_tokens_details")
        multimodal = details.get("multimodal_tokens") if isinstance(details, Mapping) else None
        completion = _count(usage.get("completion_tokens"))
        self._usage = Usage(
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=completion,
            multimodal=_counts(multimodal) if isinstance(multimodal, Mapping) else None,
        )
        new = (completion or 0) - self._tokens_seen
        self._tokens_seen = max(self._tokens_seen, completion or 0)
        return max(1, new)


def _text_of(content: Any) -> str:
    """Content is text, null, or a list of parts of which the text ones count."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _counts(values: Mapping[str, Any]) -> dict[str, int]:
    return {str(kind): value for kind, value in values.items() if isinstance(value, int)}
