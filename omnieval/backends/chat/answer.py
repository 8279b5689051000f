"""One chat answer, put together chunk by chunk, with its times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from omnieval.backends.chat.delta import Delta, deltas_of
from omnieval.backends.http.finish_reasons import worst_reason
from omnieval.backends.http.model_server import UNFRAMED
from omnieval.backends.rounding import rounded
from omnieval.backends.sound.piece import add_base64
from omnieval.backends.sound.spoken import Spoken
from omnieval.backends.token_times import TokenTimes, text_tokens_of
from omnieval.parsing import well_formed
from omnieval.types import Failure, Response, Timing, Usage

_DIED = "the server died or was stopped while it answered; look at its log"

# Finish reasons of answers that are none: (kind, retryable, what happened, next step).
_NOT_FINISHED = {
    "content_filter": (
        "sample", False, "the server's content filter cut the answer",
        "the server's content filter refused this sample; it counts as failed",
    ),
    "abort": ("server", True, "the server gave the answer up", _DIED),
    "error": ("server", True, "the server failed while it answered", _DIED),
}  # fmt: skip

# A larger count of tokens is no count.
_MOST_TOKENS = 2**40

_UNASKED = ("the server sends sound that nobody asked for",)


class ChatAnswer:
    """Collects the chunks of a stream, or one whole body.

    spoken: where the sound goes; None where none was asked for, and then the text alone is the answer.

    A text is complete with its finish reason. Sound is complete with a finish reason, that of the text or its
    own, and the end that the protocol marks (`[DONE]`, or a whole body), since either reason may come long
    before the last sound. A stream that the server ends properly without `[DONE]` is enough where the sound
    has a finish reason of its own; but where sound follows that, the server gives one to every piece, so that
    the marked end alone counts.
    """

    def __init__(self, sample_id: str, spoken: Spoken | None = None) -> None:
        self._sample_id = sample_id
        self._spoken = spoken
        self._text: list[str] = []
        self._transcript: list[str] = []
        self._reasoning: list[str] = []
        self._choice: int | None = None
        self._text_finish: str | None = None
        self._sound_finish: str | None = None
        self._reasons: list[str] = []
        self._every_piece_finishes = False
        self._ended = False
        self._closed = False
        self._whole = False
        self._usage: Usage | None = None
        self._usage_of_text = False
        self._text_tokens: int | None = None
        self._metrics: dict[str, Any] = {}
        self._model: str | None = None
        self._started_wall: float | None = None
        self._started = 0.0
        self._last_chunk_s: float | None = None
        self._tokens = TokenTimes()
        self._unasked_sound = False

    def begin(self) -> None:
        """The request goes out now."""
        self._started_wall, self._started = time.time(), time.monotonic()

    @property
    def began(self) -> bool:
        """Whether any chunk has arrived."""
        return self._last_chunk_s is not None

    @property
    def wants_sound(self) -> bool:
        return self._spoken is not None

    @property
    def finished(self) -> bool:
        """Whether the answer is complete."""
        if self._spoken is None:
            return self._text_finish is not None
        if self._ended:
            return bool(self._text_finish or self._sound_finish)
        return self._closed and self._sound_finish is not None and not self._every_piece_finishes

    def end(self) -> None:
        """The end that the protocol marks is reached."""
        self._ended = True

    def close(self, *, framed: bool) -> None:
        """The stream is over without a marked end, but not broken. framed: it would be seen if it were."""
        self._closed = True
        if self._spoken is not None and self.finished and not framed:
            self._spoken.note(UNFRAMED)

    def add_whole(self, body: Mapping[str, Any]) -> None:
        """Take an answer that came as one body: nothing is known of when its parts were made."""
        self._whole = True
        self.add(body)
        self.end()

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Take one chunk of the chat completions protocol; odd fields are left out.

        Raises FailedTry where its sound cannot be used.
        """
        now_s = time.monotonic() - self._started
        model = chunk.get("model")
        self._model = well_formed(model) if isinstance(model, str) else self._model
        self._last_chunk_s = now_s
        deltas = deltas_of(chunk)
        tokens = self._take_usage(chunk.get("usage"), chunk.get("modality"), deltas)
        self._take_metrics(chunk.get("metrics"))
        for delta in deltas:
            self._take_text(delta, tokens, now_s)
            self._take_sound(delta, now_s)

    def problem(self) -> Failure | None:
        """Why the answer is not complete, or None when it is."""
        for reason in self._reasons:
            if reason in _NOT_FINISHED:
                kind, retryable, message, hint = _NOT_FINISHED[reason]
                return Failure(kind, f"{message} (finish reason {reason})", retryable=retryable, hint=hint)
        if self.finished:
            return self._spoken.problem() if self._spoken else None
        message = "the answer ended without a finish reason, so it is cut short"
        if not self.began:
            message = "the answer ended before its first chunk"
        elif self._text_finish or self._sound_finish:
            message = "the answer ended without [DONE] while its sound was still to come, so it is cut short"
        return Failure("server", message, retryable=True, hint=_DIED)

    def response(self, error: Failure | None) -> Response:
        """The end of the try."""
        audio = self._spoken.finish(in_pieces=not self._whole) if self._spoken else None
        return Response(
            sample_id=self._sample_id,
            text=well_formed("".join(self._text) or "".join(self._transcript)),
            reasoning=well_formed("".join(self._reasoning)),
            finish_reason=worst_reason(self._reasons),
            usage=self._usage,
            timing=self._timing(complete=error is None),
            model=self._model,
            error=error,
            audio=audio,
            notes=self._spoken.notes if self._spoken else _UNASKED[: self._unasked_sound],
            server_metrics=self._metrics,
        )

    def _timing(self, *, complete: bool) -> Timing:
        spoken, tokens = self._spoken, self._tokens
        last_s = spoken.last_s if spoken else None
        rtf = last_s / spoken.duration_s if complete and spoken and last_s is not None else None
        if self._whole:
            return Timing(started=self._started_wall, e2e_s=rounded(self._last_chunk_s), rtf=rounded(rtf))
        counted = None if self._reasoning_came or last_s is not None else self._text_tokens
        return Timing(
            started=self._started_wall,
            ttft_s=rounded(tokens.first_text_s),
            itl_s=tuple(map(rounded, tokens.itl_s)),
            e2e_s=rounded(self._last_chunk_s),
            tpot_s=tokens.tpot_s(counted),
            ttfp_s=rounded(spoken.first_s if spoken else None),
            rtf=rounded(rtf),
        )

    @property
    def _reasoning_came(self) -> bool:
        return any(self._reasoning)

    def _take_text(self, delta: Delta, tokens: int, now_s: float) -> None:
        if self._text_finish is not None:
            return
        if delta.text or delta.reasoning:
            self._choice = delta.index if self._choice is None else self._choice
        if self._choice not in (None, delta.index) and not delta.transcript:
            return  # one answer was asked for; the first one counts
        self._text.append(delta.text)
        self._transcript.append(delta.transcript)
        self._reasoning.append(delta.reasoning)
        text = delta.text or ("" if any(self._text) else delta.transcript)
        if text or delta.reasoning:
            self._tokens.take(now_s, max(1, tokens), is_text=bool(text))
        if delta.finish_reason and not delta.of_sound:
            self._text_finish = delta.finish_reason
            self._reasons.append(delta.finish_reason)

    def _take_sound(self, delta: Delta, now_s: float) -> None:
        if self._spoken is None:
            self._unasked_sound |= bool(delta.sound)
            return
        if delta.sound:
            self._every_piece_finishes |= self._sound_finish is not None
            self._spoken.say(delta.sound_fields)
            add_base64(self._spoken, delta.sound, now_s)
        if delta.finish_reason and (delta.of_sound or delta.sound):
            self._sound_finish = delta.finish_reason
            self._reasons.append(delta.finish_reason)

    def _take_metrics(self, metrics: Any) -> None:
        stages = metrics.get("stage_metrics") if isinstance(metrics, Mapping) else None
        if isinstance(stages, Mapping):
            self._metrics |= stages
            thinker = stages.get("0")
            if isinstance(thinker, Mapping) and thinker.get("finish_reason") == "length":
                # vLLM-Omni gives one reason, with the last sound, and so hides that the text was cut.
                self._reasons.append("length")

    def _take_usage(self, usage: Any, modality: Any, deltas: list[Delta]) -> int:
        """Keep the counts; return how many text tokens this chunk brought (1 where the server does not say).

        The count of a chunk that also carries sound is of text only as far as the server says so.
        """
        if not isinstance(usage, Mapping):
            return 1
        of_text = modality in (None, "text")
        completion = _count(usage.get("completion_tokens"))
        if of_text or not self._usage_of_text:
            details = usage.get("prompt_tokens_details")
            multimodal = details.get("multimodal_tokens") if isinstance(details, Mapping) else None
            self._usage_of_text = of_text
            self._text_tokens = text_tokens_of(usage)
            self._usage = Usage(
                prompt_tokens=_count(usage.get("prompt_tokens")),
                completion_tokens=completion,
                multimodal=_counts(multimodal) if isinstance(multimodal, Mapping) else None,
            )
        mixed = any(delta.sound for delta in deltas) and text_tokens_of(usage) == completion
        return self._tokens.count(usage, is_text=of_text and not mixed)


def _count(value: Any) -> int | None:
    """A count of tokens; None for what cannot be one."""
    possible = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if possible else None


def _counts(values: Mapping[str, Any]) -> dict[str, int]:
    found = ((well_formed(str(kind)), _count(value)) for kind, value in values.items())
    return {kind: value for kind, value in found if value is not None}
