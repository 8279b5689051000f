"""A few frames of a long video: read only what leads to them, skip what nobody refers to.

Decoding begins at the nearest keyframe before each wanted frame, and frames that no other frame refers to
are skipped unless they are wanted. What comes out is bit for bit what decoding everything gives; wherever
that is not sure, the iteration ends early and the caller decodes everything from there on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from omnieval.media.timeline import Timeline, read_timeline

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

# Codecs for which the tests prove that skipping and seeking change nothing.
_PROVEN = frozenset({"h264", "hevc", "mpeg4", "vp8", "vp9", "av1", "libdav1d", "mjpeg", "prores"})
# How many packets past a frame's own the decoder may take before it shows it.
_LATEST = 96
_SEEKS = 4


def sparse_frames(
    container: InputContainer, stream: VideoStream, indices: Sequence[int]
) -> Iterator[tuple[VideoFrame, int]]:
    """Yield (frame, its number) for each distinct index, ascending, as long as the result is sure.

    indices: 0-based frame numbers in presentation order, non-decreasing. The container must have just been
    opened. One decoder thread. Never raises for what is in the file.
    """
    import av.error

    if stream.codec_context.name not in _PROVEN:
        return
    try:
        timeline = read_timeline(container, stream)
        if timeline is not None:
            yield from _Decoder(container, stream, timeline, indices).frames()
    except av.error.FFmpegError:
        return


class _Decoder:
    def __init__(
        self, container: InputContainer, stream: VideoStream, timeline: Timeline, indices: Sequence[int]
    ) -> None:
        self._container = container
        self._stream = stream
        self._context = stream.codec_context
        self._context.thread_count = 1
        self._timeline = timeline
        self._numbers = sorted({index for index in indices if index < len(timeline.pts)})
        self._wanted = {timeline.pts[number] for number in self._numbers}
        self._packets: Iterator[Packet[VideoStream]] = iter(())
        self._next_packet = -1  # number of the packet that `_packets` gives next; -1 before the first seek
        self._decoded: dict[int, VideoFrame] = {}
        self._ended = False

    def frames(self) -> Iterator[tuple[VideoFrame, int]]:
        for number in self._numbers:
            frame = self._frame(number)
            if frame is None or frame.is_corrupt:
                return
            yield frame, number

    def _frame(self, number: int) -> VideoFrame | None:
        time = self._timeline.pts[number]
        if time not in self._decoded and not self._go_near(number):
            return None
        while time not in self._decoded:
            if self._ended or self._next_packet > number + _LATEST:
                return None
            self._decode_one_packet()
        frame = self._decoded.pop(time)
        for passed in [t for t in self._decoded if t < time]:
            del self._decoded[passed]
        return frame

    def _go_near(self, number: int) -> bool:
        """Seek to the keyframe before a frame, unless reading on is as near. False when that failed."""
        if self._next_packet >= 0 and self._timeline.nearest_keyframe(number) <= self._next_packet:
            return True
        time = target = self._timeline.pts[number]
        for _ in range(_SEEKS):
            self._container.seek(target, stream=self._stream, backward=True)
            packets = self._container.demux(self._stream)
            first = next(packets)
            position = self._timeline.keyframe_number(first)
            if position is None or first.pts is None:
                return False
            if first.pts <= time:
                break
            # A keyframe that is sent before the frame but shown after it: an earlier one is needed.
            target = (first.pts if first.dts is None else first.dts) - 1
        else:
            return False
        self._context.flush_buffers()
        self._packets = itertools.chain([first], packets)
        self._next_packet, self._ended = position, False
        return True

    def _decode_one_packet(self) -> None:
        packet = next(self._packets, None)
        if packet is None:
            self._ended = True
            return
        self._next_packet += 1
        needed = packet.size == 0 or packet.pts in self._wanted
        self._context.skip_frame = "DEFAULT" if needed else "NONREF"
        for frame in self._context.decode(packet if packet.size else None):
            if frame.pts in self._wanted:
                self._decoded[frame.pts] = frame
