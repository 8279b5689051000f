"""What a speaker encoder is, how one is loaded by its name, and similarities with each clip embedded once."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from omnieval.errors import ConfigError, ScoringError
from omnieval.media.audio import read_audio
from omnieval.media.plan import AUDIO_RATE_HZ
from omnieval.wording import suggest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Sound = npt.NDArray[np.float32]
    Embedding = npt.NDArray[np.float32]

# Below this an encoder has too little to hear.
_SHORTEST_S = 0.1
_REMEMBERED = 4_096


class SpeakerEncoder(Protocol):
    """name: part of the metric's name. embed: [samples], float32 at 16 kHz, to [dimensions], float32."""

    name: str

    def embed(self, sound: Sound) -> Embedding: ...


def _wavlm_sv(path: Path | None, device: str) -> SpeakerEncoder:
    from omnieval.scoring.speaker.wavlm_sv import load

    return load(path, device)


def _wavlm_mean(path: Path | None, device: str) -> SpeakerEncoder:
    from omnieval.scoring.speaker.wavlm_mean import load

    return load(path, device)


def _ge2e(path: Path | None, device: str) -> SpeakerEncoder:
    from omnieval.scoring.speaker.ge2e import load

    return load(path, device)


ENCODERS: Mapping[str, Callable[[Path | None, str], SpeakerEncoder]] = {
    "wavlm-sv": _wavlm_sv,
    "wavlm-mean": _wavlm_mean,
    "ge2e": _ge2e,
}


def load_encoder(name: str, path: Path | None = None, *, device: str = "auto") -> SpeakerEncoder:
    """An encoder by its name.

    path: its checkpoint or folder; `ge2e` carries its own. device: `cpu`, `cuda:0`, `npu:0` or `auto`.
    Raises ConfigError for an unknown name or a missing package, ScoringError for a checkpoint that does not
    fit.
    """
    if name not in ENCODERS:
        raise ConfigError(f"unknown speaker encoder {name!r}{suggest(name, ENCODERS)}")
    return ENCODERS[name](path, device)


class VoiceMatcher:
    """Cosine similarities of clips by one encoder; a clip is embedded once, however often it is compared."""

    def __init__(self, encoder: SpeakerEncoder) -> None:
        self.encoder = encoder
        self._known: OrderedDict[str, Embedding] = OrderedDict()

    def similarity(self, first: Path, second: Path) -> float:
        """-1 to 1. Raises MediaError for a file that cannot be read, ScoringError for one too short."""
        import numpy as np

        a, b = self._embedding(first), self._embedding(second)
        norm = float(np.linalg.norm(a) * np.linalg.norm(b))
        if norm == 0 or not np.isfinite(norm):
            raise ScoringError(f"{first}, {second}: the encoder gives no direction; is one of them silent?")
        return float(np.dot(a, b) / norm)

    def _embedding(self, path: Path) -> Embedding:
        sound = read_audio(path, first_channel=True)
        if len(sound) < _SHORTEST_S * AUDIO_RATE_HZ:
            raise ScoringError(f"{path}: {len(sound)} samples are too few to tell a voice by")
        key = hashlib.sha256(sound.tobytes()).hexdigest()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        self._known[key] = self.encoder.embed(sound)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return self._known[key]
