"""A deployment that would spoil a run is found before its first question, with what mends it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval import api
from omnieval.engine.preflight import Finding
from omnieval.engine.preflight.order import MARKS, order_kept
from omnieval.errors import BackendError
from tests.command import omnieval
from tests.faults.server import DONE, Exchange, FaultServer, chunk
from tests.faults.speech_server import wav

PICTURE, SOUND = ["<img>", "i", "i", "</img>"], ["<snd>", "s", "</snd>"]


@dataclass
class Deployment:
    """A model server with the usual mistakes in its set-up, each off by default."""

    most_parts: int = 1000
    drops: str = ""
    counts: bool = True
    details: bool = False
    refuses_processor: bool = False
    moves_media: bool = False
    shows_tokens: bool = True
    sends_sound: bool = False
    differs: bool = False
    unreadable: bool = False
    texts: Iterator[int] = field(default_factory=count)

    def tokens_of(self, messages: list[dict[str, Any]]) -> list[str]:
        moved: list[str] = []
        kept: list[str] = []
        for part in messages[-1]["content"]:
            if part["type"] == "text":
                kept += ["Ġ", *part["text"]]
                continue
            kind = part["type"].removesuffix("_url")
            block = [] if kind == self.drops else PICTURE if kind == "image" else SOUND
            (moved if self.moves_media else kept).extend(block)
        return ["<s>", *moved, *kept]

    async def chat(self, exchange: Exchange) -> None:
        body = exchange.body
        parts = [part for part in body["messages"][-1]["content"] if part["type"] != "text"]
        refusal = self.refusal(body, parts)
        if refusal is not None:
            await exchange.json(500 if self.unreadable else 400, {"error": {"message": refusal}})
            return
        text = f"answer {next(self.texts)}" if self.differs else "answer"
        usage: dict[str, Any] = {
            "prompt_tokens": len(self.tokens_of(body["messages"])),
            "completion_tokens": 1,
        }
        if self.details:
            images = sum(part["type"] == "image_url" for part in parts)
            usage["prompt_tokens_details"] = {"multimodal_tokens": {"image": 2 * images, "audio": images}}
        sound = wav(b"\1\2" * 400, 24_000)
        spoken = [chunk(base64.b64encode(sound).decode(), modality="audio")] if self.sends_sound else []
        fields = {"usage": usage} if self.counts else {}
        await exchange.stream(chunk(text, **fields), *spoken, chunk("", finish="stop", **fields), DONE)

    def refusal(self, body: dict[str, Any], parts: list[dict[str, Any]]) -> str | None:
        if self.unreadable and parts:
            return "Cannot load local files without --allowed-local-media-path."
        if self.refuses_processor and "mm_processor_kwargs" in body:
            return "mm_processor_kwargs need --trust-request-mm-kwargs"
        if sum(part["type"] == "image_url" for part in parts) > self.most_parts:
            return f"At most {self.most_parts} image(s) may be provided in one prompt."
        return None

    async def tokenize(self, exchange: Exchange) -> None:
        if self.shows_tokens:
            await exchange.json(200, {"token_strs": self.tokens_of(exchange.body["messages"])})
        else:
            await exchange.json(404, {"detail": "Not Found"})


def findings(
    cache_dir: Path, deployment: Deployment, length: int = 4096, **settings: Any
) -> dict[str, Finding]:
    with FaultServer(deployment.chat, models=[{"id": "fake", "max_model_len": length}]) as server:
        server.tokenize = deployment.tokenize
        found = api.check(
            "daily-omni", sample=True, base_url=server.base_url, cache_dir=str(cache_dir), **settings
        )
    return {finding.check: finding for finding in found}


def test_a_sound_deployment_passes_every_check(cache_dir: Path) -> None:
    found = findings(cache_dir, Deployment())
    assert {name: finding.verdict for name, finding in found.items()} == {
        "server": "pass", "answers": "pass", "a picture reaches the model": "pass", "a sound reaches the model": "pass",
        "processor arguments": "pass", "order of the parts": "pass", "largest request": "pass",
        "text alone": "pass", "greedy answers repeat": "pass", "pictures kept by name": "unknown", "sounds kept by name": "unknown",
    }  # fmt: skip
    assert "7 pictures, 7 sounds" in found["largest request"].found


@pytest.mark.parametrize(
    ("mistake", "check", "fatal", "words"),
    [
        ({"moves_media": True}, "order of the parts", True, "--interleave-mm-strings"),
        ({"most_parts": 4}, "largest request", True, '--limit-mm-per-prompt \'{"image": 7, "audio": 7}\''),
        ({"drops": "audio"}, "a sound reaches the model", True, "drops every sound"),
        ({"drops": "image"}, "a picture reaches the model", True, "drops every picture"),
        ({"refuses_processor": True}, "processor arguments", True, "--trust-request-mm-kwargs"),
        ({"unreadable": True}, "a picture reaches the model", True, "--allowed-local-media-path"),
        ({"sends_sound": True}, "text alone", False, "output modalities"),
        ({"differs": True}, "greedy answers repeat", False, "batch-invariant"),
    ],
)
def test_each_mistake_is_found_with_what_mends_it(
    cache_dir: Path, mistake: dict[str, Any], check: str, fatal: bool, words: str
) -> None:
    found = findings(cache_dir, Deployment(**mistake))
    finding = found[check]
    assert (finding.verdict, finding.fatal) == ("fail", fatal)
    assert words in (finding.fix or "")


def test_a_context_that_is_too_short_names_the_length_that_would_do(cache_dir: Path) -> None:
    found = findings(cache_dir, Deployment(), length=200)["largest request"]
    assert found.verdict == "fail" and found.fatal
    assert "--max-model-len" in (found.fix or "")


def test_what_a_server_does_not_tell_is_unknown(cache_dir: Path) -> None:
    found = findings(cache_dir, Deployment(counts=False, shows_tokens=False))
    unknown = {name for name, finding in found.items() if finding.verdict == "unknown"}
    assert unknown == {
        "a picture reaches the model", "a sound reaches the model", "order of the parts", "pictures kept by name", "sounds kept by name",
    }  # fmt: skip
    assert not any(finding.fatal for finding in found.values())


def test_the_servers_own_counts_are_taken_where_it_gives_them(cache_dir: Path) -> None:
    found = findings(cache_dir, Deployment(details=True))
    assert "by the server's own count" in found["a picture reaches the model"].found


def test_parts_whose_order_the_run_does_not_use_may_move(cache_dir: Path) -> None:
    found = findings(cache_dir, Deployment(moves_media=True), input_mode="visual")
    assert "order of the parts" not in found


def test_a_run_asks_first_and_does_not_begin_in_vain(cache_dir: Path, tmp_path: Path) -> None:
    deployment = Deployment(moves_media=True)
    with FaultServer(deployment.chat) as server:
        server.tokenize = deployment.tokenize
        settings = {"sample": True, "base_url": server.base_url, "cache_dir": str(cache_dir), "limit": 2}
        with pytest.raises(BackendError, match=r"order of the parts.*--interleave-mm-strings"):
            api.run("daily-omni", out=tmp_path / "run", preflight="always", **settings)
        assert not (tmp_path / "run").exists()
        asked = len(server.requests)
        run = api.run("daily-omni", out=tmp_path / "run", preflight="never", **settings)
        assert len(server.requests) == asked + 2
    assert len(run.last_responses()) == 2


def test_a_small_run_is_its_own_check_and_a_resumed_one_may_skip_it(cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer() as server:
        settings = {"sample": True, "base_url": server.base_url, "cache_dir": str(cache_dir), "limit": 1}
        api.run("daily-omni", out=tmp_path / "run", **settings)
        assert len(server.requests) == 1
        api.resume(tmp_path / "run", preflight="never")


def test_of_several_servers_each_is_asked_and_the_worst_is_said_with_its_name(cache_dir: Path) -> None:
    well, mistaken = Deployment(), Deployment(most_parts=4, shows_tokens=False)
    with FaultServer(well.chat) as first, FaultServer(mistaken.chat) as second:
        first.tokenize, second.tokenize = well.tokenize, mistaken.tokenize
        found = api.check(
            "daily-omni", sample=True, base_url=first.base_url, replicas=[second.base_url],
            cache_dir=str(cache_dir),
        )  # fmt: skip
    by_check = {finding.check: finding for finding in found}
    assert len(by_check) == len(found)
    assert by_check["answers"].verdict == "pass" and "http" not in by_check["answers"].found
    order, largest = by_check["order of the parts"], by_check["largest request"]
    assert (order.verdict, largest.verdict) == ("unknown", "fail")
    assert order.found.startswith(second.base_url) and largest.found.startswith(second.base_url)
    assert "--limit-mm-per-prompt" in (largest.fix or "") and largest.fatal


def test_answers_of_another_model_are_named_before_and_after_a_run(cache_dir: Path, tmp_path: Path) -> None:
    async def other(exchange: Exchange) -> None:
        await exchange.stream(
            *(piece.replace(b'"fake"', b'"tiny"') for piece in (chunk("A"), chunk("", finish="stop"), DONE))
        )

    with FaultServer(other) as server:
        done = api.run(
            "daily-omni", sample=True, base_url=server.base_url, model="fake", cache_dir=str(cache_dir),
            out=tmp_path / "run", preflight="always",
        )  # fmt: skip
    notes = api.load_report(done).notes
    assert any(note.startswith("preflight: model: the answer is of 'tiny'") for note in notes)
    assert "the answers name other models than fake: tiny (23 answers)" in notes


def test_the_command_says_it_in_a_table_and_in_json_and_ends_with_4(cache_dir: Path) -> None:
    deployment = Deployment(moves_media=True)
    with FaultServer(deployment.chat) as server:
        server.tokenize = deployment.tokenize
        arguments = (
            "check",
            "daily-omni",
            "--sample",
            "--base-url",
            server.base_url,
            "--cache-dir",
            cache_dir,
        )
        shown = omnieval(*arguments)
        assert shown.returncode == 4
        assert "--interleave-mm-strings" in shown.stdout
        raw = omnieval(*arguments, "--json")
    content = json.loads(raw.stdout)
    assert {entry["check"] for entry in content if entry["verdict"] == "fail"} == {"order of the parts"}
    missing = omnieval("check", "daily-omni", "--sample", "--base-url", "http://127.0.0.1:9/v1")
    assert missing.returncode == 4
    assert "is the server up" in missing.stderr


def message(*blocks: list[str]) -> list[str]:
    tokens = [*MARKS[0]]
    for block, mark in zip(blocks, MARKS[1:], strict=True):
        tokens += [*block, "Ċ", *mark]
    return tokens


@given(
    st.lists(st.sampled_from(["<i>", "▁", "Ġ"]), min_size=1, max_size=9).map(lambda pad: [*PICTURE, *pad]),
    st.lists(st.sampled_from(["▁", "Ċ"]), max_size=5).map(lambda pad: [*SOUND, *pad]),
)
def test_order_is_read_from_any_way_to_cut_a_text(picture: list[str], sound: list[str]) -> None:
    assert order_kept(message(picture, sound, picture, sound)) is True
    assert order_kept(["<s>", *picture, *picture, *sound, *sound, *message([], [], [], [])]) is False
    assert order_kept(message(picture, picture, sound, sound)) is False
    assert order_kept([*picture, *sound]) is None
    assert order_kept(["".join(message(picture, sound, picture, sound))]) is True
