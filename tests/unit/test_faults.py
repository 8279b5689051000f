"""What a server says becomes a failure with the right kind and the next step."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest

from omnieval.backends.faults import classify, message_of
from omnieval.backends.retry import wait_seconds
from omnieval.config import RetryConfig
from omnieval.types import FAILURE_KINDS


@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable", "hint"),
    [
        (500, "Cannot load local files without --allowed-local-media-path", "configuration", False,
         "--allowed-local-media-path"),
        (400, "The file path must be a subpath of /media", "configuration", False, "--allowed-local-media-path"),
        (500, "[Errno 2] No such file or directory: '/x/frame.jpg'", "configuration", False, "--transport inline"),
        (400, "At most 4 image(s) may be provided in one prompt.", "configuration", False,
         "--limit-mm-per-prompt"),
        (400, "At most 0 audio(s) may be provided in one prompt.", "configuration", False,
         "--limit-mm-per-prompt"),
        (400, "This model's maximum context length is 4096 tokens. However, you requested 9000", "configuration",
         False, "--max-model-len"),
        (404, "The model `x` does not exist. Valid aliases: tiny-omni", "configuration", False, "--model"),
        (400, "mm_processor_kwargs are only accepted with --trust-request-mm-kwargs", "configuration", False,
         "--trust-request-mm-kwargs"),
        (400, "Failed to load image: cannot identify image file", "sample", False, "files"),
        (400, "Non-base64 digit found", "sample", False, "files"),
        (400, "Invalid or corrupted audio data", "sample", False, "files"),
        (401, "Unauthorized", "configuration", False, "--api-key-env"),
        (403, "Forbidden", "configuration", False, "--api-key-env"),
        (404, "Not Found", "configuration", False, "--base-url"),
        (413, "Request Entity Too Large", "configuration", False, "--transport"),
        (429, "slow down", "busy", True, "--concurrency"),
        (503, "no", "busy", True, "overloaded"),
        (500, "boom", "server", True, "log"),
        (500, "EngineCore encountered an issue", "server", True, "engine"),
        (502, "Bad Gateway", "server", True, "log"),
        (None, "EngineCore died", "server", True, "engine"),
        (None, "something", "server", True, "log"),
        (400, "prompt was blocked by moderation", "sample", False, "content filter"),
        (400, "Your request triggered the content policy", "sample", False, "content filter"),
        (422, "odd", "sample", False, "server takes this request for a wrong one"),
        (307, "", "configuration", False, "--base-url"),
    ],
)  # fmt: skip
def test_each_message_has_its_kind_and_next_step(
    status: int | None, message: str, kind: str, retryable: bool, hint: str
) -> None:
    failure = classify(status, message)
    assert (failure.kind, failure.retryable, failure.status) == (kind, retryable, status)
    assert failure.kind in FAILURE_KINDS
    assert hint in (failure.hint or "")
    assert message in failure.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (json.dumps({"error": {"message": "deep", "type": "X"}}), "deep"),
        (json.dumps({"message": "flat"}), "flat"),
        (json.dumps({"detail": "Not Found"}), "Not Found"),
        (json.dumps({"detail": [{"msg": "field required"}]}), '[{"msg": "field required"}]'),
        ("<html><head><title>502 Bad Gateway</title></head></html>", "a web page: 502 Bad Gateway"),
        ("plain", "plain"),
        ("", "(empty body)"),
    ],
)
def test_the_human_part_of_an_error_body_is_found(body: str, message: str) -> None:
    assert message_of(body.encode()) == message


def test_a_secret_that_the_server_repeats_is_replaced() -> None:
    failure = classify(401, "Incorrect API key: sk-123456", secret="sk-123456")
    assert "sk-123456" not in failure.message
    assert "***" in failure.message


def test_long_messages_keep_their_start_and_end() -> None:
    failure = classify(500, "start " + "x" * 100_000 + " end")
    assert len(failure.message) < 500
    assert "start" in failure.message
    assert failure.message.endswith("end")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), (None, None), ("", None), ("inf", None),
        ("nan", None), ("1e400", None), ("1e9", 1e9), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 32 Oct 2015 07:28:00 GMT", None), ("Mon, 01 Jan 99999 00:00:00 GMT", None),
    ],
)  # fmt: skip
def test_retry_after_is_read_in_seconds(header: str | None, seconds: float | None) -> None:
    assert classify(429, "busy", retry_after=header).retry_after_s == seconds


def test_retry_after_may_be_a_date_and_is_kept_up_to_the_cap() -> None:
    failure = classify(503, "busy", retry_after=formatdate(time.time() + 40, usegmt=True))
    assert failure.retry_after_s is not None
    assert 37 < failure.retry_after_s <= 40
    assert wait_seconds(RetryConfig(max_wait_s=5), 1, failure) == 5
    absurd = classify(503, "busy", retry_after="1e9")
    assert wait_seconds(RetryConfig(), 1, absurd) == 60
