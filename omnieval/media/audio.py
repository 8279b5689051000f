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
    from av.audio.resampler import AudioResampler
    from av.audio.stream import AudioStream

_TOLERATED_LOSS_S = 1.0
# A shorter pause between packets is rounding in the container; a longer one than this is a broken clock.
_SHORTEST_GAP_S = 0.1
_LONGEST_GAP_S = 600.0
# Sizes in a WAV's header from here on, and 0, come from writers that could not know the length.
_UNKNOWN_WAV_SIZE = 0x7FFFF000


def read_audio(path: Path, *, first_channel: bool = False) -> npt.NDArray[np.float32]:
    """The whole first audio track: [samples], float32 in -1..1, 16 kHz, mono.

    Resampled by FFmpeg; channels are averaged, as the references do (FFmpeg's own down-mix of float sound
    is louder and would clip), or the first one alone is taken, as scorers of speech do. Where the track
    starts after the file's beginning, or pauses, silence fills the gap, so that sample i is at i/16000
    seconds of the file. Raises MediaError when there is no track or no sound, when the sound ends more than
    a second before the file's own header says, and when its clock jumps by more than ten minutes.
    """
    import numpy as np

    with open_media(path) as container:
        if not container.streams.audio:
            raise MediaError(
                f"{path}: no audio track, but the recipe needs sound; "
                "supply a WAV beside it, or ask without sound (input_mode=visual, packing=frames)"
            )
        stream = container.streams.audio[0]
        stream.codec_context.thread_count = 1
        track = _Track(path, (container.start_time or 0) / 1_000_000, first_channel=first_channel)
        for frame in container.decode(stream):
            track.add(frame)
        track.finish_run()
        promised_s = _indexed_s(stream)
        missing_s = max(promised_s - track.end_s, _missing_of_wav_s(path, stream))
    if track.heard == 0:
        raise MediaError(f"{path}: the audio track is empty; fetch the file again")
    if missing_s > _TOLERATED_LOSS_S:
        raise MediaError(
            f"{path}: cut short or damaged: the sound ends at {track.end_s:.1f} s, "
            f"but the file's header says {track.end_s + missing_s:.1f} s; fetch it again"
        )
    return np.concatenate(track.pieces)


class _Track:
    """Decoded sound, resampled run by run; a run is continuous and of one format, which broadcast
    recordings change on the way. end_s: where the last frame ended, by the file's clock."""

    def __init__(self, path: Path, start_s: float, *, first_channel: bool = False) -> None:
        self.pieces: list[npt.NDArray[np.float32]] = []
        self.heard = 0  # samples that came from the file
        self.end_s = start_s
        self._path = path
        self._first_channel = first_channel
        self._start_s = start_s
        self._length = 0  # samples, with the silence between
        self._format: tuple[str, str, int] | None = None
        self._resampler: AudioResampler | None = None

    def add(self, frame: AudioFrame) -> None:
        """The next frame, after silence where the clock says that some time passed."""
        import av

        time_s = self.end_s if frame.time is None else frame.time
        layout = (frame.format.name, frame.layout.name, frame.sample_rate)
        if layout != self._format or time_s - self.end_s > _SHORTEST_GAP_S:
            self.finish_run()
            self._fill_up_to(time_s)
            self._format = layout
            self._resampler = av.AudioResampler(format="fltp", rate=AUDIO_RATE_HZ)
        assert self._resampler is not None
        self._keep(self._resampler.resample(frame))
        self.end_s = time_s + frame.samples / frame.sample_rate

    def finish_run(self) -> None:
        """Take what the resampler still holds."""
        if self._resampler is not None:
            self._keep(self._resampler.resample(None))
            self._resampler = None

    def _fill_up_to(self, time_s: float) -> None:
        import numpy as np

        if time_s - self.end_s > _LONGEST_GAP_S:
            raise MediaError(
                f"{self._path}: the sound's clock jumps from {self.end_s:.1f} to {time_s:.1f} s; "
                "repair the file (for example with ffmpeg) or fetch it again"
            )
        missing = round((time_s - self._start_s) * AUDIO_RATE_HZ) - self._length
        if missing > 0:
            self.pieces.append(np.zeros(missing, dtype=np.float32))
            self._length += missing

    def _keep(self, frames: list[AudioFrame]) -> None:
        import numpy as np

        for frame in frames:
            channels = frame.to_ndarray()
            mono: npt.NDArray[np.float32] = (
                channels[0].copy() if self._first_channel else channels.mean(axis=0, dtype=np.float32)
            )
            self.pieces.append(mono)
            self.heard += len(mono)
            self._length += len(mono)


def _indexed_s(stream: AudioStream) -> float:
    """Where the track ends by an index of its packets, as an mp4 has it; 0 where nothing sure is known
    (elsewhere the duration may be an estimate from the bit rate)."""
    if not stream.frames or stream.duration is None or stream.time_base is None:
        return 0.0
    return float(stream.duration * stream.time_base)


def _missing_of_wav_s(path: Path, stream: AudioStream) -> float:
    """How much of a WAV's sound is not in the file; 0 for any other file. FFmpeg hides this: it takes the
    file's size for the truth."""
    with path.open("rb") as file:
        head = file.read(12)
        present = file.seek(0, 2)
    declared = int.from_bytes(head[4:8], "little")
    if head[:4] != b"RIFF" or head[8:] != b"WAVE" or not 0 < declared < _UNKNOWN_WAV_SIZE:
        return 0.0
    bytes_a_second = (stream.bit_rate or 0) / 8
    return max(0, declared + 8 - present) / bytes_a_second if bytes_a_second else 0.0
