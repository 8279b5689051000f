"""`ge2e`: the GE2E encoder of resemblyzer, whose weights come with the package; for checks without downloads.

Source: Wan et al. 2018, "Generalized end-to-end loss for speaker verification".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.errors import ConfigError, ScoringError
from omnieval.scoring.speaker.devices import chosen_device

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class GE2E:
    """Follows `omnieval.scoring.speaker.SpeakerEncoder`; 256 dimensions."""

    name = "ge2e"

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder

    def embed(self, sound: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """[samples], float32 at 16 kHz, to [256]. Raises ScoringError for silence."""
        from resemblyzer import normalize_volume

        if not sound.any():
            raise ScoringError("silence has no voice")
        result: npt.NDArray[np.float32] = self._encoder.embed_utterance(
            normalize_volume(sound, -30, increase_only=True)
        )
        return result


def load(path: Path | None, device: str = "auto") -> GE2E:
    """The encoder with the package's weights. Raises ConfigError when the package is missing or a path is
    given."""
    if path is not None:
        raise ConfigError("the encoder ge2e carries its weights; give no path")
    try:
        from resemblyzer import VoiceEncoder
    except ImportError as error:
        raise ConfigError(
            "the encoder ge2e needs resemblyzer: pip install 'omnieval[speech-torch]', then "
            f"pip install --no-deps resemblyzer ({error})"
        ) from error
    return GE2E(VoiceEncoder(chosen_device(device), verbose=False))
