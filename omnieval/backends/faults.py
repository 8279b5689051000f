"""What a server's refusal means: its status and message to a Failure with the next step.

Messages were seen on vLLM 0.30 to 0.32; others fall back on the status alone. A status is not enough:
vLLM answers 500 to a media path that it may not read, which no retry heals.
"""

from __future__ import annotations

import json
import math
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from omnieval.parsing import well_formed
from omnieval.types import Failure

_SHOWN_CHARACTERS = 400
_MESSAGE_KEYS = ("message", "detail", "msg")
# Ends of a TLS connection that say nothing of TLS: the other side went away, or is waited for.
_CUT_SHORT = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(frozen=True, slots=True)
class _Meaning:
    pattern: re.Pattern[str]
    kind: str
    hint: str
    retryable: bool = False


def _meaning(pattern: str, kind: str, hint: str, *, retryable: bool = False) -> _Meaning:
    return _Meaning(re.compile(pattern, re.IGNORECASE), kind, hint, retryable)


_MEANINGS = (
    _meaning(
        r"without --allowed-local-media-path|must be a subpath of",
        "configuration",
        "start the server with --allowed-local-media-path on the folder that this program prints, or use "
        "--transport inline",
    ),
    _meaning(
        r"No such file or directory",
        "configuration",
        "the server does not see this machine's files; use --transport inline, or http",
    ),
    _meaning(
        r"At most \d+ (image|audio|video)",
        "configuration",
        'raise the server\'s --limit-mm-per-prompt, for example \'{"image": 64, "audio": 64}\'',
    ),
    _meaning(
        r"maximum context length|max_tokens.*too large|longer than the maximum model length|max_model_len",
        "configuration",
        "raise the server's --max-model-len, or lower max_frames or decode.max_tokens",
    ),
    _meaning(
        r"trust.request.mm.kwargs|mm_processor_kwargs|media_io_kwargs",
        "configuration",
        "start the server with --trust-request-mm-kwargs, or send none: "
        "--set extra_body.mm_processor_kwargs=null",
    ),
    _meaning(
        r"does not exist.*(valid aliases|model)|model .*(does not exist|not found)",
        "configuration",
        "name a model that the server has, with --model",
    ),
    _meaning(
        r"is not a multimodal model|does not support (image|audio|video)",
        "configuration",
        "the model cannot take this kind of media; check the deployment, or change input_mode",
    ),
    _meaning(
        r"ref_audio must be",
        "configuration",
        "this server takes a reference voice inside the request only; use --transport inline",
    ),
    _meaning(
        r"non-empty 'ref_text'",
        "configuration",
        "the list has no transcripts of its reference voices; --set extra_body.x_vector_only_mode=true",
    ),
    _meaning(
        r"invalid (speaker|voice|language) '|does not support generate_|task requires '",
        "configuration",
        "the model cannot make this voice; choose a reference, a named voice or a description as it can",
    ),
    _meaning(
        r"failed to (load|decode) (image|audio|video)|cannot identify image|non-base64 digit"
        r"|invalid or corrupted (audio|image|video)",
        "sample",
        "the server cannot decode this sample's media; look at the files",
    ),
    _meaning(
        r"moderation|content (filter|policy|management)|safety (system|filter)",
        "sample",
        "the server's content filter refused this sample; it counts as failed",
    ),
    _meaning(
        r"resource_exhausted|too many requests|rate.?limit|overloaded|queue is full",
        "busy",
        "lower --concurrency",
        retryable=True,
    ),
    _meaning(
        r"expected a cached item for mm_hash",  # vLLM, after requests with media that were cut off
        "server",
        "the server's cache of media is out of step; restart it, or start it with --mm-processor-cache-gb 0",
        retryable=True,
    ),
    _meaning(
        r"engine ?core|enginedead|engine (process|is dead|died)|cuda error|npu error|out of memory",
        "server",
        "the engine failed; look at the server's log and restart it",
        retryable=True,
    ),
)

_BY_STATUS: Mapping[int, tuple[str, str, bool]] = {
    401: ("configuration", "set OPENAI_API_KEY, or name the variable with --api-key-env", False),
    402: ("configuration", "the account has no credit left; look at the provider's pages", False),
    403: ("configuration", "set OPENAI_API_KEY, or name the variable with --api-key-env", False),
    404: ("configuration", "check --base-url (it usually ends with /v1) and --model", False),
    405: ("configuration", "check --base-url (it usually ends with /v1)", False),
    408: ("timeout", "raise the proxy's or the server's time limit", True),
    413: ("configuration", "raise the proxy's body limit, or use --transport file or http", False),
    429: ("busy", "lower --concurrency", True),
    503: ("busy", "the server is overloaded or not ready", True),
    529: ("busy", "the server is overloaded", True),
}


def classify(
    status: int | None, message: str, *, retry_after: str | None = None, secret: str | None = None
) -> Failure:
    """The Failure for a refusal.

    status: HTTP status, or None for an error inside a stream. message: what the server says. retry_after:
    the header of that name. secret: replaced wherever the message repeats it.
    """
    shown = shorten(redact(message, secret))
    prefix = f"HTTP {status}: " if status is not None else "error in the answer: "
    wait_s = _seconds(retry_after)
    for meaning in _MEANINGS:
        if meaning.pattern.search(message):
            return Failure(
                meaning.kind, prefix + shown, meaning.retryable, status, meaning.hint, retry_after_s=wait_s
            )
    kind, hint, retryable = _by_status(status)
    return Failure(kind, prefix + shown, retryable, status, hint, retry_after_s=wait_s)


def message_of(body: bytes | str) -> str:
    """The human part of an error body: an OpenAI or FastAPI error object, a page's title, or the text."""
    text = body.decode("utf-8-sig", "replace") if isinstance(body, bytes) else body
    try:
        content = decoded(text)
    except ValueError:
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        return f"a web page: {title.group(1).strip()}" if title else text.strip() or "(empty body)"
    return message_in(content)


def message_in(content: Any) -> str:
    """The message of a decoded error object, or its JSON."""
    while isinstance(content, Mapping):
        inner = next((content[key] for key in ("error", *_MESSAGE_KEYS) if content.get(key)), None)
        if inner is None:
            break
        content = inner
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def error_in(chunk: Mapping[str, Any]) -> Any:
    """The error that stands in the place of an answer or of a chunk of one, or None.

    Not all servers put it under `error`: there are `{"object": "error", "message": ...}`, `{"detail": ...}`
    and `{"code": ..., "msg": ...}`, also with HTTP 200.
    """
    if chunk.get("error"):
        return chunk["error"]
    told = chunk.get("object") == "error" or any(chunk.get(key) for key in _MESSAGE_KEYS)
    return chunk if told and "choices" not in chunk else None


def decoded(text: str) -> Any:
    """The JSON value of a text. Raises ValueError, also for one that is nested too deeply to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def redact(text: str, secret: str | None) -> str:
    """The text without the secret."""
    return text.replace(secret, "***") if secret else text


def shorten(text: str) -> str:
    """At most a few lines' worth of a message, the middle left out."""
    flat = well_formed(" ".join(text.split()))
    if len(flat) <= _SHOWN_CHARACTERS:
        return flat
    half = _SHOWN_CHARACTERS // 2
    return f"{flat[:half]} ... {flat[-half:]}"


def _by_status(status: int | None) -> tuple[str, str | None, bool]:
    if status is None:
        return "server", "look at the server's log", True
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return "server", "look at the server's log", True
    if status < 300:
        return "protocol", "only HTTP 200 carries an answer; look at what stands at --base-url", False
    if status < 400:
        return "configuration", "the address redirects; give the final one with --base-url", False
    return "sample", "the server takes this request for a wrong one; look at the sample and at its log", False


def tls_trouble(error: BaseException) -> Failure | None:
    """The Failure for an error of a TLS handshake, or None for any other. Retries heal none of them."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and not isinstance(cause, ssl.SSLError) and id(cause) not in seen:
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    if not isinstance(cause, ssl.SSLError) or isinstance(cause, _CUT_SHORT):
        return None
    if isinstance(cause, ssl.SSLCertVerificationError):
        hint = (
            "name the file with its authority's certificate in the environment variable SSL_CERT_FILE, or "
            "give the host name that the certificate is for"
        )
        return Failure(
            "configuration", f"the server's certificate is not accepted: {cause.verify_message}", hint=hint
        )
    hint = "does this port speak TLS at all? A --base-url with http:// asks without"
    return Failure("configuration", f"no TLS connection: {cause.reason or cause}", hint=hint)


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After, as seconds or as an HTTP date, in seconds from now; None where it says neither."""
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError, OSError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
