"""Several servers of one model share the work; a bad one is left alone until it is well."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from omnieval import api
from omnieval.backends.replicas import Replicas
from omnieval.errors import BackendError, ConfigError
from omnieval.types import Capabilities, Failure, Generation, Request, Response, ServerFacts
from tests.command import lines, omnieval
from tests.conftest import answer_by_prompt
from tests.faults.server import Behaviour, Exchange, FaultServer, chunk
from tests.faults.test_matrix import TIMES, page, question_set, refusal, streaming


class Server:
    """A backend that can be taken away, and that answers only when it is told to."""

    capabilities = Capabilities(needs_transport=True)

    def __init__(self, model: str = "m", *, waits: bool = False) -> None:
        self.facts = ServerFacts("s", model=model)
        self.there = True
        self.asked: list[str] = []
        self.go = asyncio.Event()
        if not waits:
            self.go.set()

    async def check(self) -> ServerFacts:
        return self.facts

    async def alive(self) -> bool:
        return self.there

    async def generate(self, request: Request) -> Response:
        self.asked.append(request.sample_id)
        await asyncio.sleep(0)
        await self.go.wait()
        if not self.there:
            return Response(request.sample_id, error=Failure("connection", "gone", retryable=True))
        return Response(request.sample_id, text="A", finish_reason="stop")

    async def close(self) -> None:
        return


def request(name: str, cluster: str = "") -> Request:
    return Request(name, (), Generation(), cluster=cluster)


def replicas(*servers: Server) -> Replicas:
    return Replicas([(f"http://s{i}/v1", server) for i, server in enumerate(servers)])


def test_a_request_goes_where_it_waits_least() -> None:
    async def play() -> list[int]:
        servers = [Server(waits=True), Server(waits=True)]
        both = replicas(*servers)
        tasks = [asyncio.create_task(both.generate(request(f"q{i}"))) for i in range(6)]
        await asyncio.sleep(0)
        counts = [len(server.asked) for server in servers]
        for server in servers:
            server.go.set()
        await asyncio.gather(*tasks)
        return counts

    assert asyncio.run(play()) == [3, 3]


def test_a_video_stays_with_its_server_until_that_one_is_much_busier() -> None:
    async def play() -> tuple[list[int], list[int]]:
        servers = [Server(), Server()]
        both = replicas(*servers)
        for i in range(6):
            await both.generate(request(f"v{i}", "video"))
        calm = [len(server.asked) for server in servers]
        for server in servers:
            server.go.clear()
        tasks = [asyncio.create_task(both.generate(request(f"w{i}", "video"))) for i in range(8)]
        await asyncio.sleep(0)
        busy = [len(server.asked) - before for server, before in zip(servers, calm, strict=True)]
        for server in servers:
            server.go.set()
        await asyncio.gather(*tasks)
        return calm, busy

    calm, busy = asyncio.run(play())
    assert sorted(calm) == [0, 6]
    assert min(busy) >= 2


def test_a_server_that_is_gone_gets_nothing_until_it_answers_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnieval.backends.retry.FIRST_PAUSE_S", 0.01)

    async def play() -> tuple[int, int, int]:
        good, bad = Server(), Server()
        both = replicas(good, bad)
        bad.there = False
        while not bad.asked:
            await asyncio.gather(*(both.generate(request(f"q{i}")) for i in range(2)))
        first = len(bad.asked)
        for i in range(20):
            assert (await both.generate(request(f"r{i}"))).answered
        meanwhile = len(bad.asked)
        bad.there = True
        await asyncio.sleep(0.1)
        await asyncio.gather(*(both.generate(request(f"s{i}")) for i in range(4)))
        after = len(bad.asked)
        await both.close()
        return first, meanwhile, after

    first, meanwhile, after = asyncio.run(play())
    assert first == meanwhile < after


def test_replicas_that_are_not_one_deployment_are_refused() -> None:
    with pytest.raises(BackendError, match=r"http://s1/v1 has model 'other', but http://s0/v1 'm'"):
        asyncio.run(replicas(Server(), Server("other")).check())
    with pytest.raises(ConfigError, match="give that one too"):
        api.run("daily-omni", sample=True, backend="openai-chat", replicas=["http://127.0.0.1:9/v1"])


def test_a_run_over_two_servers_outlives_one_of_them_and_tells_who_answered(
    cache_dir: Path, tmp_path: Path
) -> None:
    asked: Counter[str] = Counter()

    async def dies_after_three(exchange: Exchange) -> None:
        asked["dying"] += 1
        if asked["dying"] > 3:
            exchange.reset()
        else:
            await answer_by_prompt(exchange)

    out = tmp_path / "run"
    with FaultServer(answer_by_prompt) as well, FaultServer(dies_after_three) as dying:
        done = omnieval(
            "run", "daily-omni", "--sample", "--base-url", well.base_url, "--base-url", dying.base_url,
            "--model", "fake", "--cache-dir", cache_dir, "--out", out, "--concurrency", "4",
            "--set", "retry.first_wait_s=0.01",
        )  # fmt: skip
        urls = {well.base_url, dying.base_url}
    assert done.returncode == 0, done.stdout + done.stderr
    answered: dict[str, set[str]] = defaultdict(set)
    for line in lines(out / "responses.jsonl"):
        if line["error"] is None:
            answered[line["server"]].add(line["sample_id"])
    assert set(answered) == urls
    assert sum(map(len, answered.values())) == 23
    assert len(answered[dying.base_url]) <= 3
    assert "By server" in done.stdout


@pytest.mark.parametrize(
    "bad",
    [
        refusal(404, "The model `fake` does not exist."),
        refusal(500, "Cannot load local files without --allowed-local-media-path."),
        refusal(400, "weird"),
        refusal(429, "slow down"),
        refusal(503, "no server is available"),
        page(200),
        streaming(chunk("B")),
    ],
)
def test_a_server_that_refuses_at_once_what_others_answer_does_not_swallow_the_run(
    bad: Behaviour, tmp_path: Path
) -> None:
    async def one_token_only(exchange: Exchange) -> None:
        await (exchange.answer("A") if exchange.body["max_tokens"] == 1 else bad(exchange))

    async def well(exchange: Exchange) -> None:
        await asyncio.sleep(0.01)
        await exchange.answer("A")

    with FaultServer(well) as first, FaultServer(one_token_only) as second, FaultServer(well) as third:
        done = api.run(
            "mcq", data=str(question_set(tmp_path / "data", ["?"] * 60)), base_url=first.base_url,
            replicas=[second.base_url, third.base_url], out=tmp_path / "run", preflight="never",
            timeouts=TIMES, retry={"first_wait_s": 0.01},
        )  # fmt: skip
        failed_by = Counter(r.server for r in done.responses() if not r.answered)
    last = done.last_responses()
    assert len(last) == 60 and all(response.answered for response in last.values())
    assert set(failed_by) == {second.base_url} and failed_by[second.base_url] < 20
    assert all(response.attempt <= 3 for response in done.responses())


def test_what_two_servers_refuse_is_refused(tmp_path: Path) -> None:
    async def undecodable(exchange: Exchange) -> None:
        text = exchange.body["messages"][-1]["content"][-1]["text"]
        found = re.search(r"\[\[(.+)\]\]", text)
        if found and found[1] == "broken":
            await exchange.json(400, {"error": {"message": "Failed to load image"}})
        else:
            await exchange.answer("A")

    with FaultServer(undecodable) as first, FaultServer(undecodable) as second:
        done = api.run(
            "mcq", data=str(question_set(tmp_path / "data", ["?", "broken", "?"])), base_url=first.base_url,
            replicas=[second.base_url], out=tmp_path / "run", preflight="never",
        )  # fmt: skip
        urls = {first.base_url, second.base_url}
    tries = [response for response in done.responses() if response.sample_id == "q1"]
    assert {response.server for response in tries} == urls and len(tries) == 2
    assert [response.error and response.error.retryable for response in tries] == [True, False]
    assert sum(response.answered for response in done.last_responses().values()) == 2


def test_servers_that_all_refuse_end_the_run(tmp_path: Path) -> None:
    no_model = refusal(404, "The model `fake` does not exist.")
    with FaultServer(no_model) as first, FaultServer(no_model) as second:
        done = api.run(
            "mcq", data=str(question_set(tmp_path / "data", ["?"] * 60)), base_url=first.base_url,
            replicas=[second.base_url], out=tmp_path / "run", preflight="never",
        )  # fmt: skip
    assert [event["reason"] for event in done.events() if event["event"] == "stopped"] == ["refused"]
    assert len(done.last_responses()) < 30
