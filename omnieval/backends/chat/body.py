"""The body of a chat completions request."""

from __future__ import annotations

from collections.abc import Callable, Container

from omnieval.backends.speech.fields import speech_fields
from omnieval.types import JsonDict, MediaPart, Part, Request, TextPart


def chat_body(
    request: Request,
    model: str,
    media_url: Callable[[MediaPart], str],
    *,
    stream: bool = True,
    held: Container[str] | None = None,
) -> JsonDict:
    """The JSON body of a request, parts in their order; `extra_body` is merged last.

    held: SHA-256 of the media that the server has by that name; None where parts have no names.
    """
    options = request.generation
    optional = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "repetition_penalty": options.repetition_penalty,
        "seed": options.seed,
    }
    usage = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}
    return {
        "model": model,
        "messages": chat_messages(request, media_url, held),
        "max_tokens": options.max_tokens,
        **{key: value for key, value in optional.items() if value is not None},
        "modalities": list(request.modalities),
        **_constraint(request),
        **(speech_fields(request.speech, media_url) if request.speech else {}),
        "stream": stream,
        **(usage if stream else {}),
        **request.extra_body,
    }


def chat_messages(
    request: Request, media_url: Callable[[MediaPart], str], held: Container[str] | None = None
) -> list[JsonDict]:
    """The messages of a request, parts in their order; held as for `chat_body`."""
    return [
        {"role": message.role, "content": [_content(part, media_url, held) for part in message.parts]}
        for message in request.messages
    ]


def _constraint(request: Request) -> JsonDict:
    """vLLM's and vLLM-Omni's way to allow nothing but one of the options' letters."""
    if request.generation.constrain is None or not request.options:
        return {}
    return {"structured_outputs": {"choice": list(request.options)}}


def _content(part: Part, media_url: Callable[[MediaPart], str], held: Container[str] | None) -> JsonDict:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    kind = f"{part.kind}_url"
    if held is None or part.sha256 is None:
        return {"type": kind, kind: {"url": media_url(part)}}
    carried = None if part.sha256 in held else {"url": media_url(part)}
    return {"type": kind, kind: carried, "uuid": part.sha256}
