"""When each frame of a video is shown, and where decoding can begin, read without decoding."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omnieval.media.open import needed_video_track, open_media

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.stream import VideoStream

# No codec shows a frame more than 16 frames after it was sent.
_REORDER = 32
# FFmpeg's flag of an index entry (AVINDEX_KEYFRAME); the only other one marks frames that are not shown.
_KEYFRAME = 1


@dataclass(frozen=True, slots=True)
class Timeline:
    """pts: presentation times of all frames, ascending, in the stream's time base; a frame's number is its
    position here. keyframes: position among the packets in decoding order, by the packet's time; clock:
    which of a packet's times that is."""

    pts: Sequence[int]
    keyframes: Mapping[int, int]
    clock: Literal["pts", "dts"]

    def keyframe_number(self, packet: Packet[VideoStream]) -> int | None:
        """The position of a keyframe's packet in decoding order, or None for any other packet."""
        time = packet.pts if self.clock == "pts" else packet.dts
        return self.keyframes.get(time) if packet.is_keyframe and time is not None else None

    def nearest_keyframe(self, number: int) -> int:
        """Position of the last keyframe that is sent no later than frame `number`; -1 for none."""
        positions = list(self.keyframes.values())
        before = bisect.bisect_right(positions, number)
        return positions[before - 1] if before else -1


def shown_times(path: Path) -> list[float] | None:
    """When each frame is shown, in seconds from the first one, or None where the file does not say.

    Raises MediaError when the file is no video.
    """
    with open_media(path) as container:
        stream = needed_video_track(path, container)
        timeline = read_timeline(container, stream)
        if timeline is None or stream.time_base is None or not timeline.pts:
            return None
        first = timeline.pts[0]
        return [float((time - first) * stream.time_base) for time in timeline.pts]


def read_timeline(container: InputContainer, stream: VideoStream) -> Timeline | None:
    """The timeline of a file that was just opened, or None when it cannot be known without decoding.

    A file whose header lists every packet at a steady rate (mp4) is read from that list alone; any other
    is read through once, packet by packet. Leaves the container at an unknown position.
    """
    return _from_index(container, stream) or _from_packets(container, stream)


def _from_index(container: InputContainer, stream: VideoStream) -> Timeline | None:
    entries = stream.index_entries
    if stream.frames < 1 or len(entries) != stream.frames:
        return None
    # Plain lists, compared as a whole: a file of two hours has 200 000 entries.
    dts = [entry.timestamp for entry in entries]
    flags = [entry.flags for entry in entries]
    step = dts[1] - dts[0] if len(dts) > 1 else 1
    steady = step > 0 and dts == list(range(dts[0], dts[0] + step * len(dts), step))
    if not steady or not set(flags) <= {0, _KEYFRAME}:
        return None
    head = list(itertools.islice(_packets(container, stream), _REORDER))
    shown = [packet.pts for packet in head if packet.pts is not None]
    if len(shown) != len(head) or len(shown) < min(_REORDER, len(dts)):
        return None
    first = min(shown)
    pts = range(first, first + step * len(dts), step)
    if any(time not in pts for time in shown):
        return None
    return Timeline(pts, {dts[i]: i for i, flag in enumerate(flags) if flag == _KEYFRAME}, "dts")


def _from_packets(container: InputContainer, stream: VideoStream) -> Timeline | None:
    start = stream.start_time if stream.start_time is not None else 0
    container.seek(start, stream=stream, backward=True)
    pts: list[int] = []
    keyframes: dict[int, int] = {}
    for number, packet in enumerate(_packets(container, stream)):
        if packet.pts is None:
            return None
        if packet.is_keyframe:
            keyframes[packet.pts] = number
        if not packet.is_discard:
            pts.append(packet.pts)
    pts.sort()
    if not keyframes or any(before == after for before, after in itertools.pairwise(pts)):
        return None
    return Timeline(pts, keyframes, "pts")


def _packets(container: InputContainer, stream: VideoStream) -> itertools.takewhile[Packet[VideoStream]]:
    """The stream's packets from here on, without the empty one that ends them."""
    return itertools.takewhile(lambda packet: packet.size > 0, container.demux(stream))
