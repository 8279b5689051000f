"""The request of a multiple-choice question, the same for every benchmark that asks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from omnieval.config import RunConfig
from omnieval.parsing import lettered
from omnieval.types import Generation, MediaPart, Message, Part, PreparedMedia, Request, Sample, TextPart

# What each packing of a video asks of the server's processor; a key in the recipe's extra_body wins.
PROCESSOR_KWARGS: Mapping[str, Mapping[str, Any]] = {
    "frames": {"max_slice_nums": 1, "use_image_id": False},
    "interleave": {"use_audio_in_video": False, "max_slice_nums": 1, "use_image_id": False},
    "video-url": {"use_audio_in_video": False},
}


def choice_request(
    config: RunConfig,
    sample: Sample,
    text: str,
    *,
    media: Iterable[Part] = (),
    packing: str | None = None,
    system_prompt: str | None = None,
    notes: tuple[str, ...] = (),
) -> Request:
    """One user message: the media in their order, with the text after or before them; a system message where
    there is a prompt.

    packing: a key of `PROCESSOR_KWARGS` where a video is sent; None sends no processor arguments.
    """
    question = TextPart(text)
    first = config.question_place == "before"
    user = Message("user", (question, *media) if first else (*media, question))
    system = (Message("system", (TextPart(system_prompt),)),) if system_prompt else ()
    kwargs = {} if packing is None else {"mm_processor_kwargs": dict(PROCESSOR_KWARGS[packing])}
    extra: dict[str, Any] = kwargs | config.extra_body
    return Request(
        sample_id=sample.id,
        messages=(*system, user),
        generation=Generation(**config.decode.model_dump()),
        question=sample.question,
        options=lettered(sample.options),
        modalities=config.modalities,
        extra_body={key: value for key, value in extra.items() if value is not None},
        notes=notes,
    )


def frames_and_sounds(media: PreparedMedia) -> tuple[MediaPart, ...]:
    """Frame 0, sound 0, frame 1, sound 1, ...; the frames alone where no sound was cut. A joined picture
    follows its frame and sound, as in MiniCPM-o's own requests."""
    sounds = ((sound,) for sound in media.segments) if media.segments else ((),) * len(media.frames)
    stacked = {part.timestamp: part for part in media.stacked}
    parts: list[MediaPart] = []
    for frame, sound in zip(media.frames, sounds, strict=True):
        parts += (frame, *sound)
        if frame.timestamp in stacked:
            parts.append(stacked[frame.timestamp])
    return tuple(parts)
