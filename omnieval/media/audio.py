"""The sound of a file as 16 kHz mono samples."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.errors import MediaError
from omnieval.media.open import open_media
from omnieval.media.plan import AUDIO_RATE_HZ

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream

_TOLERATED_LOSS_S = 1.0


def read_audio(path: Path) -> npt.NDArray[np.float32]:
    """The whole first audio track: [samples], float32 in -1..1, 16 kHz, mono.

    Resampled by FFmpeg; channels are averaged, as the references do (FFmpeg's own down-mix of float sound
    is louder and would clip). A track that starts after the file's beginning gets silence before it, so
    that sample i is at i/16000 seconds of the file. Raises MediaError when there is no track or no sound,
    and when the sound ends more than a second before the file's index says.
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
        late_s = end_s = 0.0
        pieces: list[npt.NDArray[np.float32]] = []
        for _, run in itertools.groupby(container.decode(stream), _format):
            resampler = av.AudioResampler(format="fltp", rate=AUDIO_RATE_HZ)
            for frame in run:
                if not pieces:
                    late_s = _late_start_s(frame, container.start_time)
                end_s = _end_s(frame)
                pieces += [_mono(piece) for piece in resampler.resample(frame)]
            pieces += [_mono(piece) for piece in resampler.resample(None)]
        promised_s = _indexed_s(stream)
    if sum(map(len, pieces)) == 0:
        raise MediaError(f"{path}: the audio track is empty; fetch the file again")
    if end_s < promised_s - _TOLERATED_LOSS_S:
        raise MediaError(
            f"{path}: cut short or damaged: the sound ends at {end_s:.1f} s, "
            f"but the file's index says {promised_s:.1f} s; fetch it again"
        )
    silence = np.zeros(round(late_s * AUDIO_RATE_HZ), dtype=np.float32)
    return np.concatenate([silence, *pieces])


def _format(frame: AudioFrame) -> tuple[str, str, int]:
    """What a resampler is made for; broadcast recordings change it on the way."""
    return frame.format.name, frame.layout.name, frame.sample_rate


def _indexed_s(stream: AudioStream) -> float:
    """Where the track ends by an index of its packets, as an mp4 has it; 0 where nothing sure is known
    (elsewhere the duration may be an estimate from the bit rate)."""
    if not stream.frames or stream.duration is None or stream.time_base is None:
        return 0.0
    return float(stream.duration * stream.time_base)


def _end_s(frame: AudioFrame) -> float:
    return math.inf if frame.time is None else frame.time + frame.samples / frame.sample_rate


def _mono(frame: AudioFrame) -> npt.NDArray[np.float32]:
    import numpy as np

    mono: npt.NDArray[np.float32] = frame.to_ndarray().mean(axis=0, dtype=np.float32)
    return mono


def _late_start_s(first: AudioFrame, container_start: int | None) -> float:
    if first.time is None:
        return 0.0
    return max(0.0, first.time - (container_start or 0) / 1_000_000)
