"""What a full-duplex session hears, piece by piece in real time: 16 kHz mono PCM16, 200 ms each."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable

from omnieval.types import JsonDict

RATE_HZ = 16_000
BYTES_A_SECOND = 2 * RATE_HZ
PIECE_MS = 200
PIECE_BYTES = BYTES_A_SECOND * PIECE_MS // 1000


class DuplexInput:
    """A sound, and silence after it.

    sound: 16 kHz mono PCM16; its last piece is filled up with silence. silence_s: at most so much follows.
    """

    def __init__(self, sound: bytes = b"", *, silence_s: float = 30.0) -> None:
        self._sound = sound
        self._sounding = -(-len(sound) // PIECE_BYTES)
        self._most = self._sounding + max(1, round(1000 * silence_s / PIECE_MS))
        self._sent = 0

    @property
    def duration_s(self) -> float:
        """Of the sound."""
        return len(self._sound) / BYTES_A_SECOND

    @property
    def sent_ms(self) -> int:
        """How much has been taken, silence too."""
        return self._sent * PIECE_MS

    @property
    def sounded(self) -> bool:
        """Whether all of the sound has been taken, so that only silence may follow."""
        return self._sent >= self._sounding

    @property
    def over(self) -> bool:
        """Whether the silence has been taken too."""
        return self._sent >= self._most

    def next(self) -> JsonDict:
        """The event that appends the next piece."""
        is_speech = not self.sounded
        begin = self._sent * PIECE_BYTES
        piece = self._sound[begin : begin + PIECE_BYTES].ljust(PIECE_BYTES, b"\0")
        self._sent += 1
        return {
            "type": "input_audio_buffer.append",
            "audio": base64.b64encode(piece).decode("ascii"),
            "format": "pcm16",
            "sample_rate_hz": RATE_HZ,
            "duration_ms": PIECE_MS,
            "audio_end_ms": self.sent_ms,
            "is_speech": is_speech,
        }


class Pacer:
    """Waits until each piece is due. Times are counted from the first piece, so that lateness never adds up.

    speed: 1 is real time; 4 sends the 200 ms every 50 ms. clock, sleep: seconds; replaced in tests. late_s:
    how late the latest piece of all was.
    """

    def __init__(
        self,
        speed: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._step_s = PIECE_MS / 1000 / speed
        self._clock, self._sleep = clock, sleep
        self._origin: float | None = None
        self._turns = 0
        self.late_s = 0.0

    async def turn(self) -> int:
        """Wait for the next piece's turn; which one it is, from 1."""
        now = self._clock()
        if self._origin is None:
            self._origin = now
        due = self._origin + self._turns * self._step_s
        if due > now:
            await self._sleep(due - now)
        self.late_s = max(self.late_s, self._clock() - due)
        self._turns += 1
        return self._turns
