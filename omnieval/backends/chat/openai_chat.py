"""OpenAI chat completions over HTTP: vLLM, vLLM-Omni, SGLang, llama.cpp server; text and sound out.

An answer is complete only with a finish reason, and with sound only at its end (see `ChatAnswer`). A
stream that carries an error object, that breaks off, or that ends before is a failed try, whatever had
arrived, and also on HTTP 200.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from omnieval.backends import faults
from omnieval.backends.base import BackendContext
from omnieval.backends.chat.answer import ChatAnswer
from omnieval.backends.chat.body import chat_body, chat_messages
from omnieval.backends.chat.media_names import MediaNames, may_miss
from omnieval.backends.failed import FailedTry
from omnieval.backends.http.body import Body
from omnieval.backends.http.model_server import ModelServer, is_framed
from omnieval.backends.http.sse import EventTooLargeError, event_data
from omnieval.backends.http.transport_faults import timeout_failure
from omnieval.backends.sound.spoken import Spoken
from omnieval.config import RunConfig
from omnieval.types import (
    Capabilities,
    Failure,
    Generation,
    JsonDict,
    MediaPart,
    Message,
    Request,
    Response,
    ServerFacts,
    TextPart,
)

if TYPE_CHECKING:
    import httpx

# After the finish reason of a text only usage and [DONE] are awaited; they are not worth a long wait.
_AFTER_FINISH_S = 5.0
# What a server takes at most between [DONE] and the end of its answer; then the connection serves again.
_TO_THE_END_S = 1.0
# A model that was just loaded may need long for its first token.
_ALIVE_S = 60.0


def create(config: RunConfig, context: BackendContext) -> OpenAIChat:
    """The backend `openai-chat`. Raises ConfigError without a base URL."""
    return OpenAIChat(config, context)


class OpenAIChat:
    """One server. Follows `omnieval.types.Backend`."""

    capabilities = Capabilities(needs_transport=True)

    def __init__(self, config: RunConfig, context: BackendContext) -> None:
        self._server = ModelServer("openai-chat", config, context)
        self._stream = config.stream
        self._pcm = config.pcm
        self._names = MediaNames()
        self._ends_promptly = True

    async def check(self) -> ServerFacts:
        """Raises BackendError when no run is possible."""
        return await self._server.check()

    async def generate(self, request: Request) -> Response:
        held = self._names.held(request)
        response = await self._try(request, held)
        if held and may_miss(response.error):
            again = await self._try(request, frozenset())
            if again.answered:
                self._names.keep_again(request, held)
            return again
        if held is not None and response.answered:
            self._names.keep(request, held)
        elif response.error is not None and response.error.kind in ("connection", "server"):
            self._names.forget()
        return response

    async def _try(self, request: Request, held: frozenset[str] | None) -> Response:
        """One request. held: the media that go by their names alone."""
        spoken = Spoken(self._pcm) if "audio" in request.modalities else None
        answer = ChatAnswer(request.sample_id, spoken)
        limit_s = self._server.timeouts.total_s
        model = self._server.model or ""
        try:
            body = await self._server.body(
                request, lambda url: chat_body(request, model, url, stream=self._stream, held=held)
            )
            answer.begin()
            async with asyncio.timeout(limit_s):
                await self._ask(body, answer)
        except FailedTry as failed:
            return answer.response(self._server.safe(failed.failure))
        except TimeoutError:
            return answer.response(None if answer.finished else timeout_failure("in all", limit_s, "total_s"))
        return answer.response(answer.problem())

    async def name_media(self, part: MediaPart) -> str | None:
        """See `NamesMedia`: by vLLM's `uuid`."""
        strange = replace(part, sha256=secrets.token_hex(32))
        if (await self._try(_about(strange), frozenset([strange.sha256 or ""]))).answered:
            return "it answers without a medium whose name it cannot know"
        whole = await self._try(_about(part), frozenset())
        named = await self._try(_about(part), frozenset([part.sha256 or ""]))
        for response in (whole, named):
            if response.error is not None:
                return response.error.message
        if whole.usage is None or whole.usage.prompt_tokens is None or named.usage is None:
            return "the server does not count the tokens of a prompt"
        if (named.usage.prompt_tokens, named.usage.multimodal) != (
            whole.usage.prompt_tokens,
            whole.usage.multimodal,
        ):
            return "the prompt has other tokens when a medium goes by its name"
        self._names.use(part.kind)
        return None

    def media_by_name(self) -> dict[str, int]:
        """See `NamesMedia`."""
        names = self._names
        return {"named": names.named, "carried": names.carried, "missed": names.missed}

    async def tokens(self, request: Request) -> list[str] | None:
        """See `ShowsTokens`: by vLLM's `/tokenize`."""
        model = self._server.model or ""
        fields = {"return_token_strs": True, "add_special_tokens": True}
        try:
            body = await self._server.body(
                request, lambda url: {"model": model, "messages": chat_messages(request, url), **fields}
            )
        except FailedTry:
            return None
        found = await self._server.about.beside("tokenize", body)
        strings = found.get("token_strs") if found else None
        return [str(token) for token in strings] if isinstance(strings, list) else None

    async def alive(self) -> bool:
        """See `TellsLife`: by `/health` and one token of answer."""
        if not await self._server.about.healthy():
            return False
        hello = Message("user", (TextPart("Hello"),))
        request = Request("alive", (hello,), Generation(max_tokens=1))
        try:
            async with asyncio.timeout(_ALIVE_S):
                response = await self.generate(request)
        except TimeoutError:
            return False
        return response.error is None or response.error.status == 429  # there, but asked too much

    async def close(self) -> None:
        await self._server.close()

    async def _ask(self, body: Body, answer: ChatAnswer) -> None:
        accept = "text/event-stream" if self._stream else "application/json"
        async with self._server.answer(
            "chat/completions", body, accept=accept, finished=lambda: answer.finished
        ) as response:
            if "text/event-stream" in response.headers.get("content-type", "").lower():
                await self._read_stream(response, answer)
            else:
                await self._read_whole(response, answer)

    async def _read_stream(self, response: httpx.Response, answer: ChatAnswer) -> None:
        events = event_data(self._server.pieces(response))
        while True:
            try:
                if answer.finished:
                    async with asyncio.timeout(_AFTER_FINISH_S):
                        data = await anext(events, None)
                elif answer.began:
                    data = await self._server.next(anext(events, None))
                else:
                    data = await self._server.first(anext(events, None))
            except EventTooLargeError as error:
                hint = "something else than a model server answers there; check --base-url and proxies"
                raise FailedTry(Failure("protocol", str(error), hint=hint)) from error
            except TimeoutError:
                return
            if data is None:
                answer.close(framed=is_framed(response))
                return
            if data.strip() == "[DONE]":
                answer.end()
                await self._to_the_end(events)
                return
            chunk = self._object(data, answer)
            if chunk is not None:
                self._server.require_own(response, chunk.get("id"))
                answer.add(chunk)

    async def _to_the_end(self, events: AsyncIterator[str]) -> None:
        """Read on to the end of a complete answer: a connection that is left before is lost for the next."""
        if self._ends_promptly:
            try:
                async with asyncio.timeout(_TO_THE_END_S):
                    async for _ in events:
                        pass
            except EventTooLargeError:
                return
            except TimeoutError:
                self._ends_promptly = False  # it would be waited for at every request

    async def _read_whole(self, response: httpx.Response, answer: ChatAnswer) -> None:
        """One JSON object, as asked for or from a server that ignores `stream`."""
        body = await self._server.whole(response)
        kind = response.headers.get("content-type", "no content type")
        if "json" not in kind.lower():
            message = f"expected an event stream or JSON, found {kind}: {faults.message_of(body)}"
            hint = "something else than a model server answers there; check --base-url and proxies"
            raise FailedTry(Failure("protocol", faults.shorten(message), hint=hint))
        whole = self._object(body.decode("utf-8-sig", "replace"), answer)
        if whole is not None:
            self._server.require_own(response, whole.get("id"))
            if not whole.get("choices"):
                raise self._server.refused(whole)
            answer.add_whole(whole)

    def _object(self, data: str, answer: ChatAnswer) -> JsonDict | None:
        """The JSON object of a chunk; None for what is damaged after the answer was complete."""
        try:
            chunk = faults.decoded(data)
        except ValueError:
            chunk = None
        if not isinstance(chunk, Mapping):
            if answer.finished:
                return None
            message = f"expected a JSON object in the answer, found: {faults.shorten(data)}"
            hint = "the server or a proxy sent a damaged answer; look at their logs"
            raise FailedTry(Failure("protocol", message, retryable=True, hint=hint))
        error = faults.error_in(chunk)
        if error is not None and (answer.wants_sound or not answer.finished):
            raise self._server.refused(error)
        return dict(chunk)


def _about(part: MediaPart) -> Request:
    return Request("name", (Message("user", (part, TextPart("Say yes."))),), Generation(max_tokens=1))
