"""`whisper`: Whisper by openai-whisper. The same weights as `whisper-hf`, but another decoding loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from omnieval.errors import ConfigError, ScoringError
from omnieval.scoring.asr.base import Language
from omnieval.scoring.speaker.devices import chosen_device

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DEFAULT = "large-v3"


class OpenAIWhisper:
    """Follows `omnieval.scoring.asr.Recogniser`."""

    name = "whisper"
    weights = ""

    def __init__(self, model: Any, device: str, details: Mapping[str, str]) -> None:
        self._model = model
        self._device = device
        self.details = details
        self.batch_size = 1 if device == "cpu" else 16

    def transcribe(self, sounds: Sequence[npt.NDArray[np.float32]], language: Language) -> list[str]:
        """See the protocol. What is longer than 30 s is cut there, as with `whisper-hf`."""
        import torch
        import whisper

        half = self._device != "cpu"
        windows = [
            whisper.log_mel_spectrogram(whisper.pad_or_trim(torch.from_numpy(sound)), self._model.dims.n_mels)
            for sound in sounds
        ]
        options = whisper.DecodingOptions(
            language=language, task="transcribe", temperature=0.0, without_timestamps=True, fp16=half
        )
        mel = torch.stack(windows).to(self._device)
        results = whisper.decode(self._model, mel.half() if half else mel, options)
        return [str(result.text) for result in results]


def load(model: str | None, device: str = "auto") -> OpenAIWhisper:
    """model: a checkpoint file, or a name such as `large-v3`.

    Raises ConfigError when a package or device is missing, ScoringError when the model cannot be loaded.
    """
    where = chosen_device(device)
    try:
        import whisper
    except ImportError:
        raise ConfigError(
            "the recogniser whisper needs openai-whisper: pip install 'omnieval[speech-torch]'"
        ) from None
    source = model or _DEFAULT
    try:
        loaded = whisper.load_model(source, device=where)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoringError(
            f"{source}: Whisper cannot be loaded ({reason}); fetch it, or give the path of a checkpoint file"
        ) from error
    details = {
        "model": source,
        "version": f"openai-whisper {version('openai-whisper')}",
        "device": where.partition(":")[0],
        "decoding": "greedy, no timestamps, " + ("float32" if where == "cpu" else "float16"),
    }
    return OpenAIWhisper(loaded.eval(), where, details)
