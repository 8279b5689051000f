"""Full duplex over a WebSocket: `/v1/realtime?duplex=1` of vLLM-Omni, one session an utterance.

The text is the session's `duplex_initial_user_text`; silence is streamed in real time while the model speaks.
A connection that breaks in mid-session is resumed once; a server that is full is `busy`, and waited for.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.backends import faults
from omnieval.backends.base import BackendContext
from omnieval.backends.failed import FailedTry
from omnieval.backends.model_server import ModelServer
from omnieval.backends.realtime_answer import DuplexAnswer
from omnieval.backends.realtime_pace import PIECE_BYTES, PIECE_MS, RATE_HZ, Pacer
from omnieval.backends.transport_faults import timeout_failure
from omnieval.config import RunConfig
from omnieval.errors import ConfigError
from omnieval.types import Capabilities, Failure, JsonDict, Request, Response, ServerFacts, TextPart

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_SILENCE = base64.b64encode(bytes(PIECE_BYTES)).decode("ascii")
_MOST_MS = 30_000
_HEARTBEAT_MS = 5_000
_MOST_FRAME_BYTES = 32 * 2**20


def create(config: RunConfig, context: BackendContext) -> RealtimeDuplex:
    """The backend `realtime-duplex`. Raises ConfigError without a base URL, and for decoding options."""
    decode = config.decode
    options = ("temperature", "top_p", "top_k", "repetition_penalty", "seed")
    named = [f"decode.{name}" for name in options if getattr(decode, name) is not None]
    if named:
        raise ConfigError(
            f"a full-duplex session has no field for {', '.join(named)}; set them to null here, and in the "
            "server's deploy file to what you want"
        )
    return RealtimeDuplex(config, context)


class RealtimeDuplex:
    """One server. Follows `omnieval.types.Backend`."""

    capabilities = Capabilities(needs_transport=True)

    def __init__(self, config: RunConfig, context: BackendContext) -> None:
        self._server = ModelServer("realtime-duplex", config, context)
        self._secret = context.api_key
        self._pcm = config.pcm
        self._url = f"ws{(config.base_url or '').removeprefix('http')}/realtime?duplex=1"

    async def check(self) -> ServerFacts:
        """Raises BackendError when no run is possible."""
        return await self._server.check()

    async def generate(self, request: Request) -> Response:
        answer = DuplexAnswer(request.sample_id, self._pcm, self._secret)
        limit_s = self._server.timeouts.total_s
        try:
            session = await asyncio.to_thread(_session, request, self._server.model or "")
            async with asyncio.timeout(limit_s):
                await self._converse(session, answer)
        except FailedTry as failed:
            return answer.response(self._server.safe(failed.failure))
        except TimeoutError:
            return answer.response(timeout_failure("in all", limit_s, "total_s"))
        return answer.response(None)

    async def close(self) -> None:
        await self._server.close()

    async def _converse(self, session: JsonDict, answer: DuplexAnswer) -> None:
        from websockets.exceptions import ConnectionClosed

        pacer = Pacer()
        opening: JsonDict = {"type": "session.update", "session": session}
        answer.begin()
        for last in (False, True):
            try:
                async with self._connected() as link:
                    await _send(link, opening)
                    await self._exchange(link, answer, pacer)
                    return
            except ConnectionClosed as error:
                if answer.finished:
                    return
                if last or answer.session_id is None:
                    raise FailedTry(_broken(error, answer)) from error
                answer.note("the connection broke, and the session was resumed")
                opening = {"type": "session.resume", "session_id": answer.session_id}

    async def _exchange(self, link: ClientConnection, answer: DuplexAnswer, pacer: Pacer) -> None:
        while not answer.created:
            await self._read(link, answer)
        sender = asyncio.create_task(_stream_silence(link, answer, pacer))
        try:
            while not answer.finished:
                await self._read(link, answer)
        finally:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)
        await _send(link, {"type": "session.close"})

    async def _read(self, link: ClientConnection, answer: DuplexAnswer) -> None:
        """One event. Raises FailedTry with what was last seen where the session stalls."""
        limits = self._server.timeouts
        key, limit_s = ("between_chunks_s", limits.between_chunks_s)
        if not answer.began:
            key, limit_s = ("first_token_s", limits.first_token_s)
        try:
            async with asyncio.timeout(limit_s):
                frame = await link.recv()
        except TimeoutError:
            what = f"without an event; the last one was {answer.last_event}"
            raise FailedTry(timeout_failure(what, limit_s, key)) from None
        answer.add(frame)

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[ClientConnection]:
        """Raises FailedTry where no session can be opened."""
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus

        from omnieval.media.transport import is_local

        headers = {"Authorization": f"Bearer {self._secret}"} if self._secret else {}
        try:
            link = await connect(
                self._url,
                additional_headers=headers,
                open_timeout=self._server.timeouts.connect_s,
                close_timeout=2,
                max_size=_MOST_FRAME_BYTES,
                proxy=None if is_local(self._url) else True,
            )
        except InvalidStatus as error:
            body = faults.message_of(bytes(error.response.body or b""))
            status = error.response.status_code
            retry_after = error.response.headers.get("retry-after")
            raise FailedTry(
                faults.classify(status, body, retry_after=retry_after, secret=self._secret)
            ) from error
        except TimeoutError as error:
            hint = "is the server up, and the address right?"
            raise FailedTry(Failure("timeout", "no connection in time", retryable=True, hint=hint)) from error
        except (OSError, InvalidMessage) as error:
            hint = "is the server up, and the address right?"
            failure = Failure("connection", f"no connection: {error}", retryable=True, hint=hint)
            raise FailedTry(faults.tls_trouble(error) or failure) from error
        except InvalidHandshake as error:
            hint = "no full-duplex server answers there; its deploy file needs session_mode: duplex"
            raise FailedTry(Failure("protocol", f"no WebSocket: {error}", hint=hint)) from error
        try:
            yield link
        finally:
            await link.close()


async def _stream_silence(link: ClientConnection, answer: DuplexAnswer, pacer: Pacer) -> None:
    """Send silence until cancelled, at most 30 s of it; then only acknowledgements and heartbeats."""
    while True:
        end_ms = await pacer.next_ms()
        if end_ms == PIECE_MS:
            answer.first_piece()
        if end_ms <= _MOST_MS:
            piece = {"audio": _SILENCE, "format": "pcm16", "sample_rate_hz": RATE_HZ, "is_speech": False}
            times = {"duration_ms": PIECE_MS, "audio_end_ms": end_ms}
            await _send(link, {"type": "input_audio_buffer.append", **piece, **times})
        elif answer.listened and not answer.spoke:
            answer.end_listening()
            await link.close()
            return
        played_ms = answer.played_ms()
        if played_ms:
            ids = {"response_id": answer.response_id, "item_id": answer.item_id}
            ack = {"type": "playback.ack", "played_ms": played_ms, "committed_ms": played_ms}
            await _send(link, {**ack, **ids})
        if end_ms % _HEARTBEAT_MS == 0:
            await _send(link, {"type": "session.heartbeat"})


async def _send(link: ClientConnection, event: JsonDict) -> None:
    await link.send(json.dumps(event))


def _session(request: Request, model: str) -> JsonDict:
    """The body of `session.update`. Raises FailedTry when the reference voice cannot be read, and for a voice
    that no session has a field for."""
    speech = request.speech
    if speech is not None and (speech.voice or speech.instructions):
        message = "a full-duplex session has no field for a named or a described voice"
        raise FailedTry(Failure("configuration", message, hint="set variant=clone, or take another backend"))
    system = [
        part.text
        for message in request.messages
        if message.role == "system"
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    said = (
        request.speech.text
        if request.speech
        else " ".join(
            part.text
            for message in request.messages
            if message.role == "user"
            for part in message.parts
            if isinstance(part, TextPart)
        )
    )
    session: dict[str, Any] = {
        "model": model,
        "modalities": ["audio", "text"],
        "input_audio_format": "pcm16",
        "output_audio_format": "pcm16",
        "sample_rate_hz": RATE_HZ,
        "audio": {"input": {"sample_rate_hz": RATE_HZ}, "output": {"sample_rate_hz": 24_000}},
        "turn_detection": None,
        "overlap_policy": "listen_only",
        "playback_commit_policy": "ack_only",
        "extra_body": {
            "auto_response": True,
            "force_listen_count": 0,
            **request.extra_body,
            "duplex_initial_user_text": said,
        },
    }
    if system:
        session["instructions"] = "\n".join(system)
    if request.speech and request.speech.reference_audio:
        session["ref_audio"] = _voice(request.sample_id, request.speech.reference_audio.path)
    return session


def _voice(sample_id: str, path: Path) -> str:
    try:
        return f"data:audio/wav;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
    except OSError as error:
        message = f"sample {sample_id}: the reference voice cannot be read: {error}"
        hint = "a file was changed or removed; resume the run"
        raise FailedTry(Failure("media", message, hint=hint)) from error


def _broken(error: Exception, answer: DuplexAnswer) -> Failure:
    message = f"the session broke off after {answer.last_event}: {faults.shorten(str(error))}"
    hint = "the server died or a proxy cut the connection; look at their logs"
    return Failure("server", message, retryable=True, hint=hint)
