"""Opening a media file, with errors that name the file and the next step."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.errors import MediaError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

# Formats that only name other files or addresses; a data set must not steer what is read.
_PLAYLISTS = frozenset(
    {"concat", "dash", "ffmetadata", "hls", "imf", "rtsp", "sdp", "tty", "webm_dash_manifest"}
)


@contextlib.contextmanager
def open_media(path: Path) -> Iterator[InputContainer]:
    """The opened container.

    Raises MediaError (kind `media_missing` or `media`) when the file is absent, empty or no media, and
    turns every FFmpeg error inside the block into one.
    """
    import av
    import av.error

    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for its writer
            raise MediaError(f"{path}: not a file; put the media file itself there")
        if status.st_size == 0:
            raise MediaError(f"{path}: the file is empty; fetch it again")
    except FileNotFoundError:
        raise MediaError(f"{path}: no such file; fetch it again", kind="media_missing") from None
    except OSError as error:
        raise MediaError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        # Absolute, since FFmpeg takes the start of a name like `12:30.mp4` for a protocol.
        with av.open(str(path.absolute())) as container:
            if container.format.name in _PLAYLISTS:
                kind = container.format.name
                raise MediaError(
                    f"{path}: a {kind} playlist, which names other files; fetch the media itself"
                )
            yield container
    except av.error.FFmpegError as error:
        reason = error.strerror or str(error)
        raise MediaError(
            f"{path}: cannot be decoded ({reason}); check it with ffprobe, fetch it again"
        ) from error


def needed_video_track(path: Path, container: InputContainer) -> VideoStream:
    """The first video track. Raises MediaError when there is none."""
    stream = video_track(container)
    if stream is None:
        raise MediaError(
            f"{path}: no video track, but the recipe needs pictures; fetch the video, or name the file as a "
            "sound (input_mode=audio, columns.audio)"
        )
    return stream


def video_track(container: InputContainer) -> VideoStream | None:
    """The first video track, or None; a cover picture, which sound files carry as one, is none."""
    import av.stream

    cover = av.stream.Disposition.attached_pic
    return next((s for s in container.streams.video if not s.disposition & cover), None)
