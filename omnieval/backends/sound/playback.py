"""How far a listener is who plays a sound while it comes, and where it breaks off for want of more."""

from __future__ import annotations

# Clocks and rounding; a later piece than this is heard as a gap.
_TOLERANCE_S = 0.001


class Playback:
    """Plays from the first piece on; a piece that comes late is waited for.

    speed: 1 is real time. All times are in seconds of one clock. stalls: (when, for how long) of every gap.
    all_s: how much sound has come.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self._ends_s: float | None = None  # when all that has come will have been played
        self._of_response_s = 0.0
        self.all_s = 0.0
        self.stalls: list[tuple[float, float]] = []

    def next_response(self) -> None:
        """What comes now belongs to another response; the listener is not waiting for it."""
        self._of_response_s = 0.0

    def add(self, at_s: float, duration_s: float) -> None:
        """A piece has come."""
        if self._ends_s is None or at_s - self._ends_s > _TOLERANCE_S:
            if self._ends_s is not None and self._of_response_s:
                self.stalls.append((self._ends_s, at_s - self._ends_s))
            self._ends_s = at_s
        self._ends_s += duration_s / self._speed
        self._of_response_s += duration_s
        self.all_s += duration_s

    def played_s(self, now_s: float) -> float:
        """How much of all sound has been played."""
        left_s = 0.0 if self._ends_s is None else max(0.0, self._ends_s - now_s) * self._speed
        return max(0.0, self.all_s - left_s)
