"""A request becomes the arguments of MiniCPM-o's chat(), and nothing that was asked is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.failed import FailedTry
from omnieval.backends.minicpmo.backend import create
from omnieval.backends.minicpmo.chat import chat_message
from omnieval.backends.minicpmo.worker import named_as
from omnieval.config import RunConfig
from omnieval.errors import ConfigError
from omnieval.types import Generation, MediaPart, Message, Request, SpeechTask, TextPart


def configured(recipe: str = "daily-omni-transformers", **more: Any) -> RunConfig:
    return api.configure(recipe, list(more.items()))


def arguments(config: RunConfig, extra: dict[str, Any] | None = None) -> dict[str, Any]:
    request = Request(
        "s",
        (Message("user", (TextPart("?"),)),),
        Generation(**config.decode.model_dump()),
        extra_body=extra or {},
    )
    found: dict[str, Any] = chat_message(request, config, None)["arguments"]
    return found


def test_the_recipe_asks_as_omnievalkit_does() -> None:
    assert configured().flat()["image"]["format"] == "png", "no pixel is changed on the way"
    kwargs = {"use_audio_in_video": False, "max_slice_nums": 1, "use_image_id": False}
    extra = {"mm_processor_kwargs": kwargs, **configured().extra_body}
    assert arguments(configured(), extra) == {
        "do_sample": False, "num_beams": 3, "repetition_penalty": 1.2, "max_new_tokens": 128, "max_slice_nums": 1,
        "use_image_id": False, "omni_input": True, "enable_thinking": False, "generate_audio": False,
    }  # fmt: skip


def test_what_a_recipe_leaves_open_is_left_to_the_model() -> None:
    config = configured("daily-omni", **{"decode.temperature": None})
    assert arguments(config) == {"max_new_tokens": 128, "omni_input": True, "generate_audio": False}


def test_sampling_and_further_arguments() -> None:
    config = configured("daily-omni", **{"decode.temperature": 0.7, "decode.top_k": 20})
    found = arguments(config, {"omni_input": False, "length_penalty": 1.1})
    assert (found["do_sample"], found["temperature"], found["top_k"]) == (True, 0.7, 20)
    assert (found["omni_input"], found["length_penalty"]) == (False, 1.1)


def test_arguments_go_by_the_names_of_the_revision() -> None:
    def new(msgs: Any, do_sample: bool, omni_mode: bool, **more: Any) -> None: ...
    def old(msgs: Any, sampling: bool, omni_input: bool, **more: Any) -> None: ...

    given = {"do_sample": False, "omni_input": True, "num_beams": 3}
    assert named_as(new, given) == {"do_sample": False, "omni_mode": True, "num_beams": 3}
    assert named_as(old, given) == {"sampling": False, "omni_input": True, "num_beams": 3}


def test_speech_needs_a_voice_to_copy() -> None:
    config = configured("seed-tts")
    voice = MediaPart("audio", Path("/v.wav"), "audio/wav")
    said = Message("user", (TextPart("你好"),))

    def told(task: SpeechTask) -> dict[str, Any]:
        return chat_message(Request("u", (said,), Generation(), speech=task), config, Path("/out.wav"))

    found = told(SpeechTask("你好", "zh", reference_audio=voice))
    assert found["voice"]["audio"] == "/v.wav" and found["voice"]["language"] == "zh"
    assert [part["text"] for part in found["messages"][0]["content"]] == ["请朗读以下内容。", "你好"]
    assert found["sound_file"] == "/out.wav"
    with pytest.raises(FailedTry, match="voice of a recording"):
        told(SpeechTask("你好", "zh", voice="Bella"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": None}, "--model DIR"),
        ({"decode.constrain": "choice"}, "cannot constrain"),
        ({"engine.devices": ["npu:0+1"]}, "one card"),
    ],
)
def test_what_it_cannot_do_is_refused_at_once(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        create(configured(**({"model": "/m"} | changes)), BackendContext())
