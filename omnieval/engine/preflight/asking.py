"""A request to a deployment before a run, as the run itself would send it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from omnieval.backends.retry import wait_seconds
from omnieval.config import RunConfig
from omnieval.engine.preflight.finding import Finding
from omnieval.types import Backend, Failure, Generation, MediaPart, Message, Part, Request, Response

NAMES: Mapping[str, str] = {"image": "picture", "audio": "sound", "video": "video"}
PROCESSOR_KEYS = ("mm_processor_kwargs", "media_io_kwargs")


class Asker:
    """Asks one deployment with the options of the run.

    largest: the largest request of the run, or None where none could be made. kinds: how many media of each
    kind it has. unasked_sound: whether any answer brought sound that nobody asked for.
    """

    def __init__(self, config: RunConfig, backend: Backend, largest: Request | None) -> None:
        self._config = config
        self._backend = backend
        self._largest = largest
        self.kinds = Counter(part.kind for part in media_of(largest)) if largest else Counter()
        self.unasked_sound = False

    def extra(self) -> Mapping[str, object]:
        """Further fields of the body, as the run sends them."""
        return self._largest.extra_body if self._largest else self._config.extra_body

    def request(
        self, parts: Sequence[Part], *, max_tokens: int = 1, extra: Mapping[str, object] | None = None
    ) -> Request:
        """A message of these parts. extra: further fields, beside the run's own that are not of media."""
        base = {k: v for k, v in self.extra().items() if k not in PROCESSOR_KEYS}
        options = Generation(**self._config.decode.model_dump())
        return Request(
            sample_id="preflight",
            messages=(Message("user", tuple(parts)),),
            generation=replace(options, max_tokens=max_tokens, constrain=None),
            modalities=self._config.modalities,
            extra_body={**base, **(extra or {})},
        )

    async def ask(
        self, parts: Sequence[Part], *, max_tokens: int = 1, extra: Mapping[str, object] | None = None
    ) -> Response:
        """The answer to `request`."""
        response = await self.generate(self.request(parts, max_tokens=max_tokens, extra=extra))
        self.unasked_sound |= any("nobody asked for" in note for note in response.notes)
        return response

    async def generate(self, request: Request) -> Response:
        """Tried again as a run tries again: a hiccup says nothing of a deployment."""
        attempt = 1
        while True:
            response = await self._backend.generate(request)
            error = response.error
            wait_s = None if error is None else wait_seconds(self._config.retry, attempt, error)
            if wait_s is None:
                return response
            await asyncio.sleep(wait_s)
            attempt += 1


def media_of(request: Request | None) -> list[MediaPart]:
    """The media of a request, in order."""
    messages = request.messages if request else ()
    return [part for message in messages for part in message.parts if isinstance(part, MediaPart)]


def failed(check: str, failure: Failure, fix: str | None = None) -> Finding:
    """What a failed request says of a check."""
    return Finding(check, "fail", failure.message, fix or failure.hint, fatal=True)


def seconds(response: Response) -> str:
    """How long an answer took, in words."""
    return "an unknown time" if response.timing.e2e_s is None else f"{response.timing.e2e_s:.2f} s"
