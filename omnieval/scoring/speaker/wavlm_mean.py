"""`wavlm-mean`: WavLM's speaker-verification model of transformers or a plain WavLM, averaged over time.

What some benches report as SIM; on the same sound it is far higher than `wavlm-sv` and must not be compared
with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.errors import ConfigError, ScoringError
from omnieval.scoring.speaker.devices import chosen_device, torch_module

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DEFAULT = "microsoft/wavlm-base-plus"


class WavLMMean:
    """Follows `omnieval.scoring.speaker.SpeakerEncoder`; the mean of the last hidden state over time."""

    name = "wavlm-mean"

    def __init__(self, extractor: Any, model: Any, device: str) -> None:
        self._extractor = extractor
        self._model = model
        self._device = device

    def embed(self, sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """[samples], float32 at 16 kHz, to [hidden]."""
        torch = torch_module()
        inputs = self._extractor(sound, sampling_rate=16_000, return_tensors="pt")
        with torch.inference_mode():
            done = self._model(inputs["input_values"].to(self._device))
        result: npt.NDArray[np.float32] = done.last_hidden_state[0].mean(dim=0).float().cpu().numpy()
        return result


def load(path: Path | None, device: str = "auto") -> WavLMMean:
    """Load WavLM from a local folder, or `microsoft/wavlm-base-plus` from the hub or its cache.

    Raises ConfigError without torch and transformers, ScoringError when the model cannot be loaded.
    """
    where = chosen_device(device)
    try:
        from transformers import AutoFeatureExtractor, WavLMModel
    except ImportError:
        raise ConfigError(
            "the encoder wavlm-mean needs transformers: pip install 'omnieval[speech-torch]'"
        ) from None
    source = str(path or _DEFAULT)
    try:
        extractor = AutoFeatureExtractor.from_pretrained(source)
        model = WavLMModel.from_pretrained(source)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoringError(
            f"{source}: WavLM cannot be loaded ({reason}); give the path of a local folder with the model"
        ) from error
    return WavLMMean(extractor, model.to(where).eval(), where)
