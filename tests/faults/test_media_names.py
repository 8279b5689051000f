"""Media that a server keeps by name are sent once, and again when it says that it has lost them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from tests.faults.server import DONE, Exchange, FaultServer, chunk

MISS = "Cache miss for image at index 0 but data is not provided."


@dataclass
class Keeper:
    """A server as vLLM 0.32 is: it knows the names that came with data. `most`: how many it keeps, the newest.

    ignores: the kind of which it takes a part without data for none. refuses: it knows no name at all.
    """

    most: int = 1000
    ignores: str = ""
    refuses: bool = False
    counts: bool = True
    held: dict[str, None] = field(default_factory=dict)
    misses: int = 0

    async def chat(self, exchange: Exchange) -> None:
        parts = [part for part in exchange.body["messages"][-1]["content"] if part["type"] != "text"]
        there = 0
        for part in parts:
            if part[part["type"]] is None:
                ignored = part["type"] == self.ignores
                if self.refuses or (part["uuid"] not in self.held and not ignored):
                    self.misses += 1
                    await exchange.json(400, {"error": {"message": MISS, "code": 400}})
                    return
                there += not ignored
            else:
                there += 1
                if "uuid" in part:
                    self.held[part["uuid"]] = None
        while len(self.held) > self.most:
            del self.held[next(iter(self.held))]
        usage = {"prompt_tokens": 5 + 16 * there, "completion_tokens": 1} if self.counts else None
        fields = {"usage": usage} if usage else {}
        await exchange.stream(chunk("A", **fields), chunk("", finish="stop", **fields), DONE)

    async def tokenize(self, exchange: Exchange) -> None:
        await exchange.json(404, {"detail": "Not Found"})


def run(
    keeper: Keeper, cache_dir: Path, out: Path, **settings: Any
) -> tuple[api.Run, list[list[dict[str, Any]]]]:
    """The finished run, and the media parts of each of its requests, those of the preflight apart, in order."""
    with FaultServer(keeper.chat) as server:
        server.tokenize = keeper.tokenize
        done = api.run(
            "daily-omni", sample=True, base_url=server.base_url, cache_dir=str(cache_dir), out=out,
            **{"preflight": "always", "concurrency": 1, **settings},
        )  # fmt: skip
        bodies = [body for body in server.requests if body["max_tokens"] == 128]
    contents = [body["messages"][-1]["content"] for body in bodies]
    return done, [[part for part in content if part["type"] != "text"] for content in contents]


def by_name(done: api.Run) -> dict[str, int]:
    event = next(event for event in done.events() if event["event"] == "media_by_name")
    return {name: event[name] for name in ("named", "carried", "missed")}


def test_each_medium_is_sent_once(cache_dir: Path, tmp_path: Path) -> None:
    keeper = Keeper()
    done, requests = run(keeper, cache_dir, tmp_path / "run")
    assert all(response.answered for response in done.last_responses().values())
    carriers: dict[str, set[int]] = defaultdict(set)
    for number, parts in enumerate(requests):
        for part in parts:
            if part[part["type"]] is not None:
                carriers[part["uuid"]].add(number)
    assert carriers and all(len(numbers) == 1 for numbers in carriers.values())
    counts = by_name(done)
    assert keeper.misses == 2  # the names that the preflight made up, of a picture and of a sound
    assert counts["missed"] == 0 and counts["named"] > counts["carried"] > 0
    assert counts["named"] + counts["carried"] == sum(map(len, requests))
    note = next(note for note in api.load_report(done).notes if "went by name" in note)
    assert note.startswith(f"{counts['named']} of ")


@pytest.mark.parametrize("most", [1, 12])
def test_what_the_server_has_lost_is_sent_again_and_costs_no_try(
    most: int, cache_dir: Path, tmp_path: Path
) -> None:
    keeper = Keeper(most=most)
    done, _ = run(keeper, cache_dir, tmp_path / "run")
    assert keeper.misses > 2 and by_name(done)["missed"] > 0
    assert all(response.answered and response.attempt == 1 for response in done.last_responses().values())
    assert len(list(done.responses())) == len(done.last_responses())
    assert any("in the place of names" in note for note in api.load_report(done).notes)


def test_a_refusal_that_is_none_of_names_loses_no_name(cache_dir: Path, tmp_path: Path) -> None:
    keeper, refused = Keeper(), 0

    async def refuses_some(exchange: Exchange) -> None:
        nonlocal refused
        parts = exchange.body["messages"][-1]["content"]
        if exchange.body["max_tokens"] == 128 and len(keeper.held) > 6 and refused < 2:
            refused += 1
            await exchange.json(400, {"error": {"message": "blocked by moderation"}})
        elif any(part["type"] != "text" for part in parts):
            await keeper.chat(exchange)
        else:
            await exchange.stream(chunk("A", usage={"prompt_tokens": 5}), chunk("", finish="stop"), DONE)

    with FaultServer(refuses_some) as server:
        done = api.run(
            "daily-omni", sample=True, base_url=server.base_url, cache_dir=str(cache_dir),
            out=tmp_path / "run", preflight="always", concurrency=1,
        )  # fmt: skip
    assert sum(not response.answered for response in done.last_responses().values()) == 1
    assert by_name(done)["missed"] == 0 and by_name(done)["named"] > 0
    assert keeper.misses == 2


def test_a_server_that_failed_is_sent_media_again_before_it_must_ask(cache_dir: Path, tmp_path: Path) -> None:
    keeper, crashes = Keeper(), 0

    async def crashes_once(exchange: Exchange) -> None:
        nonlocal crashes
        named = any(part[part["type"]] is None for part in exchange.body["messages"][-1]["content"])
        if exchange.body["max_tokens"] == 128 and named and not crashes:
            crashes += 1
            keeper.held.clear()
            await exchange.json(500, {"error": {"message": "KeyError"}})
        else:
            await keeper.chat(exchange)

    with FaultServer(crashes_once) as server:
        done = api.run(
            "daily-omni", sample=True, base_url=server.base_url, cache_dir=str(cache_dir),
            out=tmp_path / "run", preflight="always", concurrency=1, retry={"first_wait_s": 0.01},
        )  # fmt: skip
    assert crashes == 1 and keeper.misses == 2
    assert all(response.answered for response in done.last_responses().values())


@pytest.mark.parametrize(
    ("keeper", "settings"),
    [
        (Keeper(refuses=True), {}),
        (Keeper(counts=False), {}),
        (Keeper(), {"preflight": "never"}),
        (Keeper(), {"transport": {"by_name": "never"}}),
    ],
    ids=["refuses names", "counts nothing", "no preflight", "never"],
)
def test_without_proof_every_request_carries_its_media(
    keeper: Keeper, settings: dict[str, Any], cache_dir: Path, tmp_path: Path
) -> None:
    done, requests = run(keeper, cache_dir, tmp_path / "run", **settings)
    assert requests and all(part[part["type"]] and "uuid" not in part for parts in requests for part in parts)
    assert by_name(done)["named"] == 0


@pytest.mark.parametrize("kind", ["image_url", "audio_url"])
def test_a_kind_that_the_server_drops_without_data_is_carried(
    kind: str, cache_dir: Path, tmp_path: Path
) -> None:
    done, requests = run(Keeper(ignores=kind), cache_dir, tmp_path / "run")
    media = [part for parts in requests for part in parts]
    assert all(part[kind] for part in media if part["type"] == kind)
    assert any(part[part["type"]] is None for part in media)
    assert by_name(done)["missed"] == 0


def test_each_replica_has_its_own_names(cache_dir: Path, tmp_path: Path) -> None:
    keepers = [Keeper(), Keeper()]
    with FaultServer(keepers[0].chat) as first, FaultServer(keepers[1].chat) as second:
        done = api.run(
            "daily-omni", sample=True, base_url=first.base_url, replicas=[second.base_url], concurrency=4,
            cache_dir=str(cache_dir), out=tmp_path / "run", preflight="always",
        )  # fmt: skip
    assert all(response.answered for response in done.last_responses().values())
    assert all(keeper.held and keeper.misses == 2 for keeper in keepers)
    assert by_name(done)["missed"] == 0


def test_what_the_preflight_found_amiss_stands_in_the_report(cache_dir: Path, tmp_path: Path) -> None:
    texts = iter(range(10_000))

    async def differs(exchange: Exchange) -> None:
        await exchange.answer(f"A. {next(texts)}")

    with FaultServer(differs) as server:
        done = api.run(
            "daily-omni", sample=True, base_url=server.base_url, cache_dir=str(cache_dir),
            out=tmp_path / "run", preflight="always",
        )  # fmt: skip
    note = next(note for note in api.load_report(done).notes if note.startswith("preflight: greedy"))
    assert "differ" in note and "decode.seed" in note
