"""A request as MiniCPM-o's own `chat()` takes it: its messages as parts, its options as arguments by name.

Plain data, so that it can travel to the process that holds the model. The argument names are those of
MiniCPM-o 4.5; `extra_body` of a recipe holds further ones, wherever a server would take them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omnieval.backends.failed import FailedTry
from omnieval.config import RunConfig
from omnieval.types import Failure, JsonDict, MediaPart, Message, Part, Request, SpeechTask

# Sections of an HTTP body whose keys are arguments of `chat()` in process.
_SECTIONS = ("mm_processor_kwargs", "chat_template_kwargs")
# What MiniCPM-o's authors ask when it is to copy a voice, by language: before the voice, and before the text.
_COPY = {"en": "Clone the voice in the provided audio prompt.", "zh": "模仿输入音频中的声音特征。"}
_READ = {"en": "Please read the text below.", "zh": "请朗读以下内容。"}


def chat_message(request: Request, config: RunConfig, sound_file: Path | None) -> JsonDict:
    """What the process with the model is told.

    sound_file: where it puts the sound, for a request that asks for one. Raises FailedTry for a request that
    this model cannot be asked.
    """
    messages = [_message(message) for message in request.messages]
    voice = None
    if request.speech is not None:
        voice = _voice(request.speech)
        messages[-1]["content"].insert(0, {"text": _READ[request.speech.language]})
    return {
        "messages": messages,
        "voice": voice,
        "arguments": _arguments(request, config),
        "seed": request.generation.seed,
        "sound_file": None if sound_file is None else str(sound_file),
    }


def _message(message: Message) -> JsonDict:
    return {"role": message.role, "content": [_part(part) for part in message.parts]}


def _part(part: Part) -> JsonDict:
    if not isinstance(part, MediaPart):
        return {"text": part.text}
    if part.kind == "video":
        raise FailedTry(
            Failure(
                "configuration",
                "the model is handed frames and sounds, not a video file",
                hint="choose a packing that takes the video apart: frames or interleave",
            )
        )
    return {part.kind: str(part.path)}


def _voice(task: SpeechTask) -> JsonDict:
    if task.reference_audio is None:
        raise FailedTry(
            Failure(
                "configuration",
                "in process the model speaks in the voice of a recording, and the request has none",
                hint="set variant=clone",
            )
        )
    return {
        "audio": str(task.reference_audio.path),
        "language": task.language,
        "instruction": _COPY[task.language],
    }


def _arguments(request: Request, config: RunConfig) -> JsonDict:
    decode, speaks = request.generation, request.speech is not None
    arguments: JsonDict = {"max_new_tokens": decode.max_tokens, "generate_audio": speaks}
    if not speaks:
        arguments["omni_input"] = True
    if decode.temperature is not None:
        arguments["do_sample"] = decode.temperature > 0
    if decode.temperature != 0:
        arguments |= {"temperature": decode.temperature, "top_p": decode.top_p, "top_k": decode.top_k}
    arguments["repetition_penalty"] = decode.repetition_penalty
    arguments["num_beams"] = config.transformers.num_beams
    return {key: value for key, value in (arguments | _further(request)).items() if value is not None}


def _further(request: Request) -> JsonDict:
    """The recipe's further arguments, the sections of an HTTP body taken apart."""
    further: dict[str, Any] = {k: v for k, v in request.extra_body.items() if k not in _SECTIONS}
    for section in _SECTIONS:
        further |= request.extra_body.get(section) or {}
    if not further.get("use_audio_in_video"):  # a server's word for what is never done here
        further.pop("use_audio_in_video", None)
    return further
