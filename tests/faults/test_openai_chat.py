"""The chat backend against a server that does what real ones do only when they fail."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from omnieval.backends.base import BackendContext
from omnieval.backends.chat.openai_chat import OpenAIChat, create
from omnieval.benchmarks.daily_omni import Settings
from omnieval.config import RunConfig, TimeoutConfig
from omnieval.errors import BackendError, ConfigError
from omnieval.types import (
    Failure,
    Generation,
    MediaPart,
    Message,
    Request,
    Response,
    ServerFacts,
    TextPart,
)
from tests.command import omnieval
from tests.faults.server import DONE, EVENT_STREAM, Behaviour, Exchange, FaultServer, chunk
from tests.faults.speech_server import limits

KEY = "sk-secret-42"


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running


def config(
    base_url: str | None, model: str | None = "fake", timeouts: TimeoutConfig | None = None
) -> RunConfig:
    return RunConfig(
        recipe="r",
        benchmark="daily-omni",
        base_url=base_url,
        model=model,
        timeouts=timeouts or limits(),
        task=Settings(),
    )


def backend(base_url: str, **more: Any) -> OpenAIChat:
    return create(
        config(base_url, **more), BackendContext(media_url=lambda part: f"url:{part.path}", api_key=KEY)
    )


def request(**more: Any) -> Request:
    parts = (
        MediaPart("image", Path("f0.jpg"), "image/jpeg"),
        MediaPart("audio", Path("a0.wav"), "audio/wav"),
        MediaPart("image", Path("f1.jpg"), "image/jpeg"),
        TextPart("Which?"),
    )
    return Request("s1", (Message("user", parts),), Generation(), **more)


def ask(server: FaultServer, script: Behaviour | None = None, **more: Any) -> Response:
    if script is not None:
        server.script = script

    async def once() -> Response:
        chat = backend(server.base_url, **more)
        try:
            return await chat.generate(request())
        finally:
            await chat.close()

    return asyncio.run(once())


def failure(response: Response) -> Failure:
    assert response.error is not None, response
    return response.error


def streaming(*pieces: bytes) -> Behaviour:
    return lambda exchange: exchange.stream(*pieces)


def test_the_body_keeps_the_parts_in_order_and_extra_fields_win(server: FaultServer) -> None:
    async def once() -> None:
        chat = backend(server.base_url)
        await chat.generate(
            request(extra_body={"mm_processor_kwargs": {"max_slice_nums": 1}, "max_tokens": 5})
        )
        await chat.close()

    asyncio.run(once())
    body = server.requests[0]
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "url:f0.jpg"}},
                {"type": "audio_url", "audio_url": {"url": "url:a0.wav"}},
                {"type": "image_url", "image_url": {"url": "url:f1.jpg"}},
                {"type": "text", "text": "Which?"},
            ],
        }
    ]
    assert body["mm_processor_kwargs"] == {"max_slice_nums": 1}
    assert body["max_tokens"] == 5
    assert body["temperature"] == 0.0
    assert not {"top_p", "top_k", "seed", "repetition_penalty"} & set(body)
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}


def test_untagged_chunks_are_text(server: FaultServer) -> None:
    response = ask(server, streaming(chunk(""), chunk("B"), chunk("."), chunk(None, finish="stop"), DONE))
    assert (response.text, response.finish_reason, response.error) == ("B.", "stop", None)


def test_of_tagged_chunks_only_text_is_text(server: FaultServer) -> None:
    response = ask(
        server,
        streaming(
            chunk("B", modality="text"),
            chunk("UklGRg==", modality="audio"),
            chunk(None, finish="stop", modality="text"),
            DONE,
        ),
    )
    assert (response.text, response.error) == ("B", None)


def test_usage_and_times_are_kept_and_a_chunk_of_k_tokens_counts_k(server: FaultServer) -> None:
    def usage(tokens: int) -> dict[str, Any]:
        details = {"multimodal_tokens": {"image": 30, "audio": 12}}
        return {"prompt_tokens": 50, "completion_tokens": tokens, "prompt_tokens_details": details}

    response = ask(
        server,
        streaming(
            chunk("A", usage=usage(1)),
            chunk("BCD", usage=usage(4)),
            chunk("E", usage=usage(5)),
            chunk("", finish="length", usage=usage(5)),
            DONE,
        ),
    )
    assert response.usage is not None
    assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (50, 5)
    assert response.usage.multimodal == {"image": 30, "audio": 12}
    timing = response.timing
    assert len(timing.itl_s) == 4
    assert timing.itl_s[0] == timing.itl_s[1] == timing.itl_s[2]
    assert timing.ttft_s is not None
    assert timing.e2e_s is not None
    assert 0 < timing.ttft_s <= timing.e2e_s
    assert sum(timing.itl_s) <= timing.e2e_s + 1e-5


def test_usage_after_the_finish_reason_is_still_read(server: FaultServer) -> None:
    last = b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}}\n\n'
    response = ask(server, streaming(chunk("B"), chunk("", finish="stop"), last, DONE))
    assert response.usage is not None
    assert response.usage.prompt_tokens == 7


def test_what_comes_after_the_finish_reason_is_no_part_of_the_answer(server: FaultServer) -> None:
    response = ask(server, streaming(chunk("B", finish="stop"), chunk("C", finish="stop"), DONE, chunk("D")))
    assert (response.text, response.finish_reason) == ("B", "stop")


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": "x", "usage": {"prompt_tokens": "7", "completion_tokens": -3}},
        {"choices": [{"delta": None}, None, 7, {"delta": "x"}, {"delta": {"content": {"a": 1}}}]},
        {"choices": [{"delta": {"content": ""}, "finish_reason": 7}]},
        {"choices": [{"delta": {"content": ""}, "finish_reason": ""}]},
        {"model": 7, "usage": [], "modality": None},
        {},
    ],
)
def test_odd_fields_are_left_out(odd: dict[str, Any], server: FaultServer) -> None:
    piece = b"data: " + json.dumps(odd).encode() + b"\n\n"
    response = ask(server, streaming(piece, chunk("B"), piece, chunk("", finish="stop"), piece, DONE))
    assert (response.text, response.finish_reason, response.error) == ("B", "stop", None)


@pytest.mark.parametrize("framing", ["http10", "chunked after 100", "gzip"])
def test_any_framing_of_http_is_understood(framing: str, server: FaultServer) -> None:
    events = chunk("B") + chunk("", finish="stop") + DONE

    async def framed(exchange: Exchange) -> None:
        if framing == "http10":
            await exchange.raw(b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events)
        elif framing == "gzip":
            await exchange.head(200, {**EVENT_STREAM, "Content-Encoding": "gzip"})
            await exchange.raw(gzip.compress(events))
        else:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            body = b"%x\r\n" % len(events) + events + b"\r\n0\r\n\r\n"
            await exchange.raw(b"HTTP/1.1 100 Continue\r\n\r\n" + head + body)

    assert ask(server, framed).text == "B"


@pytest.mark.parametrize("kind", ["Text/Event-Stream", "text/event-stream;charset=UTF-8"])
def test_a_mark_of_byte_order_and_capitals_in_the_kind_of_content_cost_nothing(
    kind: str, server: FaultServer
) -> None:
    async def marked(exchange: Exchange) -> None:
        await exchange.head(200, {"Content-Type": kind})
        for piece in (b"\xef", b"\xbb\xbf", chunk("B"), chunk("", finish="stop"), DONE):
            await exchange.raw(piece)

    assert ask(server, marked).text == "B"

    async def whole(exchange: Exchange) -> None:
        content = {"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}
        await exchange.head(200, {"Content-Type": "Application/JSON"})
        await exchange.raw(b"\xef\xbb\xbf" + json.dumps(content).encode())

    assert ask(server, whole).text == "B"


def test_of_several_answers_the_first_counts(server: FaultServer) -> None:
    def choices(*contents: str) -> bytes:
        made = [{"index": i, "delta": {"content": text}} for i, text in enumerate(contents)]
        return b"data: " + json.dumps({"choices": made}).encode() + b"\n\n"

    ends = chunk("", finish="stop")
    assert ask(server, streaming(choices("A", "B"), choices(".", "!"), ends, DONE)).text == "A."


@pytest.mark.parametrize("tokens", [-1, True, 10**30, 3_000_000, "7", None, float("nan")])
def test_counts_that_cannot_be_are_no_counts(tokens: Any, server: FaultServer) -> None:
    usage = {"prompt_tokens": tokens, "completion_tokens": tokens}
    response = ask(
        server, streaming(chunk("A"), chunk("B", usage=usage), chunk("", finish="stop", usage=usage), DONE)
    )
    assert response.text == "AB"
    assert len(response.timing.itl_s) == 1
    assert response.usage is not None
    assert response.usage.prompt_tokens == (tokens if tokens == 3_000_000 else None)


def test_reasoning_is_kept_apart(server: FaultServer) -> None:
    piece = {"choices": [{"delta": {"reasoning_content": "A or B?"}, "finish_reason": None}]}
    data = b"data: " + json.dumps(piece).encode() + b"\n\n"
    response = ask(server, streaming(data, chunk("B"), chunk("", finish="stop"), DONE))
    assert (response.text, response.reasoning) == ("B", "A or B?")


def test_content_may_be_a_list_of_parts_and_halves_of_a_character(server: FaultServer) -> None:
    def raw(content: str) -> bytes:
        return f'data: {{"choices": [{{"delta": {{"content": {content}}}, "finish_reason": null}}]}}\n\n'.encode()

    pieces = [raw('[{"type": "text", "text": "B"}]'), raw(r'"\ud83d"'), raw(r'"\ude00"'), raw(r'"\ud83d"')]
    response = ask(server, streaming(*pieces, chunk("", finish="stop"), DONE))
    assert response.text == "B\U0001f600\ufffd"


def test_multi_byte_characters_may_be_split_over_segments(server: FaultServer) -> None:
    data = chunk("答案是B")
    text = 'data: {"choices": [{"delta": {"content": "答案是B"}, "finish_reason": "stop"}]}\n\n'.encode()
    response = ask(server, streaming(data, *(text[i : i + 1] for i in range(len(text))), DONE))
    assert response.text == "答案是B答案是B"


def test_a_server_that_ignores_stream_is_understood(server: FaultServer) -> None:
    body = {
        "choices": [{"message": {"content": "B"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3},
    }
    response = ask(server, lambda exchange: exchange.json(200, body))
    assert (response.text, response.finish_reason, response.error) == ("B", "stop", None)


def test_an_empty_text_with_a_finish_reason_is_an_answer(server: FaultServer) -> None:
    response = ask(server, streaming(chunk("", finish="stop"), DONE))
    assert (response.text, response.error) == ("", None)


async def reset_in_mid_stream(exchange: Exchange) -> None:
    await exchange.stream(chunk("B"))
    await asyncio.sleep(0.05)
    exchange.reset()


async def hang_after_head(exchange: Exchange) -> None:
    await exchange.head(200, EVENT_STREAM)
    await exchange.hang()


async def hang_between_chunks(exchange: Exchange) -> None:
    await exchange.stream(chunk("B"))
    await exchange.hang()


async def half_json(exchange: Exchange) -> None:
    await exchange.stream(chunk("B"), b'data: {"choices": [{"delta"\n\n', DONE)


async def broken_gzip(exchange: Exchange) -> None:
    await exchange.head(200, {**EVENT_STREAM, "Content-Encoding": "gzip"})
    await exchange.raw(gzip.compress(chunk("B"))[:10] + b"garbage" * 20)


async def short_body(exchange: Exchange) -> None:
    await exchange.head(200, {**EVENT_STREAM, "Content-Length": "99999"})
    await exchange.raw(chunk("B"))


HTML = b"<html><title>Login</title></html>"


async def web_page(exchange: Exchange) -> None:
    await exchange.head(200, {"Content-Type": "text/html"})
    await exchange.raw(HTML)


async def web_page_502(exchange: Exchange) -> None:
    await exchange.head(502, {"Content-Type": "text/html"})
    await exchange.raw(HTML)


async def web_page_as_stream(exchange: Exchange) -> None:
    await exchange.stream(HTML)


ERROR = b'data: {"error": {"message": "EngineCore died", "code": 500}}\n\n'


@pytest.mark.parametrize(
    ("script", "kind", "retryable", "words", "partial"),
    [
        (streaming(chunk("B"), ERROR, DONE), "server", True, "EngineCore died", "B"),
        (streaming(chunk("B")), "server", True, "without a finish reason", "B"),
        (streaming(chunk("B"), DONE), "server", True, "without a finish reason", "B"),
        (streaming(), "server", True, "before its first chunk", ""),
        (streaming(DONE), "server", True, "before its first chunk", ""),
        (reset_in_mid_stream, "server", True, "broke off", "B"),
        (short_body, "server", True, "broke off", "B"),
        (lambda exchange: exchange.hang(), "timeout", True, "first_token_s", ""),
        (hang_after_head, "timeout", True, "first_token_s", ""),
        (hang_between_chunks, "timeout", True, "between_chunks_s", "B"),
        (half_json, "protocol", True, "expected a JSON object", "B"),
        (broken_gzip, "protocol", True, "decompress", ""),
        (web_page, "protocol", False, "Login", ""),
        (web_page_502, "server", True, "Login", ""),
        (web_page_as_stream, "server", True, "before its first chunk", ""),
        (lambda e: e.json(200, {"choices": [{"message": {"content": "B"}}]}), "server", True, "finish", "B"),
        (lambda e: e.json(200, ["B"]), "protocol", True, "expected a JSON object", ""),
        (lambda e: e.json(200, {"error": {"message": "no"}}), "server", True, "no", ""),
        (lambda e: e.json(404, {"error": {"message": "The model `x` does not exist."}}), "configuration",
         False, "does not exist", ""),
    ],
)  # fmt: skip
def test_what_is_no_complete_answer_is_a_failure_that_keeps_the_partial_text(
    script: Behaviour, kind: str, retryable: bool, words: str, partial: str, server: FaultServer
) -> None:
    response = ask(server, script, timeouts=limits(**{words: 0.5}) if kind == "timeout" else limits())
    error = failure(response)
    assert (error.kind, error.retryable, response.text) == (kind, retryable, partial)
    assert words in f"{error.message} {error.hint}"


def test_an_endless_drip_ends_at_the_total_time(server: FaultServer) -> None:
    async def drip(exchange: Exchange) -> None:
        await exchange.head(200, EVENT_STREAM)
        while True:
            await exchange.raw(chunk("x"))
            await asyncio.sleep(0.02)

    error = failure(ask(server, drip, timeouts=limits(total_s=0.5)))
    assert error.kind == "timeout"
    assert "total_s" in (error.hint or "")


def test_a_stall_or_error_after_the_finish_reason_keeps_the_answer(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnieval.backends.chat.openai_chat._AFTER_FINISH_S", 0.2)

    async def hang_at_end(exchange: Exchange) -> None:
        await exchange.stream(chunk("B"), chunk("", finish="stop"))
        await exchange.hang()

    async def reset_at_end(exchange: Exchange) -> None:
        await exchange.stream(chunk("B"), chunk("", finish="stop"))
        await asyncio.sleep(0.05)
        exchange.reset()

    for script in (hang_at_end, reset_at_end, streaming(chunk("B", finish="stop"), ERROR, b"data: {\n\n")):
        response = ask(server, script)
        assert (response.text, response.error) == ("B", None)


def test_a_busy_server_is_tried_again_after_the_time_it_asks_for(server: FaultServer) -> None:
    script: Behaviour = lambda e: e.json(429, {"error": "slow down"}, **{"Retry-After": "3"})  # noqa: E731
    error = failure(ask(server, script))
    assert (error.kind, error.retryable, error.retry_after_s, error.status) == ("busy", True, 3.0, 429)


def test_nothing_listening_is_a_connection_failure() -> None:
    with FaultServer() as gone:
        pass
    error = failure(ask(gone))
    assert (error.kind, error.retryable) == ("connection", True)


def test_cancelling_passes_through_and_closes_the_connection(server: FaultServer) -> None:
    asked = asyncio.Event()

    async def hang(exchange: Exchange) -> None:
        await exchange.stream(chunk("B"))
        asked.set()
        await exchange.hang()

    server.script = hang

    async def cancel() -> None:
        chat = backend(server.base_url, timeouts=TimeoutConfig())
        task = asyncio.create_task(chat.generate(request()))
        await asyncio.to_thread(server.wait_for, asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(server.wait_until_idle)
        await chat.close()

    asyncio.run(cancel())


def test_the_key_is_sent_and_never_repeated(server: FaultServer) -> None:
    response = ask(server, lambda e: e.json(401, {"error": {"message": f"wrong key {KEY}"}}))
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(response)
    echoed = ask(server, streaming(b'data: {"error": {"message": "' + KEY.encode() + b'"}}\n\n'))
    assert KEY not in repr(echoed)
    assert KEY not in repr(BackendContext(api_key=KEY))


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(server).text == "B"


def check(base_url: str, model: str | None = "fake") -> ServerFacts:
    async def once() -> ServerFacts:
        chat = backend(base_url, model=model)
        try:
            return await chat.check()
        finally:
            await chat.close()

    return asyncio.run(once())


def test_check_tells_what_the_server_is(server: FaultServer) -> None:
    facts = check(server.base_url)
    assert (facts.model, facts.max_model_len, facts.version) == ("fake", 4096, "0.0-fake")


def test_check_takes_the_only_model_and_asks_to_choose_among_several(server: FaultServer) -> None:
    assert check(server.base_url, model=None).model == "fake"
    server.models.append({"id": "other"})
    with pytest.raises(BackendError, match="give --model"):
        check(server.base_url, model=None)
    with pytest.raises(BackendError, match="did you mean 'fake'"):
        check(server.base_url, model="fakee")


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_drip_of_what_a_server_says_of_itself_has_an_end(
    first: bytes, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnieval.backends.http.description._CHECK_S", 0.3)
    monkeypatch.setattr("omnieval.backends.http.description._ALIVE_S", 0.3)

    async def drip(exchange: Exchange) -> None:
        await exchange.raw(first)
        for _ in range(1000):
            await exchange.raw(b"H")
            await asyncio.sleep(0.05)

    server.beside = drip
    with pytest.raises(BackendError, match=r"no whole answer in 0\.3 s"):
        check(server.base_url)

    async def alive() -> bool:
        chat = backend(server.base_url)
        try:
            return await chat.alive()
        finally:
            await chat.close()

    assert not asyncio.run(alive())


def test_a_refusal_is_not_read_to_an_end_that_never_comes(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnieval.backends.http.short_answers.MOST_BYTES", 1000)

    async def endless(exchange: Exchange) -> None:
        await exchange.head(500, {})
        while True:
            await exchange.raw(b"CUDA error " * 1000)

    found = failure(ask(server, endless))
    assert found.kind == "server" and "CUDA error" in found.message


def test_check_names_a_wrong_address(server: FaultServer) -> None:
    with pytest.raises(BackendError, match="ends with /v1"):
        check(server.base_url.removesuffix("/v1"))
    with FaultServer() as gone:
        pass
    with pytest.raises(BackendError, match="no connection"):
        check(gone.base_url)


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:99999/v1", "http://127.0.0.1:-1/v1", "http://127.0.0.1:x/v1", "http://a b/v1",
     "http://127.0.0.1/v1\nX: y", "http://xn--/v1", "http://a\u200bb/v1", "http://[::1/v1"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises((ConfigError, ValidationError)):
        backend(address)
    refused = omnieval("check", "daily-omni", "--sample", "--base-url", address)
    assert refused.returncode == 2 and "Traceback" not in refused.stderr, refused.stderr
    assert "base" in refused.stderr


@pytest.mark.parametrize("key", ["schl\u00fcssel", "a\x01b", "a\r\nX: y"])
def test_a_key_that_cannot_be_sent_is_named_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as raised:
        create(config("http://127.0.0.1:9/v1"), BackendContext(lambda part: "", api_key=key))
    assert key not in str(raised.value)


def test_a_line_end_behind_the_key_is_no_part_of_it(server: FaultServer) -> None:
    async def once() -> None:
        chat = create(config(server.base_url), BackendContext(lambda part: "", api_key=KEY + "\n"))
        await chat.generate(request())
        await chat.close()

    asyncio.run(once())
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_base_url_is_required() -> None:
    with pytest.raises(ConfigError, match="--base-url"):
        create(config(None), BackendContext(media_url=lambda part: ""))
