"""Tiny random speech models in the libraries' own formats: they hear nonsense, but load and run as real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_LANGUAGES = ("en", "zh")


def openai_whisper(path: Path) -> Path:
    """A checkpoint of openai-whisper."""
    import torch
    from whisper.model import ModelDimensions, Whisper

    torch.manual_seed(1)
    dims = ModelDimensions(
        n_mels=80, n_audio_ctx=1500, n_audio_state=16, n_audio_head=2, n_audio_layer=1, n_vocab=51865,
        n_text_ctx=24, n_text_state=16, n_text_head=2, n_text_layer=1,
    )  # fmt: skip
    model = Whisper(dims)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    torch.save({"dims": dims.__dict__, "model_state_dict": model.state_dict()}, path)
    return path


def whisper_hf(folder: Path) -> Path:
    """A folder of transformers with model, feature extractor and a byte-level tokenizer."""
    import torch
    from transformers import (
        GenerationConfig,
        WhisperConfig,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
        WhisperProcessor,
        WhisperTokenizer,
    )
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    folder.mkdir(parents=True, exist_ok=True)
    letters = list(bytes_to_unicode().values())
    special = ["<|endoftext|>", "<|startoftranscript|>", *(f"<|{code}|>" for code in _LANGUAGES), "<|translate|>",
               "<|transcribe|>", "<|startofprev|>", "<|notimestamps|>"]  # fmt: skip
    vocabulary = {token: number for number, token in enumerate([*letters, *special])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = WhisperTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in special}
    torch.manual_seed(1)
    config = WhisperConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_target_positions=24,
        bos_token_id=ids["<|endoftext|>"], eos_token_id=ids["<|endoftext|>"], pad_token_id=ids["<|endoftext|>"],
        decoder_start_token_id=ids["<|startoftranscript|>"],
    )  # fmt: skip
    model = WhisperForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        max_length=20, bos_token_id=config.bos_token_id, eos_token_id=config.eos_token_id,
        pad_token_id=config.pad_token_id, decoder_start_token_id=config.decoder_start_token_id,
        is_multilingual=True, lang_to_id={f"<|{code}|>": ids[f"<|{code}|>"] for code in _LANGUAGES},
        task_to_id={"transcribe": ids["<|transcribe|>"], "translate": ids["<|translate|>"]},
        no_timestamps_token_id=ids["<|notimestamps|>"], suppress_tokens=[], begin_suppress_tokens=[],
    )  # fmt: skip
    model.save_pretrained(folder)
    WhisperProcessor(WhisperFeatureExtractor(), tokenizer).save_pretrained(folder)
    return folder


def paraformer(folder: Path) -> Path:
    """A folder of FunASR with a Paraformer whose words are a few Chinese characters, one of them traditional."""
    import torch
    import yaml
    from funasr.register import tables

    folder.mkdir(parents=True, exist_ok=True)
    tokens = ["<blank>", "<s>", "</s>", *"你好世界今天氣臺灣", "<unk>"]
    (folder / "tokens.json").write_text(json.dumps(tokens, ensure_ascii=False))
    config: dict[str, Any] = {
        "model": "Paraformer",
        "model_conf": {"ctc_weight": 0.0, "lsm_weight": 0.1, "length_normalized_loss": True,
                       "predictor_weight": 1.0, "predictor_bias": 1, "sampling_ratio": 0.75},
        "encoder": "SANMEncoder",
        "encoder_conf": {"output_size": 16, "attention_heads": 2, "linear_units": 32, "num_blocks": 1,
                         "dropout_rate": 0.0, "positional_dropout_rate": 0.0, "attention_dropout_rate": 0.0,
                         "input_layer": "pe", "pos_enc_class": "SinusoidalPositionEncoder",
                         "normalize_before": True, "kernel_size": 11, "sanm_shfit": 0,
                         "selfattention_layer_type": "sanm"},
        "decoder": "ParaformerSANMDecoder",
        "decoder_conf": {"attention_heads": 2, "linear_units": 32, "num_blocks": 1, "dropout_rate": 0.0,
                         "positional_dropout_rate": 0.0, "self_attention_dropout_rate": 0.0,
                         "src_attention_dropout_rate": 0.0, "att_layer_num": 1, "kernel_size": 11, "sanm_shfit": 0},
        "predictor": "CifPredictorV2",
        "predictor_conf": {"idim": 16, "threshold": 1.0, "l_order": 1, "r_order": 1, "tail_threshold": 0.45},
        "frontend": "WavFrontend",
        "frontend_conf": {"fs": 16000, "window": "hamming", "n_mels": 80, "frame_length": 25, "frame_shift": 10,
                          "lfr_m": 7, "lfr_n": 6},
        "tokenizer": "CharTokenizer",
        "tokenizer_conf": {"unk_symbol": "<unk>", "split_with_space": True, "token_list": tokens},
        "input_size": 560,
    }  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
    (folder / "configuration.json").write_text(json.dumps({
        "framework": "pytorch", "model": {"type": "funasr"}, "task": {"type": "auto-speech-recognition"},
        "file_path_metas": {"init_param": "model.pt", "config": "config.yaml"},
    }))  # fmt: skip
    torch.manual_seed(3)
    arguments = {key: value for key, value in config.items() if key not in ("model", "model_conf")}
    model = tables.model_classes["Paraformer"](**arguments, **config["model_conf"], vocab_size=len(tokens))
    torch.save({"state_dict": model.state_dict()}, folder / "model.pt")
    return folder
