"""What a request becomes for llama.cpp-omni: files of pictures and sounds, and a text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from omnieval.backends.failed import FailedTry
from omnieval.types import Failure, JsonDict, MediaPart, Request, TextPart


@dataclass(frozen=True)
class Lists:
    """Picture i is followed by sound i, as far as there are sounds; then comes the text."""

    frames: tuple[Path, ...]
    sounds: tuple[Path, ...]
    text: str


def parts_of(request: Request) -> tuple[str, tuple[MediaPart | TextPart, ...]]:
    """The system prompt, empty where there is none, and the parts of the one user message.

    Raises FailedTry for anything else that would have to be said.
    """
    *before, last = request.messages
    system = [part.text for message in before for part in message.parts if isinstance(part, TextPart)]
    if last.role != "user" or any(message.role != "system" for message in before):
        raise _impossible(
            "a conversation of several turns; the engine answers one message", "ask one at a time"
        )
    if any(isinstance(part, MediaPart) and part.kind == "video" for part in last.parts):
        raise _impossible(
            "the request sends a whole video, and the engine takes pictures and sounds",
            "take another packing: minicpm-interleave, frames or interleave",
        )
    return "\n".join(system), last.parts


def lists(request: Request) -> Lists:
    """For the evaluation programs, which show picture, sound, picture, sound, ..., and then the text.

    Raises FailedTry where the request has another order, which they would not keep: a sound without a picture
    before it is not heard at all.
    """
    frames: list[Path] = []
    sounds: list[Path] = []
    texts: list[str] = []
    system, parts = parts_of(request)
    if system:
        raise _impossible(
            "the evaluation programs have a system prompt of their own", "set system_prompt=null"
        )
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
            continue
        if texts:
            raise _other_order("a text before a picture or sound")
        if part.kind == "image":
            frames.append(part.path)
        else:
            sounds.append(part.path)
            if len(sounds) != len(frames):
                raise _other_order("a sound that does not follow a picture of its own")
    return Lists(tuple(frames), tuple(sounds), "\n".join(texts))


def slices(request: Request) -> int:
    """Pieces into which a picture may be cut, as the request's processor arguments have it; 0: as the engine
    does."""
    kwargs = request.extra_body.get("mm_processor_kwargs")
    found = kwargs.get("max_slice_nums") if isinstance(kwargs, dict) else None
    return found if isinstance(found, int) else 0


def infer_message(found: Lists, sounds: tuple[Path, ...], request: Request) -> JsonDict:
    """The line for the evaluation programs. sounds: those of `found`, cut to what the engine bears."""
    return {
        "frames": [str(path) for path in found.frames],
        "audios": [str(path) for path in sounds],
        "prompt": found.text,
        "max_slice_nums": slices(request),
        "n_predict": request.generation.max_tokens,
    }


def _other_order(what: str) -> FailedTry:
    return _impossible(
        f"the request has {what}, and the evaluation programs show picture, sound, picture, sound, ..., text",
        "take packing minicpm-interleave, frames or interleave with input_mode all or visual, or "
        "llamacpp.transport=http, which keeps any order",
    )


def _impossible(reason: str, hint: str) -> FailedTry:
    return FailedTry(Failure("configuration", f"llama.cpp-omni cannot be asked so: {reason}", hint=hint))
