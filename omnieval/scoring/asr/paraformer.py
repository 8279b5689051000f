"""`paraformer`: Paraformer by FunASR, the official recogniser of Seed-TTS for Mandarin.

FunASR adds a little noise to the sound before it hears it (dither), so that the same sound may give two
texts; it is switched off here, so that a result can be had again.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from omnieval.errors import ConfigError, ScoringError
from omnieval.scoring.asr.base import Language
from omnieval.scoring.speaker.devices import chosen_device
from omnieval.scoring.speech.normalise import to_simplified

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DEFAULT = "paraformer-zh"


class Paraformer:
    """Follows `omnieval.scoring.asr.Recogniser`. Mandarin only; texts in simplified characters."""

    name = "paraformer"
    weights = ""
    batch_size = 1  # with others beside it, padded to their length, a sound can give another text

    def __init__(self, model: Any, details: Mapping[str, str]) -> None:
        self._model = model
        self.details = details

    def transcribe(self, sounds: Sequence[npt.NDArray[np.float32]], language: Language) -> list[str]:
        """See the protocol. Raises ScoringError for another language."""
        if language != "zh":
            raise ScoringError("paraformer hears Mandarin only; take whisper-hf for English")
        with contextlib.redirect_stdout(io.StringIO()):  # the library prints its progress
            results = self._model.generate(input=list(sounds), batch_size=1, fs=16_000, disable_pbar=True)
        return [to_simplified(str(result["text"])) for result in results]


def load(model: str | None, device: str = "auto") -> Paraformer:
    """model: a local folder, or a name that FunASR knows (the official one by default).

    Raises ConfigError when a package or device is missing, ScoringError when the model cannot be loaded.
    """
    where = chosen_device(device)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            from funasr import AutoModel
    except ImportError:
        raise ConfigError(
            "the recogniser paraformer needs funasr: pip install 'omnieval[speech-torch]'"
        ) from None
    source = model or _DEFAULT
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            loaded = AutoModel(
                model=source,
                device=where,
                frontend_conf={"dither": 0.0},
                disable_update=True,
                disable_pbar=True,
            )
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoringError(
            f"{source}: Paraformer cannot be loaded ({reason}); fetch it, or give the path of a local folder"
        ) from error
    details = {
        "model": source,
        "version": f"funasr {version('funasr')}",
        "device": where.partition(":")[0],
        "decoding": "the model's own, without dither",
    }
    return Paraformer(loaded, details)
