"""Every kind of failure at every moment: what it is called, whether it is tried again, and what is left of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.errors import BackendError
from omnieval.runlog import Run
from omnieval.types import Response
from tests.command import lines
from tests.faults.server import DONE, EVENT_STREAM, Behaviour, Exchange, FaultServer, chunk

HTML = b"<html><title>Login</title></html>"
TIMES = {"connect_s": 2, "first_token_s": 1.0, "between_chunks_s": 0.6, "total_s": 1.5}
DRIP_S = 0.1


@dataclass(frozen=True)
class Fault:
    """words: of the message or the next step. partial: the text that had come before."""

    play: Behaviour
    kind: str
    retryable: bool
    words: str
    partial: str = ""


def refusal(status: int, message: str, **headers: str) -> Behaviour:
    return lambda exchange: exchange.json(status, {"error": {"message": message}}, **headers)


def streaming(*pieces: bytes) -> Behaviour:
    return lambda exchange: exchange.stream(*pieces)


def page(status: int) -> Behaviour:
    async def play(exchange: Exchange) -> None:
        await exchange.head(status, {"Content-Type": "text/html"})
        await exchange.raw(HTML)

    return play


def then_reset(*pieces: bytes, head: bool = True) -> Behaviour:
    async def play(exchange: Exchange) -> None:
        if head:
            await exchange.stream(*pieces)
            await asyncio.sleep(0.05)
        exchange.reset()

    return play


def then_hang(*pieces: bytes, head: bool = True) -> Behaviour:
    async def play(exchange: Exchange) -> None:
        if head:
            await exchange.stream(*pieces)
        await exchange.hang()

    return play


def drip(make: Callable[[int], bytes], *, head: bool = True) -> Behaviour:
    """A little at a time for ever, so that no single wait is long."""

    async def play(exchange: Exchange) -> None:
        if head:
            await exchange.head(200, EVENT_STREAM)
        for i in range(1000):
            await exchange.raw(make(i))
            await asyncio.sleep(DRIP_S)

    return play


def declared(length: int, *pieces: bytes, **headers: str) -> Behaviour:
    async def play(exchange: Exchange) -> None:
        await exchange.head(200, {**EVENT_STREAM, "Content-Length": str(length), **headers})
        for piece in pieces:
            await exchange.raw(piece)

    return play


def zipped(content: bytes) -> Behaviour:
    async def play(exchange: Exchange) -> None:
        await exchange.head(200, {**EVENT_STREAM, "Content-Encoding": "gzip"})
        await exchange.raw(content)

    return play


WHOLE = chunk("A") + chunk("", finish="stop") + DONE
SLOW_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Slow: " + b"x" * 1000
ENGINE = b'data: {"error": {"message": "EngineCore encountered an issue", "code": 500}}\n\n'

FAULTS: dict[str, Fault] = {
    # after accept, before the head
    "reset before the head": Fault(then_reset(head=False), "connection", True, "is the server up"),
    "closed before the head": Fault(lambda e: asyncio.sleep(0), "connection", True, "is the server up"),
    "silence before the head": Fault(then_hang(head=False), "timeout", True, "first_token_s"),
    "a drip of the head": Fault(drip(lambda i: SLOW_HEAD[i : i + 1], head=False), "timeout", True, "first_token_s"),
    "not HTTP": Fault(lambda e: e.raw(b"SSH-2.0-OpenSSH_9\r\n\r\n"), "protocol", False, "no HTTP server"),
    # after the head, before the first chunk
    "reset after the head": Fault(then_reset(), "server", True, "broke off"),
    "end after the head": Fault(streaming(), "server", True, "before its first chunk"),
    "silence after the head": Fault(then_hang(), "timeout", True, "first_token_s"),
    "only comments": Fault(drip(lambda i: b": ping\n\n"), "timeout", True, "first_token_s"),
    "HTML as 200": Fault(page(200), "protocol", False, "Login"),
    "HTML as 502": Fault(page(502), "server", True, "Login"),
    "HTML as a stream": Fault(streaming(HTML), "server", True, "before its first chunk"),
    "half a whole answer": Fault(
        lambda e: e.json(200, '{"choices": [{"mess'), "protocol", True, "expected a JSON object"),
    "no list of choices": Fault(lambda e: e.json(200, ["B"]), "protocol", True, "expected a JSON object"),
    "gzip that is none": Fault(zipped(b"plain" * 9), "protocol", True, "decompress"),
    # after the first chunk
    "reset after a chunk": Fault(then_reset(chunk("B")), "server", True, "broke off", "B"),
    "end after a chunk": Fault(streaming(chunk("B")), "server", True, "without a finish reason", "B"),
    "silence after a chunk": Fault(then_hang(chunk("B")), "timeout", True, "between_chunks_s", "B"),
    "a drip within a chunk": Fault(
        drip(lambda i: chunk("B") if i == 0 else b"data: {"[i % 7 :][:1]), "timeout", True, "between_chunks_s", "B"),
    "comments after a chunk": Fault(
        drip(lambda i: b": ping\n\n" if i else chunk("B")), "timeout", True, "between_chunks_s", "B"),
    "a drip of chunks": Fault(drip(lambda i: chunk("B" if i == 0 else "")), "timeout", True, "total_s", "B"),
    "half JSON": Fault(streaming(chunk("B"), b'data: {"choices": [{"del\n\n'), "protocol", True, "damaged", "B"),
    "error in the stream": Fault(streaming(chunk("B"), ENGINE, DONE), "server", True, "EngineCore", "B"),
    "HTML after a chunk": Fault(streaming(chunk("B"), HTML), "server", True, "without a finish reason", "B"),
    "too long a length": Fault(declared(99_999, chunk("B")), "server", True, "broke off", "B"),
    "too short a length": Fault(
        declared(len(chunk("B")), chunk("B"), WHOLE), "server", True, "without a finish reason", "B"),
    "gzip in gzip": Fault(
        declared(
            len(gzip.compress(gzip.compress(WHOLE))), gzip.compress(gzip.compress(WHOLE)),
            **{"Content-Encoding": "gzip, gzip"}),
        "protocol", True, "more than once"),
    "an error by another name": Fault(
        streaming(chunk("B"), b'event: error\ndata: {"object": "error", "message": "KV cache exhausted"}\n\n', DONE),
        "server", True, "KV cache exhausted", "B"),
    "an error as 200": Fault(
        lambda e: e.json(200, {"code": 1001, "msg": "model overloaded", "data": None}), "busy", True, "model overloaded"),
    "an empty object as 200": Fault(lambda e: e.json(200, {}), "server", True, "error in the answer: {}"),
    "no content": Fault(lambda e: e.head(204, {}), "protocol", False, "HTTP 204"),
    "half a character": Fault(
        streaming(chunk("B"), b'data: {"error": {"message": "bad \\ud800 luck"}}\n\n'), "server", True, "bad \ufffd luck", "B"),
    "JSON without bottom": Fault(
        streaming(chunk("B"), b"data: " + b'{"a":' * 100_000 + b"\n\n"), "protocol", True, "expected a JSON object", "B"),
    "refused without bottom": Fault(
        lambda e: e.json(400, json.loads('{"error":' * 900 + "1" + "}" * 900)), "sample", False, "log"),
    "gzip cut short": Fault(zipped(gzip.compress(WHOLE)[:30]), "server", True, "before its first chunk"),
    # before [DONE]
    "[DONE] without finish": Fault(streaming(chunk("B"), DONE), "server", True, "without a finish reason", "B"),
    "given up": Fault(streaming(chunk("B"), chunk("", finish="abort"), DONE), "server", True, "abort", "B"),
    "failed within": Fault(streaming(chunk("B"), chunk("", finish="error"), DONE), "server", True, "error", "B"),
    "filtered": Fault(
        streaming(chunk("B"), chunk("", finish="content_filter"), DONE), "sample", False, "content filter", "B"),
    # refusals
    "429": Fault(refusal(429, "slow down"), "busy", True, "lower --concurrency"),
    "429 with seconds": Fault(refusal(429, "no", **{"Retry-After": "0"}), "busy", True, "--concurrency"),
    "429 with a date": Fault(
        refusal(429, "no", **{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), "busy", True, "--concurrency"),
    "429 with an absurd time": Fault(
        refusal(429, "no", **{"Retry-After": "9e99"}), "busy", True, "--concurrency"),
    "429 with nonsense": Fault(refusal(429, "no", **{"Retry-After": "soon"}), "busy", True, "--concurrency"),
    "503": Fault(refusal(503, "loading"), "busy", True, "not ready"),
    "resource exhausted": Fault(refusal(400, "resource_exhausted"), "busy", True, "--concurrency"),
    "lost cache": Fault(
        refusal(500, "Expected a cached item for mm_hash='3f'"), "server", True, "--mm-processor-cache-gb 0"
    ),
    "dead engine": Fault(refusal(500, "EngineCore encountered an issue"), "server", True, "restart it"),
    "no such model": Fault(
        refusal(404, "The model `x` does not exist. Valid aliases: fake"), "configuration", False, "--model"),
    "media path": Fault(
        refusal(500, "Cannot load local files without --allowed-local-media-path"), "configuration", False,
        "--allowed-local-media-path"),
    "missing file": Fault(
        refusal(500, "[Errno 2] No such file or directory: '/f.jpg'"), "configuration", False, "inline"),
    "too many parts": Fault(
        refusal(400, "At most 4 image(s) may be provided in one prompt."), "configuration", False,
        "--limit-mm-per-prompt"),
    "processor arguments": Fault(
        refusal(400, "mm_processor_kwargs is not allowed"), "configuration", False, "--trust-request-mm-kwargs"),
    "too long": Fault(
        refusal(400, "maximum context length is 4096 tokens"), "configuration", False, "--max-model-len"),
    "undecodable": Fault(refusal(400, "Failed to load image"), "sample", False, "look at the files"),
    "moderation": Fault(refusal(400, "blocked by moderation"), "sample", False, "content filter"),
}  # fmt: skip


class Player:
    """Plays the fault that a question names, for its first `times` tries; answers A from then on."""

    def __init__(self, times: int) -> None:
        self._times = times
        self.tries: Counter[str] = Counter()

    async def __call__(self, exchange: Exchange) -> None:
        found = re.search(r"\[\[(.+)\]\]", exchange.body["messages"][-1]["content"][-1]["text"])
        name = found.group(1) if found else ""
        self.tries[name] += 1
        if name in FAULTS and self.tries[name] <= self._times:
            await FAULTS[name].play(exchange)
        else:
            await exchange.answer("A")


EVERYTHING = [*FAULTS, "an answer"]


def question_set(folder: Path, questions: list[str]) -> Path:
    folder.mkdir()
    rows = [
        {"id": f"q{i}", "question": f"Which? [[{question}]]", "options": ["a", "b"], "answer": "A"}
        for i, question in enumerate(questions)
    ]
    (folder / "qa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "qa.jsonl"


def run(folder: Path, player: Behaviour, questions: list[str], **settings: Any) -> Run:
    retry = {"attempts": 2, "first_wait_s": 0.01, "max_wait_s": 0.02, "stop_after": 0, "wait_for_server_s": 0}
    settings = {"preflight": "never", "concurrency": 8, "retry": retry, "timeouts": TIMES, **settings}
    with FaultServer(player) as server:
        return api.run(
            "mcq", data=str(question_set(folder / "data", questions)), base_url=server.base_url,
            out=folder / "run", **settings,
        )  # fmt: skip


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Response]]:
    """The tries of each fault that is played once. A server that has answered does speak HTTP, so that
    whether it does is asked before anything else."""
    alone, others = ["not HTTP"], [name for name in FAULTS if name != "not HTTP"]
    return tries(run(tmp_path_factory.mktemp("alone"), Player(1), alone), alone) | tries(
        run(tmp_path_factory.mktemp("once"), Player(1), others), others
    )


@pytest.fixture(scope="module")
def always(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in which every fault stays."""
    return run(tmp_path_factory.mktemp("always"), Player(10**6), EVERYTHING)


def tries(played: Run, names: list[str]) -> dict[str, list[Response]]:
    """Those of each question, by its name."""
    found: dict[str, list[Response]] = {}
    for response in played.responses():
        found.setdefault(names[int(response.sample_id[1:])], []).append(response)
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_name_and_what_came_before_it_is_kept_but_no_answer(
    name: str, once: dict[str, list[Response]]
) -> None:
    fault, first = FAULTS[name], once[name][0]
    assert first.error is not None and not first.answered
    assert (first.error.kind, first.error.retryable) == (fault.kind, fault.retryable), first.error
    assert first.error.message and first.error.hint, "a message and a next step"
    assert fault.words in f"{first.error.message} {first.error.hint}"
    assert first.text == fault.partial


@pytest.mark.parametrize("name", FAULTS)
def test_what_can_heal_is_tried_again_and_what_cannot_is_not(
    name: str, once: dict[str, list[Response]]
) -> None:
    fault, last = FAULTS[name], once[name][-1]
    assert [response.attempt for response in once[name]] == ([1, 2] if fault.retryable else [1])
    assert last.answered == fault.retryable
    assert last.text == ("A" if fault.retryable else fault.partial)


def test_every_fault_that_stays_has_its_line_in_the_report(always: Run) -> None:
    kinds = Counter(fault.kind for fault in FAULTS.values())
    report = always.report()
    assert {row["kind"]: row["count"] for row in report["failures"]} == kinds
    assert sum(line["count"] for line in report["accounting"]) == len(FAULTS) + 1
    assert report["official"] == {**report["official"], "correct": 1, "total": 1}
    page = (always.directory / "report.md").read_text()
    by_kind = {row["kind"]: row for row in report["failures"]}
    for kind, count in kinds.items():
        assert f"| failed: {kind} | {count} |" in page
        assert by_kind[kind]["hint"], kind
        assert len(by_kind[kind]["others"]) == min(2, by_kind[kind]["reasons"] - 1)
    found = tries(always, EVERYTHING)
    assert {len(of_one) for of_one in found.values()} == {1, 2}
    assert not any(response.answered for name in FAULTS for response in found[name])


SOME = [
    "reset before the head",
    "silence after the head",
    "end after a chunk",
    "half JSON",
    "429",
    "dead engine",
]


@pytest.mark.parametrize("name", SOME)
def test_a_hiccup_in_the_preflight_does_not_refuse_a_deployment(name: str, tmp_path: Path) -> None:
    asked: list[str] = []

    async def first_fails(exchange: Exchange) -> None:
        asked.append(exchange.path)
        await (FAULTS[name].play(exchange) if len(asked) == 1 else exchange.answer("A"))

    done = run(tmp_path, first_fails, ["one", "two"], preflight="always")
    assert all(response.answered for response in done.last_responses().values())


@pytest.mark.parametrize("name", [*SOME, "no such model", "too long", "HTML as 200"])
def test_a_fault_that_stays_in_the_preflight_ends_the_run_before_it_begins(name: str, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="nothing was asked yet") as raised:
        run(tmp_path, FAULTS[name].play, ["one", "two"], preflight="always")
    assert FAULTS[name].words in str(raised.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", SOME)
def test_a_fault_in_the_warm_up_is_noted_and_costs_no_sample(name: str, tmp_path: Path) -> None:
    asked: list[str] = []

    async def first_fails(exchange: Exchange) -> None:
        asked.append(exchange.path)
        await (FAULTS[name].play(exchange) if len(asked) == 1 else exchange.answer("A"))

    done = run(tmp_path, first_fails, ["one", "two", "three"], warmup=2)
    first, second = (event for event in done.events() if event["event"] == "warmup")
    assert first["error"] and second["error"] is None
    assert len(lines(done.directory / "responses.jsonl")) == 3
    assert all(response.answered for response in done.last_responses().values())


@pytest.mark.parametrize("name", SOME)
def test_a_fault_in_the_last_request_is_tried_again_as_any_other(name: str, tmp_path: Path) -> None:
    done = run(tmp_path, Player(1), ["an answer", "another", name], concurrency=1)
    assert [response.attempt for response in done.responses()] == [1, 1, 1, 2]
    assert all(response.answered for response in done.last_responses().values())
    assert done.report()["complete"]
