"""What one chunk of a chat answer says, whichever way the server writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omnieval.parsing import well_formed


@dataclass(frozen=True, slots=True)
class Delta:
    """One choice of a chunk. of_sound: the chunk is tagged as sound. sound: base64. sound_fields: what
    stands beside the sound, such as its rate. transcript: of the sound, for servers that send no text. index:
    of the answer, where there are several."""

    text: str = ""
    reasoning: str = ""
    transcript: str = ""
    sound: str = ""
    sound_fields: Mapping[str, Any] = field(default_factory=dict)
    finish_reason: str | None = None
    of_sound: bool = False
    index: int = 0


def deltas_of(chunk: Mapping[str, Any]) -> list[Delta]:
    """The choices of a chunk, or of a whole body; odd fields are left out.

    vLLM-Omni tags each chunk with a modality; plain vLLM, SGLang and llama.cpp do not. Text is what is
    tagged `text` or not tagged at all. Sound stands in the `content` of a chunk tagged `audio`, or in
    `audio.data` of any; pictures are left out.
    """
    choices = chunk.get("choices")
    found = [
        _delta(choice, choice.get("modality", chunk.get("modality")), chunk)
        for choice in (choices if isinstance(choices, list) else [])
        if isinstance(choice, Mapping)
    ]
    return [delta for delta in found if delta is not None]


def _delta(choice: Mapping[str, Any], modality: Any, chunk: Mapping[str, Any]) -> Delta | None:
    if modality not in (None, "text", "audio"):
        return None
    content = choice.get("delta") or choice.get("message")
    content = content if isinstance(content, Mapping) else {}
    audio = content.get("audio")
    audio = audio if isinstance(audio, Mapping) else {"data": audio}
    reason, index = choice.get("finish_reason"), choice.get("index")
    tagged = modality == "audio"
    text = _text_of(content.get("content"))
    return Delta(
        text="" if tagged else text,
        reasoning="" if tagged else _text_of(content.get("reasoning_content") or content.get("reasoning")),
        transcript=_string(audio.get("transcript")),
        sound=_string(audio.get("data")) or (text if tagged else ""),
        sound_fields={**chunk, **content, **audio},
        finish_reason=well_formed(reason) if isinstance(reason, str) and reason else None,
        of_sound=tagged,
        index=index if isinstance(index, int) else 0,
    )


def _text_of(content: Any) -> str:
    """Content is text, null, or a list of parts of which the text ones count."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return _string(content)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
