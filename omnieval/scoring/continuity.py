"""Whether a sound that comes in pieces could be played without a break, from the log of its pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Clocks and rounding; a later piece than this is heard as a gap.
_TOLERANCE_S = 0.001


@dataclass(frozen=True, slots=True)
class Continuity:
    """underruns: pieces that came after all sound before them had been played. stalled_s: silence that they
    cost in all."""

    underruns: int
    stalled_s: float


def continuity(chunks: Sequence[tuple[float, float]]) -> Continuity | None:
    """Playback starts with the first piece; one that comes late stalls it until it is there.

    chunks: (arrival in seconds from sending, seconds of sound), in order of arrival. None for a sound that
    came in one piece or whose pieces are not known.
    """
    if len(chunks) < 2:
        return None
    played_until_s, underruns, stalled_s = chunks[0][0], 0, 0.0
    for arrival_s, duration_s in chunks:
        late_s = arrival_s - played_until_s
        if late_s > _TOLERANCE_S:
            underruns += 1
            stalled_s += late_s
            played_until_s = arrival_s
        played_until_s += duration_s
    return Continuity(underruns, stalled_s)
