"""Pictures of a video by frame number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.errors import MediaError
from omnieval.media.open import needed_video_track, open_media
from omnieval.media.sparse import sparse_frames

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from av.container import InputContainer
    from av.video.frame import VideoFrame


@dataclass(frozen=True, slots=True)
class Picture:
    """rgb: [height, width, 3], uint8, upright. number: the frame that it really is, which is smaller
    than the wanted one where the file ends early. damaged: the decoder had to conceal errors in it."""

    rgb: npt.NDArray[np.uint8]
    number: int
    damaged: bool


def decode_frames(path: Path, indices: Sequence[int]) -> Iterator[Picture]:
    """Yield one picture an index, in order.

    path: a video file. indices: 0-based frame numbers in presentation order, non-decreasing; a repeated
    index is yielded again. One decoder thread, a few pictures in memory; only what leads to the wanted
    frames is read and decoded, as far as that is sure to change nothing (see `sparse`).
    Where the file ends less than a second before the last index, its last picture is yielded again; a file
    that ends earlier, or before more than one distinct index, is cut short, which is a MediaError, as is a
    file of which nothing decodes.
    """
    position = 0
    with open_media(path) as container:
        for frame, number in sparse_frames(container, needed_video_track(path, container), indices):
            picture = _picture(frame, number)
            while position < len(indices) and indices[position] == number:
                yield picture
                position += 1
    if position < len(indices):
        yield from decode_all_frames(path, indices[position:])


def decode_all_frames(path: Path, indices: Sequence[int]) -> Iterator[Picture]:
    """The same by decoding every frame up to the last index: the measure of what is right."""
    position = 0
    last: tuple[VideoFrame, int] | None = None
    with open_media(path) as container:
        for number, frame in enumerate(_frames(path, container)):
            last = (frame, number)
            if position < len(indices) and indices[position] <= number:
                picture = _picture(frame, number)
                while position < len(indices) and indices[position] <= number:
                    yield picture
                    position += 1
            if position == len(indices):
                return
        if last is None:
            raise MediaError(f"{path}: no picture can be decoded; check it with ffprobe, fetch it again")
        missing = indices[position:]
        if len(set(missing)) > 1 or missing[-1] - last[1] > _frames_a_second(path, container):
            raise MediaError(
                f"{path}: cut short or damaged: decoding ends after {last[1] + 1} frames, "
                f"but frame {missing[-1]} is needed; fetch it again"
            )
        picture = _picture(*last)
        for _ in missing:
            yield picture


def _frames_a_second(path: Path, container: InputContainer) -> float:
    return max(1.0, float(needed_video_track(path, container).average_rate or 0))


def _frames(path: Path, container: InputContainer) -> Iterator[VideoFrame]:
    """All frames in presentation order; a decoding error ends them, and the caller sees what is missing."""
    import av.error

    stream = needed_video_track(path, container)
    stream.codec_context.thread_count = 1
    try:
        yield from container.decode(stream)
    except av.error.FFmpegError:
        return


def _picture(frame: VideoFrame, number: int) -> Picture:
    import numpy as np

    rgb = frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False)
    quarter_turns = round(frame.rotation / 90) % 4
    if quarter_turns:
        rgb = np.ascontiguousarray(np.rot90(rgb, quarter_turns))
    return Picture(rgb, number, bool(frame.is_corrupt))
