"""What a rung that breaks points at, and what to try next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Cause(NamedTuple):
    """probable: in words. fix: the next step."""

    probable: str
    fix: str


# What changed on a rung is suspected first.
_BY_RUNG: Mapping[str, Cause] = {
    "text": Cause(
        "the model itself: its weights or their precision, the chat template, or the sampling of the server",
        "ask it one question by hand; compare revision, chat template and precision with the reference's",
    ),
    "one-frame": Cause(
        "the picture encoder, or how the server prepares pictures",
        "run `omnieval check`; compare the processor's settings (extra_body.mm_processor_kwargs) with the "
        "reference's",
    ),
    "frames": Cause(
        "several pictures in one request: the server's limit of pictures, its context length, or its "
        "batching of pictures",
        "serve with a higher --limit-mm-per-prompt and --max-model-len, or lower max_frames until it holds",
    ),
    "sound": Cause(
        "the sound encoder, or how the server prepares sound",
        "see that the server has its audio libraries and takes 16 kHz mono WAV; run `omnieval check`",
    ),
    "frames-and-sound": Cause(
        "pictures and sounds together: their order in the prompt, the chat template, or the context length",
        "run `omnieval check`, which looks at the order of the parts; raise --max-model-len and "
        "--limit-mm-per-prompt",
    ),
    "recipe": Cause(
        "what the recipe does beyond the rungs before it, such as its packing, or stacked frames",
        "set `packing` to that of the last rung that held, or stack_frames=1, and compare",
    ),
    "more-frames": Cause(
        "more pictures than the server or the model bears",
        "keep to the recipe's max_frames, or raise --limit-mm-per-prompt and --max-model-len",
    ),
    "stacked": Cause(
        "several frames joined in one picture, which the engine does not bear (llama.cpp-omni collapses)",
        "leave stack_frames at 1",
    ),
    "longer-sound": Cause(
        "sounds longer than the encoder hears at once (30 s where it is Whisper's)",
        "take more frames, which makes shorter pieces of sound; for llama.cpp-omni keep llamacpp.max_sound_s",
    ),
    "image-id": Cause(
        "the numbers of pictures in the prompt (use_image_id), which the model was asked without",
        "leave extra_body.mm_processor_kwargs.use_image_id as the recipe has it",
    ),
    "thinking": Cause(
        "the model's thinking: a reasoning that is not told from the answer, or has no room to end",
        "serve with the --reasoning-parser of the model and raise decode.max_tokens, or leave "
        "chat_template_kwargs.enable_thinking as the recipe has it",
    ),
    "order": Cause(
        "where the question stands: the model, or its chat template, counts on the other order",
        "leave question_place as the recipe has it",
    ),
}
# Some ways to break say more than the rung does.
_BY_KIND: Mapping[str, Cause] = {
    "media": Cause(
        "files of the data set on this machine, not the model",
        "run `omnieval data check`, and fetch the files that the rung's report names",
    ),
    "server": Cause(
        "the server died or stopped answering on these requests",
        "read the server's log at that moment, start it anew, and give the same command with --out to go on",
    ),
    "ignored": Cause(
        "the media do not reach the model: the server drops them, or its chat template has no place for them",
        "run `omnieval check`; see that the served model takes such media and that no proxy strips them",
    ),
}
# So do words of the server, by kind of failure; its hint is the next step.
_BY_WORDS: Mapping[str, str] = {
    "configuration": "a setting of the server or of the recipe, as the refusal says, and not the model",
    "sample": "what the server says of these samples, and not the model",
    "busy": "a server without room for these requests",
}


def cause_of(rung: str, kind: str) -> Cause:
    """Of a break of this kind in this rung."""
    return _BY_KIND.get(kind) or _BY_RUNG[rung]


def cause_of_failures(rung: str, kind: str, hint: str | None) -> Cause:
    """Of requests that fail. kind: of the failure. hint: the next step that goes with it."""
    if hint is not None and kind in _BY_WORDS:
        return Cause(_BY_WORDS[kind], hint)
    return _BY_RUNG[rung]
