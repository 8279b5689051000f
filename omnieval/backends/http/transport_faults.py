"""What an error of the transport means: nothing answers, no such server does, or it takes too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnieval.backends import faults
from omnieval.types import Failure

if TYPE_CHECKING:
    import httpx

_UP = "is the server up, and the address right?"


def timeout_failure(what: str, limit_s: float, key: str) -> Failure:
    """No answer within a limit. what: which time it was, for the reader. key: of the configuration."""
    message = f"no answer in time: more than {limit_s:g} s {what}"
    return Failure(
        "timeout", message, retryable=True, hint=f"raise timeouts.{key} if the server is only slow"
    )


def broken(error: httpx.HTTPError, *, began: bool) -> Failure:
    """A transport error: nothing answers, what answers is no such server, or the answer broke off."""
    import httpx

    reason = str(error) or type(error).__name__
    tls = faults.tls_trouble(error)
    if tls is not None:
        return tls
    if isinstance(error, httpx.DecodingError):
        hint = "a proxy on the way damages answers; look at its compression"
        return Failure("protocol", f"the answer cannot be decompressed: {reason}", retryable=True, hint=hint)
    if isinstance(error, httpx.ConnectTimeout):
        return Failure("timeout", "no connection in time", retryable=True, hint=_UP)
    if isinstance(error, httpx.TimeoutException):
        return Failure("timeout", reason, retryable=True, hint=_UP)
    if began:
        hint = "the server died or a proxy cut the connection; look at their logs"
        return Failure("server", f"the answer broke off: {reason}", retryable=True, hint=hint)
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in reason:
        hint = "no HTTP server answers there; check --base-url, its port, and http:// against https://"
        return Failure("protocol", f"the answer is not HTTP: {reason}", hint=hint)
    return Failure("connection", f"no connection: {reason}", retryable=True, hint=_UP)
