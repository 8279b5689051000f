"""`omnieval diagnose` against servers that fail from one rung of the ladder on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.diagnose import Diagnosis, RungRow, plan_ladder
from omnieval.errors import ConfigError
from omnieval.samples import sample_dir
from tests.command import lines, omnieval
from tests.conftest import answer_by_prompt
from tests.faults.server import DONE, Exchange, FaultServer, chunk

Condition = Callable[[dict[str, Any]], bool]
GARBAGE = "?" * 40


def count(body: dict[str, Any], kind: str) -> int:
    parts = body["messages"][-1]["content"]
    return sum(part["type"] == kind for part in parts)


def question_first(body: dict[str, Any]) -> bool:
    kinds = [part["type"] for part in body["messages"][-1]["content"]]
    return kinds[0] == "text" and len(kinds) > 1


def many_pictures(body: dict[str, Any]) -> bool:
    return count(body, "image_url") > 1


def sound(body: dict[str, Any]) -> bool:
    return count(body, "audio_url") + count(body, "input_audio") > 0


def joined(body: dict[str, Any]) -> bool:
    sounds = count(body, "audio_url") + count(body, "input_audio")
    return count(body, "image_url") > sounds > 0


def thinking(body: dict[str, Any]) -> bool:
    return bool(body["chat_template_kwargs"]["enable_thinking"])


def numbered(body: dict[str, Any]) -> bool:
    return bool(body.get("mm_processor_kwargs", {}).get("use_image_id"))


async def answer_in_any_order(exchange: Exchange) -> None:
    text = next(p["text"] for p in exchange.body["messages"][-1]["content"] if p["type"] == "text")
    await exchange.answer("ABCD"[len(text) % 4])


def garbage_when(condition: Condition) -> Callable[[Exchange], Any]:
    async def script(exchange: Exchange) -> None:
        if condition(exchange.body):
            await exchange.answer(GARBAGE)
        else:
            await answer_in_any_order(exchange)

    return script


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "diagnosis"


def diagnose(server: FaultServer, cache: Path, out: Path, **settings: Any) -> Diagnosis:
    return api.diagnose(
        "daily-omni",
        out=out,
        base_url=server.base_url,
        data=str(sample_dir("daily-omni")),
        cache_dir=str(cache),
        **{"limit": 4, **settings},
    )


def row(diagnosis: Diagnosis, name: str) -> RungRow:
    return next(rung for rung in diagnosis.rungs if rung.name == name)


@pytest.mark.parametrize(
    ("condition", "first"),
    [
        (many_pictures, "frames"),
        pytest.param(sound, "sound", marks=pytest.mark.slow),
        pytest.param(joined, "stacked", marks=pytest.mark.slow),
        pytest.param(thinking, "thinking", marks=pytest.mark.slow),
        pytest.param(numbered, "image-id", marks=pytest.mark.slow),
        pytest.param(question_first, "order", marks=pytest.mark.slow),
    ],
)
def test_garbage_names_the_rung_where_it_begins(
    condition: Condition, first: str, cache_dir: Path, place: Path
) -> None:
    with FaultServer(garbage_when(condition)) as server:
        found = diagnose(server, cache_dir, place, limit=3)
    assert found.first_break == first
    assert found.complete
    assert [one.kind for one in row(found, first).breaks] == ["health"]
    before = [rung.name for rung in found.rungs].index(first)
    assert all(not rung.breaks for rung in found.rungs[:before])
    assert f"FIRST RUNG THAT BREAKS: {first} (" in (place / "diagnose.md").read_text()
    assert escape(row(found, first).breaks[0].cause) in (place / "diagnose.html").read_text()


@pytest.mark.slow
def test_all_holds_with_a_steady_model_and_a_second_call_asks_nothing(cache_dir: Path, place: Path) -> None:
    with FaultServer(garbage_when(lambda _: False)) as server:
        found = diagnose(server, cache_dir, place)
        asked = len(server.requests)
        again = diagnose(server, cache_dir, place)
        assert len(server.requests) == asked
    assert (found.first_break, found.complete, found.base) == (None, True, "frames-and-sound")
    assert found.rungs == again.rungs
    done = [rung for rung in found.rungs if rung.state == "done"]
    assert [rung.name for rung in done] == [
        "text", "one-frame", "frames", "sound", "frames-and-sound", "more-frames", "stacked", "longer-sound",
        "image-id", "thinking", "order",
    ]  # fmt: skip
    assert {rung.asked for rung in done} == {4}
    ids = {
        tuple(sorted(line["sample_id"] for line in lines(place / rung.name / "responses.jsonl")))
        for rung in done
    }
    assert len(ids) == 1
    assert json.loads((place / "diagnose.json").read_text())["kind"] == "diagnosis"


def test_the_table_has_accuracy_health_and_latency_of_each_rung(cache_dir: Path, place: Path) -> None:
    async def tires(exchange: Exchange) -> None:
        if sound(exchange.body):
            await asyncio.sleep(0.3)
        await exchange.answer(GARBAGE if joined(exchange.body) else "B")

    with FaultServer(tires) as server:
        found = diagnose(server, cache_dir, place, limit=2, max_frames=2, plan="uniform")
    page = (place / "diagnose.md").read_text()
    assert row(found, "sound").e2e_s > 0.3
    for rung in found.rungs:
        if rung.state != "done":
            continue
        run = place / rung.name
        times = [line["timing"]["e2e_s"] for line in lines(run / "responses.jsonl")]
        right = [
            line["outcome"] == "correct"
            for line in lines(run / "scores.jsonl")
            if line["outcome"] != "not_asked"
        ]
        sick = 100 if rung.name == "stacked" else 0
        assert (len(times), len(right)) == (2, 2)
        assert f"| {rung.name} | {50 * sum(right):.1f} % | {sick} % | 0/2 | {sum(times) / 2:.2f} |" in page


def test_requests_of_a_rung_carry_what_it_names(cache_dir: Path, place: Path) -> None:
    told: list[str] = []
    with FaultServer(garbage_when(lambda _: False)) as server:
        diagnose(server, cache_dir, place, limit=1, notify=told.append)
        bodies = server.requests
    assert sum(line.startswith("media go as file://") for line in told) == 1, "once for all rungs"
    assert len(bodies) == 11
    text, one, frames, heard, both, more, joined, longer, numbers, thought, order = bodies
    assert (count(text, "image_url"), sound(text)) == (0, False)
    assert (count(one, "image_url"), sound(one)) == (1, False)
    assert count(frames, "image_url") > 1
    assert not sound(frames)
    assert (count(heard, "image_url"), sound(heard)) == (0, True)
    assert count(both, "image_url") == count(frames, "image_url")
    assert sound(both)
    assert count(more, "image_url") > count(both, "image_url")
    assert count(joined, "image_url") == 2 * count(both, "image_url")
    assert count(longer, "image_url") <= 4
    assert [numbered(body) for body in (both, numbers)] == [False, True]
    assert [thinking(body) for body in (both, thought)] == [False, True]
    assert thought["max_tokens"] >= 2048
    assert [question_first(body) for body in (both, order)] == [False, True]


@pytest.mark.slow
def test_media_that_the_server_does_not_count_are_said_to_be_ignored(cache_dir: Path, place: Path) -> None:
    async def counts_text_only(exchange: Exchange) -> None:
        usage = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
        await exchange.stream(chunk("A"), chunk("", finish="stop"), chunk(None, usage=usage), DONE)

    with FaultServer(counts_text_only) as server:
        found = diagnose(server, cache_dir, place)
    assert found.first_break == "one-frame"
    assert row(found, "one-frame").breaks[0].kind == "ignored"


def test_a_refusal_of_more_pictures_is_told_with_the_servers_words(cache_dir: Path, place: Path) -> None:
    async def refuses(exchange: Exchange) -> None:
        if many_pictures(exchange.body):
            await exchange.json(
                400, {"error": {"message": "At most 1 image(s) may be provided", "code": 400}}
            )
        else:
            await answer_in_any_order(exchange)

    with FaultServer(refuses) as server:
        done = omnieval(
            "diagnose", "daily-omni", "--sample", "--base-url", server.base_url, "--cache-dir", cache_dir,
            "--out", place, "--limit", "3", "--json",
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["first_break"] == "frames"
    broken = next(rung for rung in told["rungs"] if rung["name"] == "frames")
    assert broken["breaks"][0]["kind"] == "failures"
    assert "At most 1 image" in broken["breaks"][0]["found"]
    assert "--limit-mm-per-prompt" in broken["breaks"][0]["fix"]
    assert "a setting of the server" in broken["breaks"][0]["cause"]


@pytest.mark.parametrize(
    ("status", "message", "cause", "fix"),
    [
        (500, "Cannot load local files without --allowed-local-media-path.", "a setting of the server",
         "--transport inline"),
        (400, "Invalid or corrupted audio data", "of these samples", "look at the files"),
        (500, "unsupported operand", "the sound encoder", "audio libraries"),
    ],
)  # fmt: skip
def test_a_refusal_is_explained_by_the_server_before_the_rung(
    status: int, message: str, cause: str, fix: str, cache_dir: Path, place: Path
) -> None:
    async def refuses(exchange: Exchange) -> None:
        if sound(exchange.body):
            await exchange.json(status, {"error": {"message": message, "code": status}})
        else:
            await answer_in_any_order(exchange)

    with FaultServer(refuses) as server:
        found = diagnose(server, cache_dir, place, limit=1, max_frames=1, **{"retry.attempts": 1})
    assert found.first_break == "sound"
    (one,) = row(found, "sound").breaks
    assert one.kind == "failures"
    assert message in one.found
    assert cause in one.cause
    assert fix in one.fix


@pytest.mark.slow
def test_a_server_that_dies_of_a_rung_stops_the_ladder_there(cache_dir: Path, place: Path) -> None:
    gone = False

    async def dies_of_sound(exchange: Exchange) -> None:
        nonlocal gone
        gone = gone or sound(exchange.body)
        if gone:
            exchange.reset()
        else:
            await answer_in_any_order(exchange)

    with FaultServer(dies_of_sound) as server:
        found = diagnose(
            server, cache_dir, place,
            retry={"attempts": 1, "first_wait_s": 0, "wait_for_server_s": 0, "stop_after": 2},
        )  # fmt: skip
        assert (found.first_break, found.complete) == ("sound", False)
        assert row(found, "sound").breaks[0].kind == "server"
        assert row(found, "frames-and-sound").state == "not begun"
        gone = False
        server.script = answer_in_any_order
        assert diagnose(server, cache_dir, place).first_break is None


def test_a_server_is_to_read_what_any_rung_sends(tmp_path: Path) -> None:
    data = sample_dir("daily-omni")
    given = {"cache_dir": tmp_path, "data": data}
    ladder = plan_ladder(api.configure("daily-omni", [(key, str(value)) for key, value in given.items()]))
    assert set(ladder.folders) == {tmp_path, data}, "frames lie in the cache, whole sounds with the data"


def test_other_uses_are_refused_with_the_next_step(tmp_path: Path, cache_dir: Path) -> None:
    with pytest.raises(ConfigError, match=r"asks for speech.*omnieval compare"):
        plan_ladder(api.configure("seed-tts-en", sample=True))
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    with (
        FaultServer(answer_by_prompt) as server,
        pytest.raises(ConfigError, match=r"not empty \(found a\.txt"),
    ):
        diagnose(server, cache_dir, tmp_path / "letters")


@pytest.mark.parametrize(
    ("recipe", "base", "asked", "settings"),
    [
        ("video-mme", "frames", {"text", "one-frame", "frames", "frames-and-sound", "more-frames",
                                 "stacked", "longer-sound"}, {}),
        ("video-mme-short", "frames-and-sound", {"text", "one-frame", "frames", "frames-and-sound",
                                                 "more-frames", "stacked", "longer-sound"}, {}),
        ("daily-omni", "recipe", {"text", "one-frame", "frames", "sound", "frames-and-sound", "recipe",
                                  "more-frames", "longer-sound"}, {"stack_frames": 3}),
        ("daily-omni", "sound", {"text", "one-frame", "frames", "sound", "frames-and-sound", "longer-sound"},
         {"input_mode": "audio"}),
        ("mcq-pictures", "recipe", {"text", "recipe"}, {}),
        ("daily-omni", "frames-and-sound", {"text", "frames", "sound", "frames-and-sound"},
         {"packing": "qwen"}),
    ],
)  # fmt: skip
def test_each_recipe_has_the_rungs_that_it_can_do(
    recipe: str, base: str, asked: set[str], settings: dict[str, Any]
) -> None:
    config = api.configure(recipe, [("backend", "chance"), *settings.items()], sample=True)
    ladder = plan_ladder(config)
    assert ladder.base == base
    assert {rung.name for rung in ladder.rungs if rung.config is not None} == asked
    assert all(rung.left_out for rung in ladder.rungs if rung.config is None)
    assert all(rung.config.select.limit == 8 for rung in ladder.rungs if rung.config is not None)
