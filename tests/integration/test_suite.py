"""Several recipes run as one: resumed as one after any end, with one report and one gate."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from omnieval import api
from omnieval.samples import sample_dir
from tests.command import lines, omnieval, report, start
from tests.conftest import answer_by_prompt
from tests.faults.server import Exchange, FaultServer

MEMBERS = ("daily-omni", "video-mme")
KILLS = 3


async def answer_slowly(exchange: Exchange) -> None:
    await asyncio.sleep(0.1)
    await answer_by_prompt(exchange)


def arguments(server: FaultServer, cache: Path, out: Path) -> list[str | Path]:
    return [
        "run", "daily-omni", "video-mme", "--sample", "--base-url", server.base_url, "--model", "fake",
        "--cache-dir", cache, "--out", out, "--concurrency", "2", "--limit", "6",
    ]  # fmt: skip


def members(suite: Path) -> dict[str, dict[str, Any]]:
    return {name: report(suite / name) for name in MEMBERS}


def asked(suite: Path) -> Counter[str]:
    return Counter(
        f"{name}/{line['sample_id']}" for name in MEMBERS for line in lines(suite / name / "responses.jsonl")
    )


@pytest.fixture(scope="module")
def whole(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A suite that nothing disturbed, and how long it took with a warm cache."""
    folder = tmp_path_factory.mktemp("suite")
    with FaultServer(answer_slowly) as server:
        for name in ("cold", "warm"):
            began = time.monotonic()
            done = omnieval(*arguments(server, cache_dir, folder / name))
            assert done.returncode == 0, done.stderr
    return folder / "warm", time.monotonic() - began


def test_members_are_plain_runs_under_one_report(whole: tuple[Path, float]) -> None:
    suite, _ = whole
    content = json.loads((suite / "report.json").read_text())
    assert (content["kind"], content["complete"]) == ("suite", True)
    assert [row["name"] for row in content["members"]] == list(MEMBERS)
    for row in content["members"]:
        assert f'href="./{row["report"]}"' in (suite / "report.html").read_text()
        own = json.loads((suite / row["report"]).with_suffix(".json").read_text())
        assert row["figures"][0]["value"] == pytest.approx(100 * own["official"]["value"])
        assert (row["answered"], row["failed"]) == (own["official"]["total"], 0)
    shown = omnieval("report", suite).stdout
    assert all(name in shown for name in MEMBERS)
    assert "| daily-omni | " in (suite / "report.md").read_text()
    assert json.loads(omnieval("report", suite, "--json").stdout) == content
    assert omnieval("report", suite / "daily-omni").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("kill", range(KILLS))
def test_a_suite_killed_at_a_random_moment_goes_on_as_one(
    kill: int, whole: tuple[Path, float], cache_dir: Path, tmp_path: Path
) -> None:
    expected, duration_s = whole
    suite = tmp_path / "suite"
    with FaultServer(answer_slowly) as server:
        given = arguments(server, cache_dir, suite)
        process = start(*given)
        try:
            process.wait(timeout=duration_s * (kill + random.Random(kill).random()) / KILLS)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        begun = (suite / "suite.json").exists()
        resumed = omnieval("run", "--resume", suite) if begun else omnieval(*given)
        assert resumed.returncode == 0, resumed.stderr
    assert members(suite) == members(expected)
    assert len(asked(suite)) == len(asked(expected))
    assert set(asked(suite).values()) == {1}


def test_one_signal_ends_the_suite_and_the_second_member_is_begun_when_it_is_resumed(
    cache_dir: Path, tmp_path: Path
) -> None:
    third = asyncio.Event()

    async def tell_the_third(exchange: Exchange) -> None:
        if len(server.requests) == 3:
            third.set()
        await answer_slowly(exchange)

    suite = tmp_path / "suite"
    with FaultServer(tell_the_third) as server:
        process = start(*arguments(server, cache_dir, suite))
        server.wait_for(third)
        process.send_signal(signal.SIGINT)
        output = process.communicate()[0]
        assert process.returncode == 1, output
        assert f"to continue: omnieval run --resume {suite}" in output
        assert "INCOMPLETE: daily-omni, video-mme; resume the suite" in " ".join(output.split())
        assert not (suite / "video-mme").exists()
        assert omnieval("run", "--resume", suite).returncode == 0
    assert set(asked(suite).values()) == {1}


def test_all_members_are_checked_before_the_first_question(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(sample_dir("daily-omni"), folder / "Daily-Omni")
    given = [
        "run", "daily-omni", "video-mme", "seed-tts-en", "--base-url", server.base_url, "--cache-dir", cache_dir,
        "--out", tmp_path / "suite", "--data", folder,
    ]  # fmt: skip
    refused = omnieval(*given)
    assert refused.returncode == 3
    assert "video-mme: " in refused.stderr
    assert "seed-tts-en: " in refused.stderr
    assert "--data video-mme=DIR" in refused.stderr
    shutil.copytree(sample_dir("video-mme"), folder / "Video_MME")
    (folder / "Video_MME" / "videos_chunked_01.zip").unlink()
    shutil.rmtree(folder / "Video_MME" / "video")
    refused = omnieval(*given, "--data", f"seed-tts={sample_dir('seed-tts')}")
    assert refused.returncode == 3
    assert "video-mme: the media of all 9 samples are missing" in refused.stderr, refused.stderr
    unknown = omnieval(*arguments(server, cache_dir, tmp_path / "suite"), "--set", "daily-omni.max_frame=3")
    assert unknown.returncode == 2
    assert "daily-omni: unknown configuration key 'max_frame' (did you mean 'max_frames'?)" in unknown.stderr
    assert server.requests == []
    assert not (tmp_path / "suite").exists()


def test_settings_go_to_all_members_or_to_the_one_that_is_named(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    suite = tmp_path / "suite"
    settings = ["--set", "max_frames=8", "--set", "video-mme.max_frames=4", "--limit", "1"]
    assert omnieval(*arguments(server, cache_dir, suite), *settings).returncode == 0
    frames = {
        name: json.loads((suite / name / "run.json").read_text())["config"]["max_frames"] for name in MEMBERS
    }
    assert frames == {"daily-omni": 8, "video-mme": 4}
    asked_before = len(server.requests)
    changed = omnieval("run", "--resume", suite, "--set", "daily-omni.max_frames=9")
    assert changed.returncode == 2
    assert "daily-omni.max_frames: 8 -> 9" in changed.stderr
    assert omnieval("run", "--resume", suite, "--concurrency", "3").returncode == 0
    assert len(server.requests) == asked_before, "finished members are left alone"


def test_a_member_whose_data_vanish_does_not_cost_the_others(cache_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for name in MEMBERS:
        shutil.copytree(sample_dir(name), folder / name)

    async def remove_data(exchange: Exchange) -> None:
        shutil.rmtree(folder / "daily-omni", ignore_errors=True)
        await answer_by_prompt(exchange)

    suite = tmp_path / "suite"
    with FaultServer(remove_data) as server:
        # The first member is asked, which removes the data of the second.
        given = [
            "run", "video-mme", "daily-omni", "mcq-sounds", "--base-url", server.base_url, "--model", "fake",
            "--cache-dir", cache_dir, "--out", suite, "--data", folder,
            "--data", f"mcq-sounds={sample_dir('mcq', 'mcq-sounds')}", "--transport", "inline",
        ]  # fmt: skip
        done = omnieval(*given)
        assert done.returncode == 1, done.stdout
        assert "error: daily-omni: " in done.stderr
        states = {
            row["name"]: row["state"] for row in json.loads((suite / "report.json").read_text())["members"]
        }
        assert states == {"video-mme": "finished", "daily-omni": "cannot be run", "mcq-sounds": "finished"}
        server.script = answer_by_prompt
        shutil.copytree(sample_dir("daily-omni"), folder / "daily-omni")
        assert omnieval("run", "--resume", suite).returncode == 0
    assert json.loads((suite / "report.json").read_text())["complete"] is True


def test_a_server_that_is_gone_stops_the_suite(cache_dir: Path, tmp_path: Path) -> None:
    async def refuse_after_five(exchange: Exchange) -> None:
        if len(server.requests) > 5:
            exchange.reset()
        else:
            await answer_by_prompt(exchange)

    suite = tmp_path / "suite"
    quick = [
        "--set",
        "retry.stop_after=1",
        "--set",
        "retry.attempts=1",
        "--set",
        "retry.wait_for_server_s=0.2",
    ]
    with FaultServer(refuse_after_five) as server:
        stopped = omnieval(*arguments(server, cache_dir, suite), *quick)
    assert stopped.returncode == 4, stopped.stdout
    assert not (suite / "video-mme").exists()
    gone = omnieval("run", "--resume", suite)
    assert gone.returncode == 4
    assert not (suite / "video-mme").exists()
    with FaultServer(answer_by_prompt) as another:
        assert omnieval("run", "--resume", suite, "--base-url", another.base_url).returncode == 0


def test_one_gate_judges_all_members(whole: tuple[Path, float], tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    shutil.copytree(whole[0], suite)
    gate = tmp_path / "gate.yaml"
    gate.write_text("daily-omni:\n  - rows == 23\nvideo-mme:\n  - rows == 7\nall:\n  - coverage >= 0.2\n")
    judged = omnieval("gate", suite, "--gate", gate, "--junit", tmp_path / "junit.xml")
    assert judged.returncode == 1
    assert "FAIL" in judged.stdout
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("4", "1")
    kept = json.loads((suite / "gate.json").read_text())
    assert {name: found["verdict"] for name, found in kept["members"].items()} == {
        "daily-omni": "pass", "video-mme": "fail",
    }  # fmt: skip
    gate.write_text("- coverage >= 0.2\n")
    passed = omnieval("gate", suite, "--gate", gate)
    assert passed.returncode == 0
    assert api.load_suite_report(suite).verdict == "pass"
    shutil.rmtree(suite / "video-mme")
    assert omnieval("gate", suite, "--gate", gate).returncode == 1, "a member that is not there is not passed"
    assert omnieval("gate", suite).returncode == 2, "the suite has no gate of its own"


def test_suites_are_compared_member_by_member_and_scored_again(
    whole: tuple[Path, float], tmp_path: Path
) -> None:
    suite, other = whole[0], tmp_path / "suite"
    shutil.copytree(suite, other)
    assert omnieval("compare", suite, other, "--html", tmp_path / "compare.html").returncode == 0
    compared = json.loads(omnieval("compare", suite, other, "--json").stdout)["comparisons"]
    assert [comparison["first"]["run"]["recipe"] for comparison in compared] == list(MEMBERS)
    for path in other.rglob("report.json"):
        path.unlink()
    assert omnieval("score", other).returncode == 0
    assert members(other) == members(suite)
    shutil.rmtree(other / "video-mme")
    assert "video-mme" in omnieval("compare", suite, other).stderr
