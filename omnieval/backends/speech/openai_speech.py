"""`/v1/audio/speech` over HTTP: vLLM-Omni and other servers that turn a text into sound.

The sound is asked for as raw samples while they are made; a WAV, or events with base64 inside, are
understood whatever was asked for. The end of the HTTP body is the proof that a raw answer is whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from omnieval.backends import faults
from omnieval.backends.base import BackendContext
from omnieval.backends.failed import FailedTry
from omnieval.backends.http.body import Body
from omnieval.backends.http.model_server import UNFRAMED, ModelServer, is_framed
from omnieval.backends.http.sse import EventTooLargeError, event_data
from omnieval.backends.http.transport_faults import timeout_failure
from omnieval.backends.sound.spoken import Spoken
from omnieval.backends.speech.answer import SpeechAnswer, text_failure
from omnieval.backends.speech.fields import speech_fields
from omnieval.config import RunConfig
from omnieval.types import (
    Capabilities,
    Failure,
    Generation,
    JsonDict,
    MediaPart,
    Request,
    Response,
    ServerFacts,
    SpeechTask,
)

if TYPE_CHECKING:
    import httpx

_TEXT_TYPES = ("text/", "application/json", "application/problem+json", "application/xml")


def create(config: RunConfig, context: BackendContext) -> OpenAISpeech:
    """The backend `openai-speech`. Raises ConfigError without a base URL."""
    return OpenAISpeech(config, context)


# Fields of a recipe that mean something to chat completions only; a strict server would refuse them here.
_OF_CHATS = frozenset({"chat_template_kwargs", "mm_processor_kwargs"})


def speech_body(
    task: SpeechTask,
    generation: Generation,
    model: str,
    media_url: Callable[[MediaPart], str],
    *,
    stream: bool = True,
) -> JsonDict:
    """The JSON body of a request, without `extra_body`. `max_new_tokens` is the limit of sound tokens here;
    decoding options for text are not sent."""
    form: JsonDict = {"stream": False, "response_format": "wav"}
    if stream:
        form = {"stream": True, "stream_format": "audio", "response_format": "pcm"}
    return {
        "model": model,
        "input": task.text,
        **speech_fields(task, media_url),
        "max_new_tokens": generation.max_tokens,
        **({} if generation.seed is None else {"seed": generation.seed}),
        **form,
    }


def _of_route(failure: Failure) -> Failure:
    """A 404 says most likely that the server has no such route."""
    if failure.status != 404 or "model" in failure.message.lower():
        return failure
    hint = "this server has no /v1/audio/speech; take --backend openai-chat"
    return replace(failure, hint=hint)


class OpenAISpeech:
    """One server. Follows `omnieval.types.Backend`."""

    capabilities = Capabilities(needs_transport=True)

    def __init__(self, config: RunConfig, context: BackendContext) -> None:
        self._server = ModelServer("openai-speech", config, context)
        self._stream = config.stream
        self._pcm = config.pcm

    async def check(self) -> ServerFacts:
        """Raises BackendError when no run is possible."""
        return await self._server.check()

    async def generate(self, request: Request) -> Response:
        task = request.speech
        if task is None:
            message = f"sample {request.sample_id}: no text to be said; use the backend openai-chat"
            return Response(request.sample_id, error=Failure("data", message))
        answer = SpeechAnswer(request.sample_id, Spoken(self._pcm), in_pieces=self._stream)
        limit_s = self._server.timeouts.total_s
        model = self._server.model or ""
        try:
            body = await self._server.body(
                request,
                lambda url: {
                    **speech_body(task, request.generation, model, url, stream=self._stream),
                    **{key: value for key, value in request.extra_body.items() if key not in _OF_CHATS},
                },
            )
            answer.begin()
            async with asyncio.timeout(limit_s):
                await self._ask(body, answer)
        except FailedTry as failed:
            return answer.response(self._server.safe(_of_route(failed.failure)))
        except TimeoutError:
            return answer.response(timeout_failure("in all", limit_s, "total_s"))
        return answer.response(answer.problem())

    async def alive(self) -> bool:
        """See `TellsLife`: by `/health` and the list of models."""
        return await self._server.alive()

    async def close(self) -> None:
        await self._server.close()

    async def _ask(self, body: Body, answer: SpeechAnswer) -> None:
        async with self._server.answer(
            "audio/speech", body, accept="*/*", finished=lambda: answer.finished
        ) as response:
            kind = response.headers.get("content-type", "")
            answer.take_headers(kind, response.headers)
            if kind.startswith("text/event-stream"):
                await self._read_events(response, answer)
            elif kind.startswith(_TEXT_TYPES):
                await self._read_text(response, kind, answer)
            else:
                await self._read_sound(response, answer)

    async def _read_sound(self, response: httpx.Response, answer: SpeechAnswer) -> None:
        if not is_framed(response):
            answer.note(UNFRAMED)
        pieces = self._server.pieces(response)
        while True:
            wait = self._server.next if answer.began else self._server.first
            data = await wait(anext(pieces, None))
            if data is None:
                break
            answer.add(data)
        answer.end()

    async def _read_events(self, response: httpx.Response, answer: SpeechAnswer) -> None:
        """To the end of the stream: some servers say `speech.audio.done` more than once."""
        events = event_data(self._server.pieces(response))
        while True:
            wait = self._server.next if answer.began else self._server.first
            try:
                data = await wait(anext(events, None))
            except EventTooLargeError as error:
                raise FailedTry(Failure("protocol", str(error))) from error
            if data is None or data.strip() == "[DONE]":
                answer.end_events(marked=data is not None)
                return
            answer.add_event(self._server.event_object(data, "the event"))

    async def _read_text(self, response: httpx.Response, kind: str, answer: SpeechAnswer) -> None:
        """An answer that does not claim to be sound, but may hold some, in JSON."""
        body = await self._server.whole(response)
        if answer.add_whole(body):
            return
        failure = text_failure(body)
        if failure is None:
            message = f"expected sound, found {kind}: {faults.shorten(faults.message_of(body))}"
            hint = "something else than a model server answers there; check --base-url and proxies"
            failure = Failure("protocol", message, hint=hint)
        raise FailedTry(failure)
