"""A recipe run cold and then several times: medians, health, verdicts, and going on after any end."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.bench import BenchReport
from omnieval.errors import ConfigError, ScoringError, StorageError
from tests.command import lines, omnieval, start
from tests.faults.server import DONE, EVENT_STREAM, Behaviour, Exchange, FaultServer, chunk

ASKED, REPEATS = 4, 3
NAMES = ["cold", "repeats/run-1", "repeats/run-2", "repeats/run-3"]


def after(delay_s: float, text: str = "B") -> Behaviour:
    """An answer whose only text comes after a delay."""

    async def play(exchange: Exchange) -> None:
        await exchange.head(200, EVENT_STREAM)
        await exchange.raw(chunk(""))
        await asyncio.sleep(delay_s)
        await exchange.raw(chunk(text))
        await exchange.raw(chunk("", finish="stop") + DONE)

    return play


def refusing_every_fourth() -> Behaviour:
    """One question of each run is refused, whichever comes last."""
    asked = itertools.count(1)

    async def play(exchange: Exchange) -> None:
        if next(asked) % ASKED:
            await exchange.answer("B")
        else:
            await exchange.json(400, {"error": {"message": "no", "type": "BadRequestError", "code": 400}})

    return play


def bench(server: FaultServer, cache: Path, out: Path, **settings: Any) -> BenchReport:
    return api.bench(
        "daily-omni", sample=True, base_url=server.base_url, model="fake", cache_dir=cache, out=out,
        **{"limit": ASKED, "max_frames": 2, "concurrency": 1, **settings},
    )  # fmt: skip


def arguments(server: FaultServer, cache: Path, out: Path) -> list[str | Path]:
    return [
        "bench", "daily-omni", "--sample", "--base-url", server.base_url, "--model", "fake", "--cache-dir",
        cache, "--out", out, "--limit", str(ASKED), "--set", "max_frames=2", "--concurrency", "1",
    ]  # fmt: skip


def speed(report: BenchReport, figure: str) -> Any:
    return next(row for row in report.speed if row.figure == figure)


@pytest.fixture(scope="module")
def steady(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A bench of a server whose first run is far slower than all others."""
    out = tmp_path_factory.mktemp("bench") / "steady"
    with FaultServer() as server:

        async def slow_at_first(exchange: Exchange) -> None:
            await after(0.6 if len(server.requests) <= ASKED else 0.1)(exchange)

        server.script = slow_at_first
        bench(server, cache_dir, out)
    yield out


def test_the_cold_run_stands_apart_from_the_medians(steady: Path, cache_dir: Path) -> None:
    report = json.loads((steady / "report.json").read_text())
    assert (report["complete"], report["counts"], report["done"]) == (True, True, REPEATS)
    first = next(row for row in report["speed"] if row["figure"] == "ttft_s.p50")
    assert first["cold"] > 0.6
    assert 0.1 < first["low"] <= first["median"] <= first["high"] < 0.6
    assert sorted(first["values"])[1] == first["median"]
    assert len(first["values"]) == REPEATS
    rate = next(row for row in report["speed"] if row["figure"] == "request_throughput")
    assert rate["cold"] < 1 / 0.6 < rate["low"]
    assert [row["name"] for row in report["outputs"]] == NAMES
    assert all(row["accuracy"]["total"] == ASKED for row in report["outputs"])
    for name in NAMES:
        assert len(lines(steady / name / "responses.jsonl")) == ASKED
    assert "cold run" in (steady / "report.md").read_text()


def test_a_bench_is_shown_compared_and_judged_by_its_directory(steady: Path, tmp_path: Path) -> None:
    assert json.loads(omnieval("report", steady, "--json").stdout)["kind"] == "bench"
    page = omnieval("report", steady, "--html", tmp_path / "bench.html")
    assert page.returncode == 0, page.stderr
    assert "repeats/run-1/report.html" in (tmp_path / "bench.html").read_text()
    with pytest.raises(ScoringError, match=r"such as the newest, .*run-3; to continue .* --resume"):
        api.resume(steady)
    (comparison,) = api.compare(steady, steady)
    assert comparison.first.run["directory"] == "run-1"
    gate = tmp_path / "gate.yaml"
    gate.write_text("- ttft.median < 0.5\n")
    assert api.gate(steady, gate).verdict == "pass"
    assert (steady / "repeats" / "run-1" / "gate.json").exists()


def test_a_bench_is_scored_again_from_python(steady: Path, tmp_path: Path) -> None:
    copy, told = tmp_path / "steady", list[str]()
    shutil.copytree(steady, copy)
    for path in copy.rglob("report.json"):
        path.unlink()
    report = api.score_bench(copy, parser="careful", notify=told.append)
    assert [row.name for row in report.outputs] == NAMES
    assert told == [f"scoring {name}" for name in NAMES]
    assert (copy / "report.json").is_file()
    assert {api.load_report(copy / name).parser for name in NAMES} == {"careful"}
    with pytest.raises(ConfigError, match="scoring a run cannot change max_frames"):
        api.score_bench(copy, max_frames=3)


@pytest.mark.slow
def test_a_slower_server_is_told_from_noise(steady: Path, cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer(after(2.0)) as server:
        done = omnieval(*arguments(server, cache_dir, tmp_path / "slow"), "--against", steady, "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["figure"]: row for row in json.loads(done.stdout)["speed"]}
    assert rows["ttft_s.p50"]["change"]["verdict"] == "real"
    assert rows["ttft_s.p50"]["change"]["difference"] > 0.2
    again = omnieval("bench", "--resume", tmp_path / "slow", "--against", steady)
    assert again.returncode == 0, again.stderr
    assert "slower: no run of one side reaches the other's" in again.stdout
    assert "Against steady" in (tmp_path / "slow" / "report.html").read_text()
    same = omnieval("bench", "--resume", steady, "--against", steady, "--markdown")
    assert same.returncode == 0, same.stderr
    assert "noise: the sides' runs overlap" in same.stdout
    assert "slower:" not in same.stdout


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (after(0.0, "?" * 40), "replies are unhealthy: 4 repetition"),
        (after(0.0, " "), "replies are unhealthy: 4 empty"),
        (refusing_every_fourth(), "1 of 4 samples failed"),
    ],
)
def test_broken_output_is_not_fast(script: Behaviour, reason: str, cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer(script) as server:
        report = bench(server, cache_dir, tmp_path / "b")
    assert not report.counts
    assert all(row.broken is not None and reason in row.broken for row in report.outputs)


def test_the_command_says_that_broken_output_does_not_count(cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer(after(0.0, "?" * 40)) as server:
        done = omnieval(*arguments(server, cache_dir, tmp_path / "b"))
    assert done.returncode == 1
    assert "THE SPEED DOES NOT COUNT" in done.stdout


def test_one_broken_repeat_is_named(cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer() as server:

        async def breaks_once(exchange: Exchange) -> None:
            in_second = 2 * ASKED < len(server.requests) <= 3 * ASKED
            await exchange.answer("?" * 40 if in_second else "B")

        server.script = breaks_once
        report = bench(server, cache_dir, tmp_path / "b")
        shutil.copytree(tmp_path / "b", tmp_path / "again")
        shutil.rmtree(tmp_path / "again" / "repeats" / "run-2")
        assert bench(server, cache_dir, tmp_path / "again").counts
        assert len(server.requests) == 5 * ASKED
    assert [row.name for row in report.outputs if row.broken] == ["repeats/run-2"]
    assert (report.complete, report.counts) == (True, False)
    (told,) = [line for line in report.warnings if "DOES NOT COUNT" in line]
    assert "the output of repeats/run-2 is broken (4 of 4 replies are unhealthy" in told


def test_a_server_that_dies_in_the_second_repeat_costs_nothing_that_is_done(
    cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "b"
    before = 2 * ASKED + 1
    with FaultServer() as server:
        given = arguments(server, cache_dir, out)

        async def dies(exchange: Exchange) -> None:
            if len(server.requests) > before:
                server.die(exchange)
            else:
                await exchange.answer("B")

        server.script = dies
        done = omnieval(*given, "--set", "retry.wait_for_server_s=0.2", "--set", "retry.first_wait_s=0.01")
    assert done.returncode == 4, done.stderr
    assert f"to continue: omnieval bench --resume {out}" in done.stderr
    assert "INCOMPLETE: 1 of 3 repeats done" in done.stdout
    with FaultServer() as server:
        again = omnieval("bench", "--resume", out, "--base-url", server.base_url)
        assert len(server.requests) == 4 * ASKED - before
    assert again.returncode == 0, again.stderr
    assert json.loads((out / "report.json").read_text())["complete"]


def test_against_a_bench_with_broken_output(steady: Path, cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer(after(0.0, "!" * 40)) as server:
        bench(server, cache_dir, tmp_path / "broken")
    with FaultServer(after(0.1)) as server:
        report = bench(server, cache_dir, tmp_path / "whole", against=tmp_path / "broken")
    assert report.counts
    assert any("THE SPEED OF broken DOES NOT COUNT" in line for line in report.warnings)


def test_another_load_is_warned_of_and_other_data_are_refused(
    steady: Path, cache_dir: Path, tmp_path: Path
) -> None:
    with FaultServer(after(0.0)) as server:
        report = bench(server, cache_dir, tmp_path / "two", concurrency=2, against=steady)
        assert any("DIFFERENT LOAD: concurrency 1 in steady, 2 here" in line for line in report.warnings)
        other = api.bench(
            "mcq-pictures", sample=True, backend="chance", out=tmp_path / "other", cache_dir=cache_dir
        )
        assert other.complete
        assert "no speed: the backend chance tells no times" in other.notes
        with pytest.raises(ConfigError, match="cannot be compared"):
            bench(server, cache_dir, tmp_path / "two", concurrency=2, against=tmp_path / "other")
        asked = len(server.requests)
        with pytest.raises(ConfigError, match=r"other asked other data .* leave out --against"):
            bench(server, cache_dir, tmp_path / "three", against=tmp_path / "other")
        assert len(server.requests) == asked, "that is said before anything is asked"
        assert not (tmp_path / "three").exists()


def test_what_is_finished_stays_and_more_repeats_are_added(
    steady: Path, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "more"
    shutil.copytree(steady, out)
    before = {name: (out / name / "responses.jsonl").read_bytes() for name in NAMES}
    with FaultServer(after(0.0)) as server:
        report = bench(server, cache_dir, out, repeats=4)
        assert len(server.requests) == ASKED
        with pytest.raises(ConfigError, match=r"select\.limit: 4 -> 2"):
            bench(server, cache_dir, out, limit=2)
        with pytest.raises(ConfigError, match="concurrency: 1 -> 3"):
            bench(server, cache_dir, out, concurrency=3)
    assert (report.done, report.repeats) == (4, 4)
    assert before == {name: (out / name / "responses.jsonl").read_bytes() for name in NAMES}


def test_a_repeat_that_cannot_be_written_says_how_the_bench_goes_on(
    steady: Path, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "b"
    shutil.copytree(steady, out)
    shutil.rmtree(out / "repeats" / "run-3")
    (out / "repeats" / "run-3").write_text("in the way of a folder")
    with FaultServer() as server:
        with pytest.raises(StorageError, match=f"run-3.*; to continue: omnieval bench --resume {out}$"):
            bench(server, cache_dir, out)
        (out / "repeats" / "run-3").unlink()
        assert bench(server, cache_dir, out).complete


@pytest.mark.parametrize("end", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT])
def test_a_bench_goes_on_where_it_was_ended(end: signal.Signals, cache_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "b"
    middle = out / "repeats" / "run-2" / "responses.jsonl"
    with FaultServer(after(0.2)) as server:
        process = start(*arguments(server, cache_dir, out))
        deadline = time.monotonic() + 60
        while not (middle.exists() and middle.read_bytes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(end)
        said, _ = process.communicate(timeout=60)
        if end == signal.SIGINT:
            assert process.returncode == 1
            assert f"to continue: omnieval bench --resume {out}" in said
            assert "INCOMPLETE: 1 of 3 repeats done" in said
        done = omnieval("bench", "--resume", out)
    assert done.returncode == 0, done.stderr
    assert "repeats/run-2 was interrupted and continued" in done.stdout
    report = json.loads((out / "report.json").read_text())
    assert report["complete"]
    for name in NAMES:
        assert len({line["sample_id"] for line in lines(out / name / "responses.jsonl")}) == ASKED
    rates = next(row for row in report["speed"] if row["figure"] == "request_throughput")
    assert len(rates["values"]) == REPEATS - 1


def test_an_interrupt_while_media_are_prepared_says_how_to_go_on(tmp_path: Path) -> None:
    with FaultServer() as server:
        process = start(*arguments(server, tmp_path / "cache", tmp_path / "b"))
        assert process.stdout is not None
        assert any("preparing all media first" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"to continue: omnieval bench --resume {tmp_path / 'b'}" in said
    assert "Traceback" not in said


def test_no_server(cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer() as server:
        given = arguments(server, cache_dir, tmp_path / "b")
    done = omnieval(*given, "--set", "retry.wait_for_server_s=0")
    assert done.returncode == 4
    assert "no connection" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "b").glob("*/*"))


def test_what_the_engine_lacks_is_said_before_media_are_prepared(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = omnieval(
        "bench", "daily-omni", "--sample", "--backend", "llamacpp-omni", "--model", "absent.gguf", "--cache-dir",
        cache, "--out", tmp_path / "b", "--set", "llamacpp.program=absent-program",
    )  # fmt: skip
    assert done.returncode == 4
    assert "no absent-program on the PATH" in done.stderr
    assert not list(cache.rglob("frame-*"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--repeats", "2"], "2 repeats: at least 3 are needed"),
        (["--set", "concurrency=auto"], "give --concurrency N instead of auto"),
        (["--set", "stop_when=gate", "--set", "gate=minicpm-challenge"], "leave out stop_when"),
        (["--against", "nowhere"], "nowhere: not the directory of a bench"),
        (["--resume", "nowhere"], "--resume takes the recipe from the bench"),
    ],
)
def test_bad_requests(given: list[str], message: str, tmp_path: Path) -> None:
    done = omnieval("bench", "daily-omni", "--sample", "--backend", "chance", "--out", tmp_path / "b", *given)
    assert done.returncode in (2, 3)
    assert message in done.stderr
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("given", [[], ["--data", "nowhere"]])
def test_without_data_nothing_is_begun(given: list[str], tmp_path: Path) -> None:
    done = omnieval("bench", "daily-omni", "--backend", "chance", "--out", tmp_path / "b", *given)
    assert done.returncode in (2, 3)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "b").exists()
