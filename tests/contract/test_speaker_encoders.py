"""Speaker embeddings equal those of the reference implementation; every encoder tells voices apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnieval.errors import ConfigError, ScoringError
from omnieval.media.audio import read_audio
from omnieval.samples import sample_dir
from omnieval.scoring.speaker import ENCODERS, VoiceMatcher, load_encoder
from tests.media_files import make_wav

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

DATA = Path(__file__).parent / "data" / "sim"
CHECKPOINT = DATA / "tiny_wavlm_sv.pth"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())


@pytest.mark.parametrize("clip", EXPECTED["embeddings"])
def test_wavlm_sv_gives_the_embeddings_of_the_reference(clip: str) -> None:
    encoder = load_encoder("wavlm-sv", CHECKPOINT, device="cpu")
    embedding = encoder.embed(read_audio(DATA / "wavs" / f"{clip}.wav"))
    assert embedding.dtype == np.float32
    assert np.abs(embedding - np.array(EXPECTED["embeddings"][clip])).max() < 1e-4


def test_wavlm_sv_gives_the_similarities_of_the_reference_and_embeds_each_clip_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = load_encoder("wavlm-sv", CHECKPOINT, device="cpu")
    heard = []
    plain = encoder.embed
    monkeypatch.setattr(encoder, "embed", lambda sound: heard.append(len(sound)) or plain(sound))
    matcher = VoiceMatcher(encoder)
    for pair, similarity in EXPECTED["cosine"].items():
        first, second = (DATA / "wavs" / f"{name}.wav" for name in pair.split("|"))
        assert matcher.similarity(first, second) == pytest.approx(similarity, abs=1e-4)
    assert len(heard) == len(EXPECTED["embeddings"])


def test_ge2e_finds_a_voice_more_like_itself_than_like_a_tone() -> None:
    clips = sample_dir("daily-omni") / "Videos"
    voice, same = (clips / name / f"{name}_audio.wav" for name in ("harbour_02", "market_03"))
    other = DATA / "wavs" / "e_16k_noise.wav"
    matcher = VoiceMatcher(load_encoder("ge2e", device="cpu"))
    assert matcher.encoder.embed(read_audio(voice)).shape == (256,)
    assert matcher.similarity(voice, same) > 0.75 > matcher.similarity(voice, other)


def test_wavlm_mean_is_the_mean_of_the_last_hidden_state(tmp_path: Path) -> None:
    import torch
    from transformers import Wav2Vec2FeatureExtractor, WavLMConfig, WavLMModel

    torch.manual_seed(1)
    config = WavLMConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, conv_dim=[16] * 7
    )
    model = WavLMModel(config).eval()
    model.save_pretrained(tmp_path)
    Wav2Vec2FeatureExtractor(do_normalize=True).save_pretrained(tmp_path)
    encoder = load_encoder("wavlm-mean", tmp_path, device="cpu")
    sound = read_audio(DATA / "wavs" / "a_16k.wav")
    normal = (sound - sound.mean()) / np.sqrt(sound.var() + 1e-7)
    with torch.inference_mode():
        expected = model(torch.from_numpy(normal)[None]).last_hidden_state[0].mean(dim=0).numpy()
    assert np.abs(encoder.embed(sound) - expected).max() < 1e-4


def test_names_tell_the_encoders_apart() -> None:
    assert set(ENCODERS) == {"wavlm-sv", "wavlm-mean", "ge2e"}
    assert load_encoder("wavlm-sv", CHECKPOINT, device="cpu").name == "wavlm-sv"
    with pytest.raises(ConfigError, match="did you mean 'wavlm-sv'"):
        load_encoder("wavlm_sv")


def test_what_cannot_be_scored_says_why(tmp_path: Path) -> None:
    import torch

    with pytest.raises(ConfigError, match="needs its checkpoint"):
        load_encoder("wavlm-sv")
    with pytest.raises(ScoringError, match=r"nowhere\.pth: no such checkpoint"):
        load_encoder("wavlm-sv", tmp_path / "nowhere.pth")
    (tmp_path / "text.pth").write_text("no checkpoint")
    with pytest.raises(ScoringError, match=r"text\.pth: not a speaker-verification checkpoint"):
        load_encoder("wavlm-sv", tmp_path / "text.pth")
    torch.save({"model": {"feature_weight": torch.zeros(4)}}, tmp_path / "other.pth")
    with pytest.raises(
        ScoringError, match=r"other\.pth: not a checkpoint of this model; it lacks linear\.weight"
    ):
        load_encoder("wavlm-sv", tmp_path / "other.pth")
    with pytest.raises(ScoringError, match="WavLM cannot be loaded"):
        load_encoder("wavlm-mean", tmp_path)
    with pytest.raises(ConfigError, match="unknown device 'tpu'"):
        load_encoder("ge2e", device="tpu")
    matcher = VoiceMatcher(load_encoder("ge2e", device="cpu"))
    with pytest.raises(ScoringError, match="too few to tell a voice"):
        matcher.similarity(
            make_wav(tmp_path / "short.wav", seconds=0.05), make_wav(tmp_path / "b.wav", seconds=1)
        )
    silent = make_wav(tmp_path / "silent.wav", seconds=1, frequency_hz=0.0)
    with pytest.raises(ScoringError, match="silence has no voice"):
        matcher.similarity(silent, silent)
