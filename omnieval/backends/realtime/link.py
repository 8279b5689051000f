"""A WebSocket connection to a full-duplex server, and what it means that there is none, or no longer one."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Literal

from omnieval.backends import faults
from omnieval.backends.failed import FailedTry
from omnieval.backends.realtime.refusals import NO_DUPLEX
from omnieval.types import Failure

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.exceptions import ConnectionClosed, InvalidStatus

_MOST_FRAME_BYTES = 32 * 2**20
_CLOSE_S = 2.0
_UP = "is the server up, and the address right?"
_PROXY = "look at the proxy that the environment names (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY), or at NO_PROXY"
# What close codes say beyond that the connection is gone; RFC 6455 and the IANA registry name them.
_BUSY = 1013
_FINAL_CODES = {
    1002: ("protocol", "the server takes what was sent for no WebSocket; look at proxies on the way"),
    1003: ("protocol", "the server takes no such frames; look at its version"),
    1007: ("protocol", "the server cannot read what was sent; look at its log"),
    1008: ("configuration", "the server refuses the session; set OPENAI_API_KEY, and look at its log"),
    1009: ("configuration", "the session is too large for the server, most likely its reference voice"),
}


class RealtimeServer:
    """Where sessions are opened. base_url: http or https, without a slash at its end."""

    def __init__(self, base_url: str, secret: str | None, *, connect_s: float) -> None:
        from omnieval.media.transport import is_local

        self._url = f"ws{base_url.removeprefix('http')}/realtime?duplex=1"
        self._secret = secret
        self._connect_s = connect_s
        self._proxy: Literal[True] | None = None if is_local(base_url) else True
        self._tls = _tls_context() if self._url.startswith("wss:") else None

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[ClientConnection]:
        """An open connection. Raises FailedTry where there is none to be had."""
        link = await self._connect()
        try:
            yield link
        finally:
            await link.close()

    async def _connect(self) -> ClientConnection:
        from websockets.asyncio.client import connect
        from websockets.exceptions import (
            InvalidHandshake,
            InvalidMessage,
            InvalidProxy,
            InvalidStatus,
            ProxyError,
        )

        class Direct(connect):
            """Follows no redirection: the key goes to the address that was given and to no other."""

            def process_redirect(self, exc: Exception) -> Exception:
                return exc

        try:
            return await Direct(
                self._url,
                additional_headers={"Authorization": f"Bearer {self._secret}"} if self._secret else {},
                open_timeout=self._connect_s,
                close_timeout=_CLOSE_S,
                ping_interval=None,  # a server that computes answers late; sessions have limits of their own
                max_size=_MOST_FRAME_BYTES,
                proxy=self._proxy,
                ssl=self._tls,
            )
        except InvalidStatus as error:
            raise FailedTry(self._refusal(error)) from error
        except TimeoutError as error:
            hint = f"{_UP} One that warms up may need more than timeouts.connect_s"
            raise FailedTry(Failure("timeout", "no connection in time", retryable=True, hint=hint)) from error
        except (OSError, EOFError, InvalidMessage) as error:
            failure = Failure("connection", f"no connection: {error}", retryable=True, hint=_UP)
            raise FailedTry(faults.tls_trouble(error) or failure) from error
        except (InvalidProxy, ProxyError, ImportError) as error:
            raise FailedTry(Failure("configuration", f"no connection: {error}", hint=_PROXY)) from error
        except InvalidHandshake as error:
            raise FailedTry(Failure("protocol", f"no WebSocket: {error}", hint=NO_DUPLEX)) from error

    def _refusal(self, error: InvalidStatus) -> Failure:
        status = error.response.status_code
        said = faults.message_of(bytes(error.response.body or b""))
        if 300 <= status < 400:
            return faults.classify(status, said, secret=self._secret)
        if status in (403, 404, 405, 426, 501) or status < 400:
            hint = NO_DUPLEX if status != 403 else f"{NO_DUPLEX}; or set OPENAI_API_KEY"
            shown = faults.shorten(faults.redact(said, self._secret))
            return Failure(
                "configuration", f"no WebSocket but HTTP {status}: {shown}", status=status, hint=hint
            )
        retry_after = error.response.headers.get("retry-after")
        return faults.classify(status, said, retry_after=retry_after, secret=self._secret)


def closed(error: ConnectionClosed, last_event: str) -> Failure:
    """What it means that the connection is closed. last_event: the last thing that came."""
    frame = error.rcvd
    if _was_ours(error):
        message = f"what came after {last_event} cannot be read: {error.sent}"
        hint = "the server or a proxy sent a damaged frame; look at their logs"
        return Failure("protocol", message, retryable=True, hint=hint)
    reason = faults.shorten(frame.reason) if frame is not None and frame.reason else ""
    said = f"{reason} (close code {frame.code})" if frame is not None else "without a word"
    message = f"the connection was closed after {last_event}: {said}"
    code = 0 if frame is None else frame.code
    if code == _BUSY:
        return Failure("busy", message, retryable=True, hint="lower --concurrency")
    if code in _FINAL_CODES:
        kind, hint = _FINAL_CODES[code]
        return Failure(kind, message, hint=hint)
    hint = "the server died or a proxy cut the connection; look at their logs"
    return Failure("server", message, retryable=True, hint=hint)


def may_resume(error: ConnectionClosed) -> bool:
    """Whether the session may still be there: the connection broke, and the server did not refuse."""
    if error.rcvd is None:
        return not _was_ours(error)
    return error.rcvd.code not in {_BUSY, *_FINAL_CODES}


def _was_ours(error: ConnectionClosed) -> bool:
    """Whether this side ended the connection, since what came could not be read or was too large."""
    return error.sent is not None and error.rcvd_then_sent is not True and error.sent.code in _FINAL_CODES


def _tls_context() -> ssl.SSLContext:
    """As for HTTP, so that SSL_CERT_FILE counts for both."""
    import httpx

    return httpx.create_ssl_context()
