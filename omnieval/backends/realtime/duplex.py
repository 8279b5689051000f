"""Full duplex over a WebSocket: `/v1/realtime?duplex=1` of vLLM-Omni, one session an utterance.

The text is the session's `duplex_initial_user_text`; silence is streamed in real time while the model speaks.
A connection that breaks in mid-session is resumed once. A server that is full is `busy`, and waited for:
until a session of ours ends; where others hold the places, for `retry.wait_for_server_s`, at most 2 minutes.
"""

from __future__ import annotations

import asyncio
import time

from omnieval.backends.base import BackendContext
from omnieval.backends.failed import FailedTry
from omnieval.backends.http.model_server import ModelServer
from omnieval.backends.http.transport_faults import timeout_failure
from omnieval.backends.realtime.answer import DuplexAnswer
from omnieval.backends.realtime.fields import session_of
from omnieval.backends.realtime.link import RealtimeServer
from omnieval.backends.realtime.pace import DuplexInput
from omnieval.backends.realtime.session import DuplexSession, Told
from omnieval.config import RunConfig
from omnieval.errors import ConfigError
from omnieval.types import Capabilities, Failure, JsonDict, MediaPart, Request, Response, ServerFacts

# A server keeps the place of a session whose connection broke, or whose client was killed, for half a minute.
_MOST_WAIT_S = 120.0
_FIRST_PAUSE_S, _MOST_PAUSE_S = 0.25, 2.0


def create(config: RunConfig, context: BackendContext) -> RealtimeDuplex:
    """The backend `realtime-duplex`. Raises ConfigError without a base URL, and for decoding options that no
    session has."""
    decode = config.decode
    options = ("top_p", "top_k", "repetition_penalty", "seed")
    named = [f"decode.{name}" for name in options if getattr(decode, name) is not None]
    if named:
        raise ConfigError(
            f"a full-duplex session has no field for {', '.join(named)}; set them to null here, and in the "
            "server's deploy file to what you want"
        )
    return RealtimeDuplex(config, context)


class RealtimeDuplex:
    """One server. Follows `omnieval.types.Backend` and `TellsLife`."""

    capabilities = Capabilities(needs_transport=True)

    def __init__(self, config: RunConfig, context: BackendContext) -> None:
        self._server = ModelServer("realtime-duplex", config, context)
        self._secret = context.api_key
        self._pcm = config.pcm
        self._duplex = config.duplex
        self._wait_s = config.retry.wait_for_server_s
        self._sessions = RealtimeServer(
            config.base_url or "", self._secret, connect_s=config.timeouts.connect_s
        )
        self._held: list[DuplexAnswer] = []
        self._ended = asyncio.Event()  # that of the next session of ours to end

    async def check(self) -> ServerFacts:
        """Raises BackendError when no run is possible."""
        return await self._server.check()

    async def alive(self) -> bool:
        """See `TellsLife`: by `/health` and the list of models."""
        return await self._server.alive()

    async def generate(self, request: Request) -> Response:
        heard = DuplexInput(silence_s=self._duplex.silence_s)
        answer = self.new_answer(request.sample_id, heard)
        speech = request.speech
        if speech is not None and (speech.voice or speech.instructions):
            message = "a full-duplex session has no field for a named or a described voice"
            hint = "set variant=clone, or take another backend"
            return answer.response(Failure("configuration", message, hint=hint))
        if any(isinstance(part, MediaPart) for message in request.messages for part in message.parts):
            message = "a full-duplex session has no field for the pictures and sounds of a question"
            hint = "set media=none, or take another backend, such as openai-chat"
            return answer.response(Failure("configuration", message, hint=hint))
        try:
            fields = await asyncio.to_thread(session_of, request, self._server.model or "")
        except OSError as error:
            message = f"sample {request.sample_id}: the reference voice cannot be read: {error}"
            hint = "a file was changed or removed; resume the run"
            return answer.response(Failure("media", message, hint=hint))
        wait_s = min(_MOST_WAIT_S, self._wait_s)
        until, pause_s = time.monotonic() + wait_s, _FIRST_PAUSE_S
        while True:
            ended = self._ended
            response = await self._counted(fields, heard, answer)
            if not _without_room(response):
                return response
            if ended.is_set() or any(other.created for other in self._held):
                await ended.wait()
                until, pause_s = time.monotonic() + wait_s, _FIRST_PAUSE_S
            elif time.monotonic() < until:  # others hold the places, or sessions that broke off
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _MOST_PAUSE_S)
            else:
                return response
            heard = DuplexInput(silence_s=self._duplex.silence_s)
            answer = self.new_answer(request.sample_id, heard)

    async def _counted(self, fields: JsonDict, heard: DuplexInput, answer: DuplexAnswer) -> Response:
        """One session, whose end is told to those that wait for a place."""
        self._held.append(answer)
        try:
            return await self.hold(fields, heard, answer)
        finally:
            self._held.remove(answer)
            if answer.created:
                self._ended.set()
                self._ended = asyncio.Event()

    def new_answer(self, name: str, heard: DuplexInput) -> DuplexAnswer:
        """For one session of this server. name: of the sample."""
        return DuplexAnswer(name, heard, self._pcm, speed=self._duplex.speed, secret=self._secret)

    async def hold(
        self,
        fields: JsonDict,
        heard: DuplexInput,
        answer: DuplexAnswer,
        told: Told = lambda _direction, _event: None,
    ) -> Response:
        """One session to its end. fields: see `session_fields`; heard, answer, told: see `DuplexSession`."""
        timeouts, speed = self._server.timeouts, self._duplex.speed
        limit_s = timeouts.total_s + heard.duration_s / speed
        session = DuplexSession(self._sessions, heard, answer, timeouts, speed=speed, told=told)
        try:
            async with asyncio.timeout(limit_s):
                await session.hold(fields)
        except FailedTry as failed:
            return answer.response(self._server.safe(failed.failure))
        except TimeoutError:
            return answer.response(timeout_failure(f"in all; {answer.got}", limit_s, "total_s"))
        return answer.response(None)

    async def close(self) -> None:
        await self._server.close()


def _without_room(response: Response) -> bool:
    """Whether the server had no place for the session, and one that ends makes it."""
    error = response.error
    return error is not None and error.kind == "busy" and response.session["id"] is None
