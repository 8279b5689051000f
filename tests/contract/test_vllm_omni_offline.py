"""What vLLM-Omni's `Omni` is given, and what is made of what it gives back, by its known calls.

The engine itself is not here: `data/vllm_omni_offline.json` holds its calls and the shapes of its outputs.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import types
import wave
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from omnieval.backends.vllm_omni.output import answers_of
from omnieval.backends.vllm_omni.prompt import prompt_of, sampling_of
from omnieval.backends.vllm_omni.worker import Worker, main
from omnieval.media.encode import encode_wav
from omnieval.types import Generation, MediaPart, Message, Request, SpeechTask, TextPart

CONTRACT: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "vllm_omni_offline.json").read_text())
PLACEHOLDERS = {"image": "(<image>./</image>)", "audio": "(<audio>./</audio>)"}


class PlainTemplate:
    """A tokenizer whose chat template is the text alone."""

    def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> str:
        return "".join(message["content"] for message in messages)


@pytest.fixture
def media(tmp_path: Path) -> dict[str, MediaPart]:
    from PIL import Image

    Image.new("RGB", (4, 2), "red").save(tmp_path / "frame.png")
    (tmp_path / "sound.wav").write_bytes(encode_wav(np.zeros(160, np.float32), 16_000))
    return {
        "image": MediaPart("image", tmp_path / "frame.png", "image/png"),
        "audio": MediaPart("audio", tmp_path / "sound.wav", "audio/wav"),
    }


@pytest.mark.parametrize("case", CONTRACT["prompts"], ids=lambda case: case["name"])
def test_a_prompt_has_its_placeholders_in_order_and_as_many_media(
    case: dict[str, Any], media: dict[str, MediaPart]
) -> None:
    parts = tuple(media.get(word) or TextPart(word) for word in case["parts"])
    request = Request("s", (Message("user", parts),), Generation(), modalities=tuple(case["modalities"]))
    prompt = prompt_of(request, PlainTemplate(), placeholders=PLACEHOLDERS, separator="\n")
    assert prompt["prompt"] == case["prompt"]
    assert prompt["modalities"] == case["modalities"]
    given = prompt.get("multi_modal_data", {})
    assert {kind: len(items) for kind, items in given.items()} == case["media"]
    for picture in given.get("image", []):
        assert (picture.mode, picture.size) == ("RGB", (4, 2))
    for samples, rate_hz in given.get("audio", []):
        assert (samples.dtype, samples.shape, rate_hz) == (np.float32, (160,), 16_000)


@pytest.mark.parametrize("rate_hz", [16_000, 24_000])
def test_the_reference_voice_is_handed_over_as_the_model_looks_for_it(tmp_path: Path, rate_hz: int) -> None:
    samples = np.linspace(-0.5, 0.5, 2_400, dtype=np.float32)
    (tmp_path / "voice.wav").write_bytes(encode_wav(samples, rate_hz))
    voice = MediaPart("audio", tmp_path / "voice.wav", "audio/wav")
    task = SpeechTask("say this", "en", reference_audio=voice, reference_text="said before")
    request = Request("s", (Message("user", (TextPart("say this"),)),), Generation(), speech=task)
    prompt = prompt_of(request, PlainTemplate(), placeholders=PLACEHOLDERS, separator="\n")
    handed, of_hz = prompt[CONTRACT["voice_key"]]
    assert (handed.dtype, handed.shape, of_hz) == (np.float32, (2_400,), rate_hz)
    assert np.abs(handed - samples).max() < 1e-4
    assert "multi_modal_data" not in prompt  # the first sound there would be taken for the voice


def test_each_stage_has_its_sampling_and_the_first_one_what_the_request_asks_for() -> None:
    defaults = [SimpleNamespace(max_tokens=9, temperature=0.7, top_k=-1), SimpleNamespace(max_tokens=4096)]
    request = Request("s", (), Generation(max_tokens=128, temperature=0.0, repetition_penalty=1.2))
    first, second = sampling_of(request, defaults)
    assert (first.max_tokens, first.temperature, first.repetition_penalty, first.top_k) == (128, 0.0, 1.2, -1)
    assert second.max_tokens == 4096
    assert defaults[0].max_tokens == 9, "the deploy file's own are left alone"


def as_object(value: Any) -> Any:
    """JSON as the engine's objects: mappings with these names stay mappings, sounds are arrays."""
    if isinstance(value, list):
        return [as_object(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = ("multimodal_output", "metrics")
    return SimpleNamespace(**{k: _sound_of(v) if k in plain else as_object(v) for k, v in value.items()})


def _sound_of(found: dict[str, Any]) -> dict[str, Any]:
    if "audio" not in found:
        return found
    pieces = found["audio"]
    nested = isinstance(pieces[0], list)
    arrays = [np.array(piece, np.float32) for piece in pieces] if nested else np.array(pieces, np.float32)
    return {**found, "audio": arrays}


@pytest.mark.parametrize("case", CONTRACT["outputs"], ids=lambda case: case["name"])
def test_outputs_become_one_answer_a_prompt(case: dict[str, Any]) -> None:
    answers = answers_of(as_object(case["outputs"]), case["prompts"])
    for answer in answers:
        wav = answer.pop("wav", None)
        if wav is not None:
            with wave.open(io.BytesIO(base64.b64decode(wav))) as sound:
                answer |= {"rate_hz": sound.getframerate(), "frames": sound.getnframes()}
                assert (sound.getnchannels(), sound.getsampwidth()) == (1, 2)
    assert answers == case["answers"]


def test_the_engine_is_made_by_its_class_with_its_known_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = CONTRACT["calls"]
    given: dict[str, Any] = {}

    class Omni:
        default_sampling_params_list = ()

        def __init__(self, **arguments: Any) -> None:
            given.update(arguments)

    module = types.ModuleType(calls["module"])
    setattr(module, calls["class"], Omni)
    tokenizers = types.ModuleType("transformers")
    tokenizers.AutoTokenizer = SimpleNamespace(  # type: ignore[attr-defined]
        from_pretrained=lambda model, **_: PlainTemplate()
    )
    monkeypatch.setitem(sys.modules, "transformers", tokenizers)
    for name in ("vllm_omni", "vllm_omni.entrypoints"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, calls["module"], module)
    load = {
        "model": "MODEL", "deploy_config": "DEPLOY", "stage_init_timeout": 1800, "trust_remote_code": True,
        "arguments": {"limit_mm_per_prompt": {"image": 64}}, "at_once": 1,
    }  # fmt: skip
    Worker(load, io.BytesIO())
    assert given == {**calls["arguments"], "limit_mm_per_prompt": {"image": 64}}


def test_stages_are_spawned_also_where_the_user_has_not_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_WORKER_MULTIPROC_METHOD", raising=False)
    seen: dict[str, str | None] = {}

    class Stopped(Exception):
        pass

    def first_line() -> bytes:
        seen.update({name: os.environ.get(name) for name in CONTRACT["calls"]["environment"]})
        raise Stopped

    stdin = SimpleNamespace(buffer=SimpleNamespace(readline=first_line))
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(Stopped):
        main()
    assert seen == CONTRACT["calls"]["environment"]
