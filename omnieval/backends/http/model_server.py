"""One OpenAI-compatible server over HTTP: the client, its limits of time, and its answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnieval.backends import faults
from omnieval.backends.base import BackendContext
from omnieval.backends.failed import FailedTry
from omnieval.backends.http import request_ids
from omnieval.backends.http.body import Body, encoded
from omnieval.backends.http.description import ServerDescription
from omnieval.backends.http.short_answers import beginning, refuse_nested
from omnieval.backends.http.transport_faults import broken, timeout_failure
from omnieval.config import RunConfig, most_in_flight
from omnieval.errors import BackendError, ConfigError
from omnieval.types import Failure, JsonDict, MediaPart, MediaUrl, Request, ServerFacts
from omnieval.wording import suggest

if TYPE_CHECKING:
    import httpx

# The largest sound that is kept, in base64, and what stands around it.
_MOST_BYTES = 512 * 2**20
# Reading and encoding media for more requests at once would only fill memory.
_ENCODED_AT_ONCE = 2

UNFRAMED = (
    "the server does not mark the end of its answers, so that a cut one cannot be told from a whole one"
)

BuildBody = Callable[[Callable[[MediaPart], str]], Mapping[str, Any]]


class ModelServer:
    """What the backends for such servers have in common. Raises ConfigError without a base URL.

    model: the configured one, or the only one that the server has, once `check` has asked.
    about: what it says of itself.
    """

    def __init__(self, backend: str, config: RunConfig, context: BackendContext) -> None:
        import httpx

        from omnieval.media.transport import is_local

        if config.base_url is None:
            raise ConfigError(f"the backend {backend} needs --base-url, for example http://127.0.0.1:8000/v1")
        if context.media_url is None:
            raise ConfigError(f"the backend {backend} needs a transport for media")
        self.model = config.model
        self._secret = _sendable(context.api_key, config.api_key_env)
        self.timeouts = config.timeouts
        self._backend = backend
        try:
            _ = httpx.URL(config.base_url).host
        except (httpx.InvalidURL, UnicodeError) as error:  # the latter of a host name
            raise ConfigError(f"--base-url {config.base_url!r} is no address: {error}") from error
        self._base_url = config.base_url
        self._media_url: MediaUrl = context.media_url
        self._reads_media = context.reads_media
        self._has_answered = False
        self._keeps_connections = True
        self._encoding = asyncio.Semaphore(_ENCODED_AT_ONCE)
        limit = most_in_flight(config.concurrency) + 4
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=self.timeouts.connect_s),
            limits=httpx.Limits(max_connections=limit, max_keepalive_connections=limit),
            headers={"Authorization": f"Bearer {self._secret}"} if self._secret else {},
            verify=httpx.create_ssl_context(),  # SSL_CERT_FILE counts for this machine too
            event_hooks={"response": [refuse_nested]},
            trust_env=not is_local(self._base_url),  # a proxy of the environment cannot reach this machine
        )
        self.about = ServerDescription(self._client, self._base_url, self._secret)

    async def check(self) -> ServerFacts:
        """Ask for the list of models. Raises BackendError when no run is possible, with the next step.

        Without a configured model, the only one that the server has is taken.
        """
        listed = await self.about.models()
        names = [str(entry.get("id")) for entry in listed]
        if self.model is None:
            if len(names) != 1:
                raise BackendError(f"{self._base_url} serves {len(names)} models, give --model: {names}")
            self.model = names[0]
        if self.model not in names:
            raise BackendError(f"{self._base_url} has no model {self.model!r}{suggest(self.model, names)}")
        entry = listed[names.index(self.model)]
        length = entry.get("max_model_len")
        return ServerFacts(
            backend=self._backend,
            model=self.model,
            max_model_len=length if isinstance(length, int) else None,
            version=await self.about.version(),
            details={"base_url": self._base_url},
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def body(self, request: Request, build: BuildBody) -> Body:
        """The encoded body of a request. Raises FailedTry when a media file cannot be read."""
        if not self._reads_media:
            return self._encoded(request, build)
        parts = [part for message in request.messages for part in message.parts]
        if request.speech is not None:
            parts += [request.speech.reference_audio] if request.speech.reference_audio else []
        if not any(isinstance(part, MediaPart) for part in parts):
            return self._encoded(request, build)
        async with self._encoding:
            return await asyncio.to_thread(self._encoded, request, build)

    @contextlib.asynccontextmanager
    async def answer(
        self, path: str, body: Body, *, accept: str, finished: Callable[[], bool]
    ) -> AsyncIterator[httpx.Response]:
        """Post the body; the answer with status 200, its content still to be read.

        path: below the base URL. accept: kind of content. finished: asked when the connection breaks; a
        complete answer is kept. Raises FailedTry for anything else.
        """
        import httpx

        headers = {
            "Content-Type": "application/json",
            "Accept": accept,
            "Content-Length": str(body.length),
            request_ids.HEADER: request_ids.new_id(),
            **({} if self._keeps_connections else {"Connection": "close"}),
        }
        url = f"{self._base_url}/{path}"
        call = self._client.build_request("POST", url, content=body.stream(), headers=headers)
        response: httpx.Response | None = None
        try:
            response = await self.first(self._client.send(call, stream=True))
            if response.status_code != 200:
                raise FailedTry(await self._refusal(response))
            self._has_answered = True
            self.require_own(response, response.headers.get(request_ids.HEADER))
            yield response
        except httpx.HTTPError as error:
            if finished():
                return
            failure = broken(error, began=response is not None)
            if failure.kind == "protocol" and response is None and self._has_answered:
                # It does speak HTTP, but sent more before than it had announced.
                self._keeps_connections = False
                failure = replace(failure, retryable=True)
            raise FailedTry(failure) from error
        finally:
            if response is not None:
                await response.aclose()

    def require_own(self, response: httpx.Response, answer_id: Any) -> None:
        """Raises FailedTry where the id of an answer, or of a chunk of it, is that of another request."""
        if request_ids.is_of_another(answer_id, response.request.headers[request_ids.HEADER]):
            self._keeps_connections = False
            message = "the answer is to another request"
            hint = "a proxy mixes up answers, or repeats old ones; look at its log, or ask the server itself"
            raise FailedTry(Failure("protocol", message, retryable=True, hint=hint))

    async def first(self, step: Any) -> Any:
        """The result of a step that waits for the answer to begin. Raises FailedTry at the limit."""
        limit_s = self.timeouts.first_token_s
        return await _within(
            step, limit_s, timeout_failure("before the first token", limit_s, "first_token_s")
        )

    async def next(self, step: Any) -> Any:
        """The result of a step that waits for the next chunk. Raises FailedTry at the limit."""
        limit_s = self.timeouts.between_chunks_s
        return await _within(
            step, limit_s, timeout_failure("between two chunks", limit_s, "between_chunks_s")
        )

    async def pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """The content as it comes. Raises FailedTry when it becomes too large for an answer."""
        size = 0
        async for piece in response.aiter_bytes():
            size += len(piece)
            if size > _MOST_BYTES:
                message = f"an answer of more than {_MOST_BYTES} bytes"
                hint = "the model does not come to an end; limit it with decode.max_tokens"
                raise FailedTry(Failure("protocol", message, hint=hint))
            yield piece

    async def whole(self, response: httpx.Response) -> bytes:
        """All of the content. Raises FailedTry when it takes too long, or is too large."""

        async def joined() -> bytes:
            return b"".join([piece async for piece in self.pieces(response)])

        content: bytes = await self.first(joined())
        return content

    async def post(self, path: str, content: JsonDict) -> JsonDict:
        """The JSON object that a path answers to another. Raises FailedTry, also for an error object."""
        body = Body([json.dumps(content).encode()])
        async with self.answer(path, body, accept="application/json", finished=lambda: False) as response:
            whole = await self.whole(response)
        try:
            found = faults.decoded(whole.decode("utf-8", "replace"))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            message = f"expected a JSON object from {path}, found: {faults.shorten(faults.message_of(whole))}"
            raise FailedTry(Failure("protocol", message, hint="check --base-url and proxies"))
        if found.get("error"):
            raise self.refused(found)
        return found

    async def alive(self) -> bool:
        """Whether it is well and lists the model."""
        if not await self.about.healthy():
            return False
        try:
            await self.check()
        except BackendError:
            return False
        return True

    def safe(self, failure: Failure) -> Failure:
        """The failure without the key, which a server may repeat in anything that it sends."""
        return replace(failure, message=faults.redact(failure.message, self._secret))

    def _encoded(self, request: Request, build: BuildBody) -> Body:
        try:
            return encoded(build, self._media_url)
        except OSError as error:
            message = f"sample {request.sample_id}: a prepared media file cannot be read: {error}"
            raise FailedTry(
                Failure("media", message, hint="a file was changed or removed; resume the run")
            ) from error

    def refused(self, error: Any) -> FailedTry:
        """An error object in the place of an answer, or amid one."""
        return FailedTry(faults.classify(None, faults.message_in(error), secret=self._secret))

    def event_object(self, data: str, place: str) -> JsonDict:
        """The JSON object of one event. place: where it stands, for the message.

        Raises FailedTry for anything else, and for an error in its place.
        """
        try:
            event = faults.decoded(data)
        except ValueError:
            event = None
        if not isinstance(event, Mapping):
            message = f"expected a JSON object in {place}, found: {faults.shorten(data)}"
            raise FailedTry(Failure("protocol", message, retryable=True))
        if event.get("error") or event.get("type") == "error":
            raise self.refused(event)
        return dict(event)

    async def _refusal(self, response: httpx.Response) -> Failure:
        body = await self.first(beginning(response))
        retry_after = response.headers.get("retry-after")
        message = faults.message_of(body)
        return faults.classify(response.status_code, message, retry_after=retry_after, secret=self._secret)


def _sendable(key: str | None, name: str) -> str | None:
    """The key without blanks and line ends around it. Raises ConfigError for one that no header can carry."""
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the key in {name} has characters that HTTP cannot send (not ASCII, or control characters); "
            "was it copied whole?"
        )
    return key or None


def is_framed(response: httpx.Response) -> bool:
    """Whether the end of the content is marked, so that a cut one is told from a whole one."""
    return bool({"content-length", "transfer-encoding"} & set(response.headers))


async def _within(step: Any, limit_s: float, failure: Failure) -> Any:
    try:
        async with asyncio.timeout(limit_s):
            return await step
    except TimeoutError:
        raise FailedTry(failure) from None
