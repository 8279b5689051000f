"""What a listener has heard of each response, for `playback.ack`."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from omnieval.backends.sound.playback import Playback
from omnieval.types import JsonDict


@dataclass
class _Response:
    """begin_s: the sound of those before it. ids: what an acknowledgement names."""

    begin_s: float
    ids: Mapping[str, str]
    duration_s: float = 0.0
    acknowledged_ms: int = 0
    done: bool = False


class Played:
    """The sound of a session is played as it comes. A response is acknowledged until all of it was heard,
    also while the next one comes. speed: see `Playback`."""

    def __init__(self, speed: float) -> None:
        self._playback = Playback(speed)
        self._responses: deque[_Response] = deque()

    def add(self, at_s: float, duration_s: float, ids: Mapping[str, str]) -> None:
        """A piece of the present response has come."""
        if not self._responses or self._responses[-1].done:
            self._responses.append(_Response(self._playback.all_s, ids))
        self._playback.add(at_s, duration_s)
        present = self._responses[-1]
        present.ids = dict(ids)
        present.duration_s += duration_s

    def done(self) -> None:
        """The present response has ended."""
        self._playback.next_response()
        if self._responses:
            self._responses[-1].done = True

    def acknowledgement(self, now_s: float) -> JsonDict | None:
        """The next one that is due; None where nothing more has been heard."""
        heard_s = self._playback.played_s(now_s)
        while self._responses:
            first = self._responses[0]
            heard_ms = round(1000 * min(first.duration_s, max(0.0, heard_s - first.begin_s)))
            if heard_ms > first.acknowledged_ms:
                first.acknowledged_ms = heard_ms
                return {
                    "type": "playback.ack",
                    "played_ms": heard_ms,
                    "committed_ms": heard_ms,
                    **first.ids,
                }
            if not first.done or heard_ms < round(1000 * first.duration_s):
                return None
            self._responses.popleft()
        return None

    @property
    def stalls(self) -> list[list[int]]:
        """Gaps in the sound: [ms from the request on, how many ms]."""
        return [[round(1000 * at_s), round(1000 * for_s)] for at_s, for_s in self._playback.stalls]
