"""OpenAI chat completions over HTTP, streaming: vLLM, vLLM-Omni, SGLang, llama.cpp server.

An answer is complete only with a finish reason. A stream that carries an error object, that breaks off, or
that ends without a finish reason is a failed try, whatever text had arrived, and also on HTTP 200.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from omnieval.backends import faults
from omnieval.backends.base import BackendContext
from omnieval.backends.body import Body, encoded
from omnieval.backends.chat_answer import ChatAnswer
from omnieval.backends.sse import EventTooLargeError, event_data
from omnieval.config import RunConfig, suggest
from omnieval.errors import BackendError, ConfigError
from omnieval.types import (
    Capabilities,
    Failure,
    JsonDict,
    MediaPart,
    MediaUrl,
    Part,
    Request,
    Response,
    ServerFacts,
    TextPart,
)

if TYPE_CHECKING:
    import httpx

# After the finish reason only usage and [DONE] are awaited; they are not worth a long wait.
_AFTER_FINISH_S = 5.0
_CHECK_S = 30.0
# Reading and encoding media for more requests at once would only fill memory.
_ENCODED_AT_ONCE = 2


def create(config: RunConfig, context: BackendContext) -> OpenAIChat:
    """The backend `openai-chat`. Raises ConfigError without a base URL."""
    if config.base_url is None:
        raise ConfigError("the backend openai-chat needs --base-url, for example http://127.0.0.1:8000/v1")
    if context.media_url is None:
        raise ConfigError("the backend openai-chat needs a transport for media")
    return OpenAIChat(config, config.base_url, context.media_url, context.api_key)


def chat_body(request: Request, model: str, media_url: Callable[[MediaPart], str]) -> JsonDict:
    """The JSON body of a request, parts in their order; `extra_body` is merged last."""
    options = request.generation
    optional = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "repetition_penalty": options.repetition_penalty,
        "seed": options.seed,
    }
    return {
        "model": model,
        "messages": [
            {"role": message.role, "content": [_content(part, media_url) for part in message.parts]}
            for message in request.messages
        ],
        "max_tokens": options.max_tokens,
        **{key: value for key, value in optional.items() if value is not None},
        "modalities": list(request.modalities),
        **_constraint(request),
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        **request.extra_body,
    }


def _constraint(request: Request) -> JsonDict:
    """vLLM's and vLLM-Omni's way to allow nothing but one of the options' letters."""
    if request.generation.constrain is None or not request.options:
        return {}
    return {"structured_outputs": {"choice": list(request.options)}}


def _content(part: Part, media_url: Callable[[MediaPart], str]) -> JsonDict:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    kind = f"{part.kind}_url"
    return {"type": kind, kind: {"url": media_url(part)}}


class _TryError(Exception):
    """A failed try, on its way to the Response."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class OpenAIChat:
    """One server. Follows `omnieval.types.Backend`."""

    capabilities = Capabilities(needs_transport=True)

    def __init__(self, config: RunConfig, base_url: str, media_url: MediaUrl, api_key: str | None) -> None:
        import httpx

        from omnieval.media.transport import is_local

        self._base_url = base_url
        self._model = config.model
        self._media_url = media_url
        self._secret = api_key
        self._timeouts = config.timeouts
        self._encoding = asyncio.Semaphore(_ENCODED_AT_ONCE)
        limit = config.concurrency + 4
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=self._timeouts.connect_s),
            limits=httpx.Limits(max_connections=limit, max_keepalive_connections=limit),
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            trust_env=not is_local(base_url),  # a proxy of the environment cannot reach this machine
        )

    async def check(self) -> ServerFacts:
        """Ask for the list of models. Raises BackendError when no run is possible, with the next step.

        Without a configured model, the only one that the server has is taken.
        """
        listed = await self._get_models()
        names = [str(entry.get("id")) for entry in listed]
        if self._model is None:
            if len(names) != 1:
                raise BackendError(f"{self._base_url} serves {len(names)} models, give --model: {names}")
            self._model = names[0]
        if self._model not in names:
            raise BackendError(f"{self._base_url} has no model {self._model!r}{suggest(self._model, names)}")
        entry = listed[names.index(self._model)]
        length = entry.get("max_model_len")
        return ServerFacts(
            backend="openai-chat",
            model=self._model,
            max_model_len=length if isinstance(length, int) else None,
            version=await self._get_version(),
            details={"base_url": self._base_url},
        )

    async def generate(self, request: Request) -> Response:
        answer = ChatAnswer(request.sample_id)
        try:
            body = await self._body(request)
            answer.begin()
            async with asyncio.timeout(self._timeouts.total_s):
                await self._ask(body, answer)
        except _TryError as failed:
            return answer.response(failed.failure)
        except TimeoutError:
            limit_s = self._timeouts.total_s
            return answer.response(None if answer.finished else _timeout("in all", limit_s, "total_s"))
        return answer.response(answer.problem())

    async def close(self) -> None:
        await self._client.aclose()

    async def _body(self, request: Request) -> Body:
        if not any(isinstance(part, MediaPart) for message in request.messages for part in message.parts):
            return self._encoded(request)
        async with self._encoding:
            return await asyncio.to_thread(self._encoded, request)

    def _encoded(self, request: Request) -> Body:
        try:
            return encoded(lambda url: chat_body(request, self._model or "", url), self._media_url)
        except OSError as error:
            message = f"sample {request.sample_id}: a prepared media file cannot be read: {error}"
            raise _TryError(
                Failure("media", message, hint="the cache was changed; resume the run")
            ) from error

    async def _ask(self, body: Body, answer: ChatAnswer) -> None:
        import httpx

        url = f"{self._base_url}/chat/completions"
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Content-Length": str(body.length),
        }
        call = self._client.build_request("POST", url, content=body.stream(), headers=headers)
        response: httpx.Response | None = None
        try:
            response = await self._until_first_token(self._client.send(call, stream=True))
            if response.status_code != 200:
                raise _TryError(await self._refusal(response))
            if "text/event-stream" in response.headers.get("content-type", ""):
                await self._read_stream(response, answer)
            else:
                await self._read_whole(response, answer)
        except httpx.HTTPError as error:
            if not answer.finished:
                raise _TryError(_broken(error, began=response is not None)) from error
        finally:
            if response is not None:
                await response.aclose()

    async def _read_stream(self, response: httpx.Response, answer: ChatAnswer) -> None:
        events = event_data(response.aiter_bytes())
        while True:
            try:
                if answer.finished:
                    async with asyncio.timeout(_AFTER_FINISH_S):
                        data = await anext(events, None)
                elif answer.began:
                    data = await self._until_next_chunk(anext(events, None))
                else:
                    data = await self._until_first_token(anext(events, None))
            except EventTooLargeError as error:
                raise _TryError(Failure("protocol", str(error))) from error
            except TimeoutError:
                return
            if data is None or data.strip() == "[DONE]":
                return
            self._add(data, answer)

    async def _read_whole(self, response: httpx.Response, answer: ChatAnswer) -> None:
        """A server that ignores `stream` answers with one JSON object."""
        body = await self._until_first_token(response.aread())
        kind = response.headers.get("content-type", "no content type")
        if "json" not in kind:
            message = f"expected an event stream or JSON, found {kind}: {faults.message_of(body)}"
            hint = "something else than a model server answers there; check --base-url and proxies"
            raise _TryError(Failure("protocol", faults.shorten(message), hint=hint))
        self._add(body.decode("utf-8", "replace"), answer)

    def _add(self, data: str, answer: ChatAnswer) -> None:
        try:
            chunk = json.loads(data)
        except ValueError:
            chunk = None
        if not isinstance(chunk, Mapping):
            if answer.finished:
                return
            message = f"expected a JSON object in the answer, found: {faults.shorten(data)}"
            raise _TryError(Failure("protocol", faults.redact(message, self._secret), retryable=True))
        if chunk.get("error") and not answer.finished:
            raise _TryError(faults.classify(None, faults.message_in(chunk["error"]), secret=self._secret))
        answer.add(chunk)

    async def _refusal(self, response: httpx.Response) -> Failure:
        body = await self._until_first_token(response.aread())
        retry_after = response.headers.get("retry-after")
        message = faults.message_of(body)
        return faults.classify(response.status_code, message, retry_after=retry_after, secret=self._secret)

    async def _until_first_token(self, step: Any) -> Any:
        limit_s = self._timeouts.first_token_s
        return await _within(step, limit_s, _timeout("before the first token", limit_s, "first_token_s"))

    async def _until_next_chunk(self, step: Any) -> Any:
        limit_s = self._timeouts.between_chunks_s
        return await _within(step, limit_s, _timeout("between two chunks", limit_s, "between_chunks_s"))

    async def _get_models(self) -> list[JsonDict]:
        import httpx

        url = f"{self._base_url}/models"
        try:
            response = await self._client.get(url, timeout=_CHECK_S)
        except httpx.HTTPError as error:
            failure = _broken(error, began=False)
            raise BackendError(
                f"{url}: {failure.message}; is the server up, and the address right?"
            ) from error
        if response.status_code != 200:
            message = faults.message_of(response.content)
            failure = faults.classify(response.status_code, message, secret=self._secret)
            hint = failure.hint or "check --base-url"
            raise BackendError(f"{url}: {failure.message} ({hint})")
        try:
            entries = response.json()["data"]
            return [dict(entry) for entry in entries]
        except (ValueError, KeyError, TypeError) as error:
            found = faults.shorten(faults.message_of(response.content))
            raise BackendError(
                f"{url}: expected a list of models, found {found}; is this an OpenAI-compatible server?"
            ) from error

    async def _get_version(self) -> str | None:
        import httpx

        try:
            response = await self._client.get(
                self._base_url.removesuffix("/v1") + "/version", timeout=_CHECK_S
            )
            version = response.json().get("version") if response.status_code == 200 else None
        except (httpx.HTTPError, ValueError, AttributeError):
            return None
        return str(version) if version is not None else None


async def _within(step: Any, limit_s: float, failure: Failure) -> Any:
    try:
        async with asyncio.timeout(limit_s):
            return await step
    except TimeoutError:
        raise _TryError(failure) from None


def _timeout(what: str, limit_s: float, key: str) -> Failure:
    message = f"no answer in time: more than {limit_s:g} s {what}"
    return Failure(
        "timeout", message, retryable=True, hint=f"raise timeouts.{key} if the server is only slow"
    )


def _broken(error: httpx.HTTPError, *, began: bool) -> Failure:
    """A transport error: nothing answers, or the answer broke off."""
    import httpx

    reason = str(error) or type(error).__name__
    if isinstance(error, httpx.DecodingError):
        return Failure("protocol", f"the answer cannot be decompressed: {reason}", retryable=True)
    if isinstance(error, httpx.ConnectTimeout):
        return Failure("timeout", "no connection in time", retryable=True, hint="is the server up?")
    if began:
        hint = "the server died or a proxy cut the connection; look at their logs"
        return Failure("server", f"the answer broke off: {reason}", retryable=True, hint=hint)
    return Failure("connection", f"no connection: {reason}", retryable=True, hint="is the server up?")
