"""The answer of a llama.cpp-omni server, put together event by event, with its times."""

from __future__ import annotations

import time

from omnieval.backends.failed import FailedTry
from omnieval.backends.llamacpp.sounds import SoundFolder
from omnieval.backends.rounding import rounded
from omnieval.types import Failure, JsonDict, Response, Timing


class StreamAnswer:
    """One answer. Its times count from the first prefill (`begin`). sounds: where its sound lies, if any."""

    def __init__(self, sample_id: str) -> None:
        self.began = time.monotonic()
        self.ended = False
        self.notes: tuple[str, ...] = ()
        self.sounds: SoundFolder | None = None
        self._sample_id = sample_id
        self._started_wall = time.time()
        self._text: list[str] = []
        self._stopped = False
        self._listens = False
        self._metrics: JsonDict = {}
        self._first_s: float | None = None
        self._end_s: float | None = None

    def begin(self) -> None:
        self.began, self._started_wall = time.monotonic(), time.time()

    def add(self, event: JsonDict) -> None:
        if event.get("event") == "metrics":
            self._metrics = {key: value for key, value in event.items() if key != "event"}
            return
        content = event.get("content")
        if isinstance(content, str) and content:
            self._text.append(content)
            if self._first_s is None:
                self._first_s = time.monotonic() - self.began
        self._stopped |= bool(event.get("stop") or event.get("end_of_turn"))
        self._listens |= bool(event.get("is_listen"))

    def end(self) -> None:
        self.ended = True
        self._end_s = time.monotonic() - self.began

    def response(self, error: Failure | None) -> Response:
        spoken, audio = None, None
        if self.sounds is not None:
            try:
                spoken = self.sounds.spoken()
                audio = spoken.finish()
            except FailedTry as failed:
                error = error or failed.failure
        listened = ("the model chose to listen on, instead of answering",) if self._listens else ()
        last_s = spoken.last_s if spoken else None
        length_s = spoken.duration_s if spoken else 0.0
        return Response(
            self._sample_id,
            text="".join(self._text),
            finish_reason="stop" if self._stopped and self.ended else None,
            timing=Timing(
                started=self._started_wall,
                ttft_s=rounded(self._first_s),
                ttfp_s=rounded(spoken.first_s) if spoken else None,
                e2e_s=rounded(max(self._end_s, last_s or 0.0)) if self._end_s is not None else None,
                rtf=rounded(last_s / length_s) if last_s is not None and length_s else None,
            ),
            error=error,
            audio=audio,
            notes=(*self.notes, *listened, *(spoken.notes if spoken else ())),
            server_metrics=self._metrics,
        )
