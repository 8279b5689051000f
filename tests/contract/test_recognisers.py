"""Every recogniser runs its library's real code on a tiny model, in batches as one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from omnieval.errors import ConfigError, ScoringError
from omnieval.media.audio import read_audio
from omnieval.samples import sample_dir
from omnieval.scoring.asr import load_recogniser
from tests import speech_models

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

CLIPS = sample_dir("daily-omni") / "Videos"
SOUNDS = [
    read_audio(CLIPS / name / f"{name}_audio.wav") for name in ("harbour_02", "market_03", "kitchen_01")
]
MODELS = {
    "whisper": (lambda folder: speech_models.openai_whisper(folder / "tiny.pt"), "en"),
    "whisper-hf": (lambda folder: speech_models.whisper_hf(folder / "hf"), "en"),
    "paraformer": (lambda folder: speech_models.paraformer(folder / "pf"), "zh"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_gives_what_each_sound_gives_alone(name: str, tmp_path: Path) -> None:
    build, language = MODELS[name]
    path = build(tmp_path)
    recogniser = load_recogniser(name, path, device="cpu")
    together = recogniser.transcribe(SOUNDS, language)  # type: ignore[arg-type]
    assert len(together) == len(SOUNDS)
    assert any(together)
    assert together == [recogniser.transcribe([sound], language)[0] for sound in SOUNDS]  # type: ignore[arg-type]
    assert recogniser.details["model"] == str(path)
    assert recogniser.details["device"] == "cpu"
    assert all(recogniser.details.values())


def test_whisper_hf_decodes_as_the_official_script_does(tmp_path: Path) -> None:
    import torch
    from transformers import WhisperForConditionalGeneration, WhisperProcessor

    folder = speech_models.whisper_hf(tmp_path)
    processor = WhisperProcessor.from_pretrained(folder)
    model = WhisperForConditionalGeneration.from_pretrained(folder).eval()
    features = processor(SOUNDS[0], sampling_rate=16_000, return_tensors="pt").input_features
    with torch.inference_mode():
        tokens = model.generate(features, language="english", task="transcribe")
    expected = processor.batch_decode(tokens, skip_special_tokens=True)
    assert load_recogniser("whisper-hf", folder, device="cpu").transcribe(SOUNDS[:1], "en") == expected


def test_paraformer_writes_simplified_characters_and_hears_no_english(tmp_path: Path) -> None:
    recogniser = load_recogniser("paraformer", speech_models.paraformer(tmp_path), device="cpu")
    noise = [np.random.default_rng(i).normal(0, 0.3, 48_000).astype(np.float32) for i in range(4)]
    heard = "".join(recogniser.transcribe([*SOUNDS, *noise], "zh"))
    assert not set(heard) & set("氣臺灣")
    assert set(heard) & set("气台湾")
    with pytest.raises(ScoringError, match="Mandarin only"):
        recogniser.transcribe(SOUNDS[:1], "en")


@pytest.mark.parametrize("name", ["whisper", "whisper-hf", "paraformer"])
def test_a_model_that_cannot_be_loaded_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tiny.pt").write_text("no checkpoint")
    path = tmp_path / "tiny.pt" if name == "whisper" else tmp_path
    with pytest.raises(ScoringError, match=r"cannot be loaded \(.+\); fetch it, or give the path"):
        load_recogniser(name, path, device="cpu")
    with pytest.raises(ConfigError, match="unknown device 'tpu'"):
        load_recogniser(name, path, device="tpu")
