"""A request as vLLM-Omni's `Omni` takes it: a prompt with its media, and sampling parameters for each stage.

The text is made by the chat template of the model, as its server makes it; media are handed over as arrays.
What stands for them in the text, and what stands between the parts, is configured.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnieval.backends.speech.fields import speech_fields
from omnieval.errors import MediaError
from omnieval.media.wav import parse_wav
from omnieval.types import Generation, JsonDict, MediaPart, Message, Part, Request, TextPart

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL.Image import Image

# Fields of a request's extra body that mean the same here as in a server.
EXTRA_FIELDS = ("chat_template_kwargs", "mm_processor_kwargs")
_RATE_HZ = 16_000
# Where MiniCPM-o 4.5 looks for the voice, as its server puts it there; other models pass it over.
_VOICE = "_minicpmo45_reference_audio"
_SAMPLING = ("max_tokens", "temperature", "top_p", "top_k", "repetition_penalty", "seed")


def prompt_of(
    request: Request, tokenizer: Any, *, placeholders: Mapping[str, str], separator: str
) -> JsonDict:
    """One prompt for `Omni.generate`.

    tokenizer: of the model, with its chat template. placeholders: by kind of media. Raises OSError or
    MediaError when a media file cannot be read, ValueError for a kind of media that has no placeholder.
    """
    template: Mapping[str, Any] = request.extra_body.get("chat_template_kwargs") or {}
    messages = [
        {"role": message.role, "content": _text(message, placeholders, separator)}
        for message in request.messages
    ]
    prompt: JsonDict = {
        "prompt": tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **template
        ),
        "modalities": list(request.modalities),
    }
    media = _media(request.messages)
    if media:
        prompt["multi_modal_data"] = media
    processor = request.extra_body.get("mm_processor_kwargs")
    if media and processor:
        prompt["mm_processor_kwargs"] = dict(processor)
    if request.speech is not None:
        fields = {"text": request.speech.text, **speech_fields(request.speech, lambda part: str(part.path))}
        prompt["additional_information"] = {name: [value] for name, value in fields.items()}
        if request.speech.reference_audio is not None:
            prompt[_VOICE] = _voice(request.speech.reference_audio)
    return prompt


def sampling_of(request: Request, defaults: Sequence[Any]) -> list[Any]:
    """Sampling parameters for each stage: those of the deploy file, and what the request asks for in the
    first one, which makes the text. A server does the same."""
    stages = [copy.deepcopy(stage) for stage in defaults]
    options: Generation = request.generation
    for name in _SAMPLING:
        value = getattr(options, name)
        if value is not None:
            setattr(stages[0], name, value)
    if options.constrain is not None and request.options:
        from vllm.sampling_params import StructuredOutputsParams

        stages[0].structured_outputs = StructuredOutputsParams(choice=list(request.options))
    return stages


def _text(message: Message, placeholders: Mapping[str, str], separator: str) -> str:
    return separator.join(_piece(part, placeholders) for part in message.parts)


def _piece(part: Part, placeholders: Mapping[str, str]) -> str:
    if isinstance(part, TextPart):
        return part.text
    if part.kind not in placeholders:
        raise ValueError(
            f"{part.path.name}: this backend takes pictures and sounds, and no whole {part.kind}; choose a "
            "packing that sends frames, such as minicpm-interleave, interleave or frames"
        )
    return placeholders[part.kind]


def _media(messages: Sequence[Message]) -> JsonDict:
    """Arrays by kind, each kind in the order of the prompt."""
    media: dict[str, list[Any]] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, MediaPart):
                content = _picture(part) if part.kind == "image" else _sound(part)
                media.setdefault(part.kind, []).append(content)
    return dict(media)


def _picture(part: MediaPart) -> Image:
    from PIL import Image

    with Image.open(part.path) as image:
        return image.convert("RGB")


def _sound(part: MediaPart) -> tuple[npt.NDArray[np.float32], int]:
    """(samples [n] in -1..1, rate in Hz)."""
    from omnieval.media.audio import read_audio

    return read_audio(part.path), _RATE_HZ


def _voice(part: MediaPart) -> tuple[npt.NDArray[np.float32], int]:
    """A recording at its own rate where it is a plain WAV, as a server hands it to the model."""
    import numpy as np

    try:
        pcm = parse_wav(part.path.read_bytes())
    except MediaError:
        return _sound(part)
    samples = np.frombuffer(pcm.data, "<i2").reshape(-1, pcm.format.channels)
    return (samples.mean(axis=1) / 32_768).astype(np.float32), pcm.format.rate_hz
