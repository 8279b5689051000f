"""The sound of a file as 16 kHz mono samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.errors import MediaError
from omnieval.media.open import open_media
from omnieval.media.plan import AUDIO_RATE_HZ

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from av.audio.frame import AudioFrame


def read_audio(path: Path) -> npt.NDArray[np.float32]:
    """The whole first audio track: [samples], float32 in -1..1, 16 kHz, mono.

    Resampled by FFmpeg; channels are averaged, as the references do (FFmpeg's own down-mix of float sound
    is louder and would clip). A track that starts after the file's beginning gets silence before it, so
    that sample i is at i/16000 seconds of the file. Raises MediaError when there is no track or no sound.
    """
    import av
    import numpy as np

    with open_media(path) as container:
        if not container.streams.audio:
            raise MediaError(
                f"{path}: no audio track, but the recipe needs sound; "
                "supply a WAV beside it, or ask without sound (input_mode=visual)"
            )
        stream = container.streams.audio[0]
        stream.codec_context.thread_count = 1
        resampler = av.AudioResampler(format="fltp", layout=stream.layout, rate=AUDIO_RATE_HZ)
        late_s = 0.0
        pieces: list[npt.NDArray[np.float32]] = []
        for frame in container.decode(stream):
            if not pieces:
                late_s = _late_start_s(frame, container.start_time)
            pieces += [_mono(piece) for piece in resampler.resample(frame)]
        pieces += [_mono(piece) for piece in resampler.resample(None)]
    if sum(map(len, pieces)) == 0:
        raise MediaError(f"{path}: the audio track is empty; fetch the file again")
    silence = np.zeros(round(late_s * AUDIO_RATE_HZ), dtype=np.float32)
    return np.concatenate([silence, *pieces])


def _mono(frame: AudioFrame) -> npt.NDArray[np.float32]:
    import numpy as np

    mono: npt.NDArray[np.float32] = frame.to_ndarray().mean(axis=0, dtype=np.float32)
    return mono


def _late_start_s(first: AudioFrame, container_start: int | None) -> float:
    if first.time is None:
        return 0.0
    return max(0.0, first.time - (container_start or 0) / 1_000_000)
