"""`whisper-hf`: Whisper through transformers, the official recogniser of Seed-TTS for English.

The protocol: whisper-large-v3, 16 kHz, language forced, task transcribe, greedy, no timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from omnieval.errors import ConfigError, ScoringError
from omnieval.scoring.asr.base import Language
from omnieval.scoring.speaker.devices import chosen_device, torch_module

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DEFAULT = "openai/whisper-large-v3"


class WhisperHF:
    """Follows `omnieval.scoring.asr.Recogniser`."""

    name = "whisper-hf"
    weights = ""

    def __init__(self, processor: Any, model: Any, device: str, details: Mapping[str, str]) -> None:
        self._processor = processor
        self._model = model
        self._device = device
        self.details = details
        self.batch_size = 1 if device == "cpu" else 16

    def transcribe(self, sounds: Sequence[npt.NDArray[np.float32]], language: Language) -> list[str]:
        """See the protocol. What is longer than 30 s is cut there, as the official script does."""
        torch = torch_module()
        inputs = self._processor(
            list(sounds), sampling_rate=16_000, return_tensors="pt", return_attention_mask=True
        )
        features = inputs.input_features.to(self._device, self._model.dtype)
        names = {"en": "english", "zh": "chinese"}
        with torch.inference_mode():
            tokens = self._model.generate(
                features, attention_mask=inputs.attention_mask.to(self._device), language=names[language],
                task="transcribe", do_sample=False, num_beams=1,
                return_timestamps=False,
            )  # fmt: skip
        texts: list[str] = self._processor.batch_decode(tokens, skip_special_tokens=True)
        return texts


def load(model: str | None, device: str = "auto") -> WhisperHF:
    """model: a local folder, or a name on the hub (the official one by default). Raises ConfigError when a
    package or device is missing, ScoringError when the model cannot be loaded."""
    where = chosen_device(device)
    torch = torch_module()
    try:
        from transformers import WhisperForConditionalGeneration, WhisperProcessor
    except ImportError:
        raise ConfigError(
            "the recogniser whisper-hf needs transformers: pip install 'omnieval[speech-torch]'"
        ) from None
    source = model or _DEFAULT
    try:
        processor = WhisperProcessor.from_pretrained(source)
        loaded = WhisperForConditionalGeneration.from_pretrained(source)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoringError(
            f"{source}: Whisper cannot be loaded ({reason}); fetch it, or give the path of a local folder"
        ) from error
    loaded = loaded.to(where, torch.float32 if where == "cpu" else torch.float16).eval()
    details = {
        "model": source,
        "version": f"transformers {version('transformers')}",
        "device": where.partition(":")[0],
        "decoding": f"greedy, no timestamps, {str(loaded.dtype).removeprefix('torch.')}",
    }
    return WhisperHF(processor, loaded, where, details)
