"""What a media file says of itself, read from its headers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.errors import MediaError
from omnieval.media.open import needed_video_track, open_media, video_track

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.video.stream import VideoStream

_VIDEO_MIMES = {
    ".mp4": "video/mp4",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".mov": "video/quicktime",
}


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """frames: the header's count without those that an edit list hides; where the header has none,
    floor(track duration * fps), as the references do, or a real count. fps: average rate. width, height:
    coded, before rotation. pixel_aspect: width of a pixel over its height. duration_s: frames / fps."""

    frames: int
    fps: float
    width: int
    height: int
    codec: str
    pixel_aspect: float = 1.0

    @property
    def duration_s(self) -> float:
        return self.frames / self.fps


@dataclass(frozen=True, slots=True)
class AudioFacts:
    """duration_s is None where the file does not say."""

    codec: str
    rate_hz: int
    channels: int
    duration_s: float | None


@dataclass(frozen=True, slots=True)
class MediaProbe:
    """The first video and the first audio track; None where there is none."""

    video: VideoFacts | None
    audio: AudioFacts | None


def probe(path: Path) -> MediaProbe:
    """Read a file's headers. Raises MediaError when it is missing, empty or no media."""
    with open_media(path) as container:
        video = video_track(container)
        audio = container.streams.audio[0] if container.streams.audio else None
        if video is None and audio is None:
            raise MediaError(f"{path}: neither a video nor an audio track in it; fetch it again")
        return MediaProbe(
            video=_video_facts(path, container, video) if video else None,
            audio=_audio_facts(container, audio) if audio else None,
        )


def video_facts(path: Path) -> VideoFacts:
    """The video track's facts. Raises MediaError when there is no video track."""
    with open_media(path) as container:
        return _video_facts(path, container, needed_video_track(path, container))


def _video_facts(path: Path, container: InputContainer, stream: VideoStream) -> VideoFacts:
    fps = float(stream.average_rate or stream.guessed_rate or 0)
    duration_s = _duration_s(container, stream)
    frames = _listed_frames(container, stream, fps)
    if frames < 1 and duration_s and fps > 0:
        frames = math.floor(duration_s * fps)
    if frames < 1:
        frames = sum(1 for packet in container.demux(stream) if packet.size)
    if frames < 1:
        raise MediaError(f"{path}: the video track holds no frame; fetch the file again")
    context = stream.codec_context
    aspect = float(stream.sample_aspect_ratio or 1) or 1.0
    fps = fps if fps > 0 else 1.0
    return VideoFacts(frames, fps, context.width, context.height, context.name, aspect)


def _listed_frames(container: InputContainer, stream: VideoStream, fps: float) -> int:
    """How many frames the header lists to be shown; 0 where it has no count.

    An mp4's edit list can hide some; its track is then shorter than its frames.
    """
    if stream.duration is None or stream.time_base is None or "mp4" not in container.format.name:
        return stream.frames
    shorter = stream.frames - float(stream.duration * stream.time_base) * fps > 0.5
    entries = stream.index_entries if shorter else ()
    if not 0 < len(entries) <= stream.frames:
        return stream.frames
    return sum(not entry.is_discard for entry in entries)


def _audio_facts(container: InputContainer, stream: AudioStream) -> AudioFacts:
    context = stream.codec_context
    return AudioFacts(context.name, context.sample_rate, context.channels, _duration_s(container, stream))


def _duration_s(container: InputContainer, stream: VideoStream | AudioStream) -> float | None:
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    start_s = max(0, container.start_time or 0) / 1_000_000
    end_s = _tagged_end_s(stream)
    if end_s is not None and end_s > start_s:
        return end_s - start_s
    return container.duration / 1_000_000 if container.duration else None


def _tagged_end_s(stream: VideoStream | AudioStream) -> float | None:
    """Where a track of a Matroska or WebM file ends by its DURATION tag; the file's own duration is that
    of its longest track."""
    match = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", stream.metadata.get("DURATION", ""))
    if match is None:
        return None
    hours, minutes, seconds = map(float, match.groups())
    return hours * 3600 + minutes * 60 + seconds


def video_mime(path: Path) -> str:
    """The MIME type of a video by its suffix; mp4 for any other."""
    return _VIDEO_MIMES.get(path.suffix.lower(), "video/mp4")
