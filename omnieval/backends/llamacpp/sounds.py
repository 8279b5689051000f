"""The sound of one answer, which the server writes as WAV files into a folder while it speaks."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from omnieval.backends.failed import FailedTry
from omnieval.backends.sound.spoken import Spoken
from omnieval.backends.sound.wav_files import in_order, whole_wav
from omnieval.backends.sound.wav_stream import WavStream
from omnieval.config import PcmConfig
from omnieval.errors import MediaError
from omnieval.types import Failure

_LOOK_EVERY_S = 0.05
# Servers that say when all is written leave this file behind.
_END_MARK = "generation_done.flag"
# Of others, after the end of the text: how long the first sound may take, and the next one.
_FIRST_S, _NEXT_S = 30.0, 3.0


class SoundFolder:
    """Watches a folder, as long as `watch` runs. began: of the request, by the monotonic clock."""

    def __init__(self, folder: Path, began: float) -> None:
        self._folder = folder
        self._began = began
        self._found: dict[Path, tuple[float, bytes]] = {}
        self._last_s = 0.0

    async def watch(self) -> None:
        """Take the files as they become whole, for ever. Raises FailedTry for one that is no WAV."""
        while True:
            self._look()
            await asyncio.sleep(_LOOK_EVERY_S)

    async def rest(self) -> None:
        """Take what comes after the text has ended, to the mark of the end, or until nothing more comes."""
        ended = time.monotonic()
        while not any(self._folder.rglob(_END_MARK)):
            self._look()
            since = max(ended, self._began + self._last_s)
            if time.monotonic() - since > (_NEXT_S if self._found else _FIRST_S):
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        self._look()
        unfinished = [path.name for path in self._files() if path not in self._found]
        if unfinished:
            message = f"the server left {', '.join(unfinished[:3])} unfinished"
            raise FailedTry(Failure("server", message, retryable=True, hint="look at the server's log"))

    def spoken(self) -> Spoken:
        """All of it, in the order of the files' names. Raises FailedTry where the files are of several
        formats."""
        spoken = Spoken(PcmConfig())
        stream = WavStream(spoken)
        for path in sorted(self._found, key=in_order):
            at_s, content = self._found[path]
            stream.add(content, at_s)
        return spoken

    def _files(self) -> list[Path]:
        return list(self._folder.rglob("*.wav"))

    def _look(self) -> None:
        for path in self._files():
            if path in self._found:
                continue
            try:
                content = whole_wav(path)
            except MediaError as error:
                message = f"the server wrote a sound that cannot be used: {path.name}: {error}"
                raise FailedTry(Failure("audio", message, hint="look at the server's log")) from error
            if content is not None:
                self._last_s = time.monotonic() - self._began
                self._found[path] = (self._last_s, content)
