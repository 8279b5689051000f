"""`wavlm-sv`: WavLM with an ECAPA-TDNN head, fine-tuned for speaker verification; the official Seed-TTS SIM.

Source: seed-tts-eval and the speaker-verification recipe of UniSpeech (Chen et al. 2022, "Large-scale
self-supervised speech representation learning for automatic speaker verification"). The checkpoint is
`wavlm_large_finetune.pth`, `{"model": state_dict}`; sizes follow from its shapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.errors import ConfigError, ScoringError
from omnieval.scoring.speaker.devices import chosen_device, torch_module

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_PREFIX = "feature_extract.model."
# Names of the original WavLM in transformers, applied in this order.
_RENAMED = (
    (r"^post_extract_proj\.", "feature_projection.projection."),
    (r"^layer_norm\.", "feature_projection.layer_norm."),
    (r"^feature_extractor\.conv_layers\.(\d+)\.0\.", r"feature_extractor.conv_layers.\1.conv."),
    (r"^feature_extractor\.conv_layers\.(\d+)\.2\.1\.", r"feature_extractor.conv_layers.\1.layer_norm."),
    (r"^encoder\.pos_conv\.0\.weight_g$", "encoder.pos_conv_embed.conv.parametrizations.weight.original0"),
    (r"^encoder\.pos_conv\.0\.weight_v$", "encoder.pos_conv_embed.conv.parametrizations.weight.original1"),
    (r"^encoder\.pos_conv\.0\.bias$", "encoder.pos_conv_embed.conv.bias"),
    (r"\.self_attn_layer_norm\.", ".layer_norm."),
    (r"\.self_attn\.", ".attention."),
    (r"\.grep_linear\.", ".gru_rel_pos_linear."),
    (r"\.grep_a$", ".gru_rel_pos_const"),
    (r"\.relative_attention_bias\.", ".rel_attn_embed."),
    (r"\.fc1\.", ".feed_forward.intermediate_dense."),
    (r"\.fc2\.", ".feed_forward.output_dense."),
    (r"^mask_emb$", "masked_spec_embed"),
)
_HEAD = ("layer1.", "layer2.", "layer3.", "layer4.", "conv.", "pooling.", "bn.", "linear.")
_RES2_SCALE = 8


class WavLMSpeakerVerification:
    """Follows `omnieval.scoring.speaker.SpeakerEncoder`; 256 dimensions."""

    name = "wavlm-sv"

    def __init__(self, encoder: Any, head: Mapping[str, Any], device: str) -> None:
        self._encoder = encoder
        self._head = head
        self._device = device
        self.size = f"{encoder.config.num_hidden_layers} layers of {encoder.config.hidden_size}"

    def embed(self, sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """[samples], float32 at 16 kHz, the whole clip, to [256]."""
        import numpy as np

        torch = torch_module()
        with torch.inference_mode():
            wave = torch.from_numpy(np.ascontiguousarray(sound)).to(self._device)[None]
            wave = torch.nn.functional.layer_norm(wave, wave.shape[1:])
            done = self._encoder(wave, output_hidden_states=True)
            # The last hidden state counts after the encoder's final layer norm.
            layers = torch.stack([*done.hidden_states[:-1], done.last_hidden_state])
            embedding = _ecapa(layers, self._head)
        result: npt.NDArray[np.float32] = embedding[0].float().cpu().numpy()
        return result


def load(path: Path | None, device: str = "auto") -> WavLMSpeakerVerification:
    """Load the official checkpoint. Raises ConfigError without a path or torch, ScoringError when the file is
    no such checkpoint."""
    if path is None:
        raise ConfigError(
            "the encoder wavlm-sv needs its checkpoint, wavlm_large_finetune.pth of seed-tts-eval: "
            "--set similarity.model=PATH, or similarity.encoder=none"
        )
    torch = torch_module()
    where = chosen_device(device)
    state = _state_dict(torch, path)
    encoder = _encoder(torch, state, path).to(where).eval()
    head = {name: value.to(where) for name, value in state.items() if name.startswith(_HEAD)}
    head["feature_weight"] = state["feature_weight"].to(where)
    return WavLMSpeakerVerification(encoder, head, where)


def _state_dict(torch: Any, path: Path) -> dict[str, Any]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        state: dict[str, Any] = dict(content["model"])
    except FileNotFoundError:
        raise ScoringError(
            f"{path}: no such checkpoint; fetch wavlm_large_finetune.pth of seed-tts-eval"
        ) from None
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoringError(
            f"{path}: not a speaker-verification checkpoint that torch can read ({reason}); fetch it again"
        ) from error
    missing = [
        key
        for key in ("feature_weight", "linear.weight", f"{_PREFIX}encoder.layer_norm.weight")
        if key not in state
    ]
    if missing:
        raise ScoringError(f"{path}: not a checkpoint of this model; it lacks {', '.join(missing)}")
    return state


def _encoder(torch: Any, state: Mapping[str, Any], path: Path) -> Any:
    try:
        from transformers import WavLMConfig, WavLMModel
    except ImportError:
        raise ConfigError(
            "the encoder wavlm-sv needs transformers: pip install 'omnieval[speech-torch]'"
        ) from None
    weights = {
        _renamed(name.removeprefix(_PREFIX)): value
        for name, value in state.items()
        if name.startswith(_PREFIX)
    }
    config = WavLMConfig(**_sizes(weights))
    model = WavLMModel(config)
    lacking, unknown = model.load_state_dict(weights, strict=False)
    lacking = [name for name in lacking if name != "masked_spec_embed"]  # used in training only
    unknown = [name for name in unknown if name != "masked_spec_embed"]
    if lacking or unknown:
        raise ScoringError(
            f"{path}: does not fit WavLM of this transformers version; missing {lacking[:3]}, "
            f"unknown {unknown[:3]}"
        )
    return model.to(torch.float32)


def _renamed(name: str) -> str:
    for pattern, replacement in _RENAMED:
        name = re.sub(pattern, replacement, name)
    return name


def _sizes(weights: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of WavLM that the weights were made with."""
    convolutions = [weights[f"feature_extractor.conv_layers.{i}.conv.weight"].shape for i in range(7)]
    hidden = weights["feature_projection.projection.weight"].shape[0]
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layers."))
    positional = weights["encoder.pos_conv_embed.conv.parametrizations.weight.original1"].shape
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": weights["encoder.layers.0.attention.gru_rel_pos_const"].shape[1],
        "intermediate_size": weights["encoder.layers.0.feed_forward.intermediate_dense.weight"].shape[0],
        "conv_dim": [shape[0] for shape in convolutions],
        "conv_kernel": [shape[2] for shape in convolutions],
        "conv_stride": [5, 2, 2, 2, 2, 2, 2],
        "conv_bias": False,
        "feat_extract_norm": "layer",
        "do_stable_layer_norm": True,
        "num_conv_pos_embeddings": positional[2],
        "num_conv_pos_embedding_groups": hidden // positional[1],
        "num_buckets": weights["encoder.layers.0.attention.rel_attn_embed.weight"].shape[0],
        "max_bucket_distance": 800,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "feat_proj_dropout": 0.0,
        "layerdrop": 0.0,
    }


def _ecapa(layers: Any, head: Mapping[str, Any]) -> Any:
    """The head as functions of its weights. layers: [layer, batch, time, hidden]; gives [batch, 256]."""
    torch = torch_module()
    functional = torch.nn.functional
    share = torch.softmax(head["feature_weight"], dim=-1)
    mixed = (layers * share[:, None, None, None]).sum(dim=0).transpose(1, 2) + 1e-6
    x = functional.instance_norm(mixed)
    first = _conv_relu_norm(x, head, "layer1", padding=2)
    second = _se_res2(first, head, "layer2", dilation=2)
    third = _se_res2(second, head, "layer3", dilation=3)
    fourth = _se_res2(third, head, "layer4", dilation=4)
    x = torch.relu(_conv(torch.cat([second, third, fourth], dim=1), head, "conv"))
    scores = _conv(torch.tanh(_conv(x, head, "pooling.linear1")), head, "pooling.linear2")
    weights = torch.softmax(scores, dim=2)
    mean = (weights * x).sum(dim=2)
    variance = (weights * x**2).sum(dim=2) - mean**2
    pooled = torch.cat([mean, variance.clamp(min=1e-9).sqrt()], dim=1)
    return functional.linear(_norm(pooled, head, "bn"), head["linear.weight"], head["linear.bias"])


def _se_res2(x: Any, head: Mapping[str, Any], name: str, *, dilation: int) -> Any:
    """Squeeze-and-excitation over a Res2 block, with its input added."""
    torch = torch_module()
    inner = _conv_relu_norm(x, head, f"{name}.Conv1dReluBn1")
    inner = _res2(inner, head, f"{name}.Res2Conv1dReluBn", dilation)
    inner = _conv_relu_norm(inner, head, f"{name}.Conv1dReluBn2")
    gate = inner.mean(dim=2)
    functional = torch.nn.functional
    for step, activation in (("linear1", torch.relu), ("linear2", torch.sigmoid)):
        key = f"{name}.SE_Connect.{step}"
        gate = activation(functional.linear(gate, head[f"{key}.weight"], head[f"{key}.bias"]))
    return x + inner * gate[:, :, None]


def _res2(x: Any, head: Mapping[str, Any], name: str, dilation: int) -> Any:
    """Eight chunks: each but the last is convolved after the one before was added; the last passes."""
    torch = torch_module()
    chunks = torch.chunk(x, _RES2_SCALE, dim=1)
    done: list[Any] = []
    for i, chunk in enumerate(chunks[:-1]):
        given = chunk if i == 0 else done[-1] + chunk
        convolved = _conv(given, head, f"{name}.convs.{i}", padding=dilation, dilation=dilation)
        done.append(_norm(torch.relu(convolved), head, f"{name}.bns.{i}"))
    return torch.cat([*done, chunks[-1]], dim=1)


def _conv_relu_norm(x: Any, head: Mapping[str, Any], name: str, *, padding: int = 0) -> Any:
    return _norm(torch_module().relu(_conv(x, head, f"{name}.conv", padding=padding)), head, f"{name}.bn")


def _conv(x: Any, head: Mapping[str, Any], name: str, *, padding: int = 0, dilation: int = 1) -> Any:
    convolve = torch_module().nn.functional.conv1d
    return convolve(x, head[f"{name}.weight"], head.get(f"{name}.bias"), padding=padding, dilation=dilation)


def _norm(x: Any, head: Mapping[str, Any], name: str) -> Any:
    return torch_module().nn.functional.batch_norm(
        x,
        head[f"{name}.running_mean"],
        head[f"{name}.running_var"],
        head[f"{name}.weight"],
        head[f"{name}.bias"],
    )
