"""`omnieval diagnose` as a process: killed, interrupted, without a server, and its directory looked at later."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.diagnose import LadderExecution, plan_ladder
from omnieval.diagnose.findings import build_diagnosis
from omnieval.errors import StorageError
from omnieval.samples import sample_dir
from tests.command import omnieval, start
from tests.faults.server import DONE, Exchange, FaultServer, chunk
from tests.faults.test_diagnose import answer_in_any_order, count, numbered, sound, thinking


def arguments(url: str, cache: Path, out: Path, *more: str | Path) -> list[str | Path]:
    return [
        "diagnose", "daily-omni", "--sample", "--base-url", url, "--cache-dir", cache, "--out", out,
        "--limit", "2", "--set", "max_frames=2", *more,
    ]  # fmt: skip


class HangsAtSound:
    """A server that says nothing to sounds until it is let go."""

    def __init__(self) -> None:
        self.held = self.released = False

    async def __call__(self, exchange: Exchange) -> None:
        while sound(exchange.body) and not self.released:
            self.held = True
            await asyncio.sleep(0.02)
        await answer_in_any_order(exchange)


def until(true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_a_killed_diagnosis_goes_on_where_it_was(cache_dir: Path, tmp_path: Path) -> None:
    script, out = HangsAtSound(), tmp_path / "d"
    with FaultServer(script) as server:
        given = arguments(server.base_url, cache_dir, out)
        process = start(*given)
        until(lambda: script.held, process)
        process.kill()
        process.communicate()
        unfinished = omnieval("report", out)
        assert unfinished.returncode == 3
        assert f"with --out {out}" in unfinished.stderr
        script.released = True
        done = omnieval(*given, "--json")
        assert done.returncode == 0, done.stderr
        texts = [body for body in server.requests if not count(body, "image_url") and not sound(body)]
    found = json.loads(done.stdout)
    assert (found["complete"], found["first_break"]) == (True, None)
    assert len(texts) == 2


@pytest.mark.slow
def test_an_interrupted_diagnosis_tells_what_it_knows_and_how_to_go_on(
    cache_dir: Path, tmp_path: Path
) -> None:
    script, out = HangsAtSound(), tmp_path / "d"
    with FaultServer(script) as server:
        given = arguments(server.base_url, cache_dir, out)
        process = start(*given)
        until(lambda: script.held, process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        script.released = True
        printed = process.communicate(timeout=120)[0]
        assert process.returncode == 1, printed
        assert f"the same command with --out {out}" in printed
        told = json.loads((out / "diagnose.json").read_text())
        states = {rung["name"]: rung["state"] for rung in told["rungs"]}
        assert states["frames"] == "done"
        assert (states["stacked"], states["order"]) == ("not begun", "not begun")
        assert "INCOMPLETE: " in omnieval("report", out).stdout
        assert omnieval(*given).returncode == 0
    assert "TTFT of one rung does not compare" in (out / "diagnose.md").read_text()


def test_without_a_server_nothing_is_left(cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer() as server:
        gone = server.base_url
        server.models = None  # as a URL without /v1 would say
        wrong = omnieval(*arguments(server.base_url.removesuffix("/v1"), cache_dir, tmp_path / "d"))
    dead = omnieval(*arguments(gone, cache_dir, tmp_path / "d"))
    for done in (wrong, dead):
        assert done.returncode == 4, done.stderr
        assert "error: " in done.stderr
    assert not (tmp_path / "d").exists()


def test_what_cannot_be_diagnosed_is_said_with_the_next_step(cache_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "d"
    (tmp_path / "Videos").mkdir()
    (tmp_path / "qa.json").write_text("[]")
    for words, code, told in (
        (["diagnose", "daily-omny", "--sample"], 2, "did you mean 'daily-omni'"),
        (["diagnose", "daily-omni", "--sample", "--limit", "0"], 2, "--limit"),
        (["diagnose", "daily-omni", "--data", tmp_path, "--backend", "chance"], 3, "qa.json"),
        (["diagnose", "daily-omni", "--sample", "--backend", "chance", "--sample-id", "no"], 2, "no sample"),
    ):
        done = omnieval(*words, "--out", out, "--cache-dir", cache_dir)
        assert done.returncode == code, done.stderr
        assert told in done.stderr
    assert not out.exists()


@pytest.fixture(scope="module")
def of_chance(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("chance") / "d"
    done = omnieval(
        "diagnose", "daily-omni", "--data", sample_dir("daily-omni"), "--backend", "chance", "--limit", "1",
        "--out", out, "--cache-dir", cache_dir, "--set", "max_frames=1", "--set", "plan=uniform",
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return out


def of_one_sample(cache: Path, out: Path) -> dict[str, Any]:
    return {
        "backend": "chance", "data": str(sample_dir("daily-omni")), "select.limit": 1, "max_frames": 1,
        "plan": "uniform", "cache_dir": str(cache), "out": out,
    }  # fmt: skip


def test_a_rung_that_cannot_be_written_says_how_to_go_on(
    of_chance: Path, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a d"
    shutil.copytree(of_chance, out)
    shutil.rmtree(out / "sound")
    (out / "sound").write_text("in the way of a folder")
    with pytest.raises(StorageError, match=f"; to continue: the same command with --out '{out}'$"):
        api.diagnose("daily-omni", **of_one_sample(cache_dir, out))
    (out / "sound").unlink()
    assert api.diagnose("daily-omni", **of_one_sample(cache_dir, out)).complete


def test_a_rung_killed_before_its_report_is_unfinished(
    of_chance: Path, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "d"
    shutil.copytree(of_chance, out)
    (out / "sound" / "report.json").unlink()
    settings = {key: value for key, value in of_one_sample(cache_dir, out).items() if key != "out"}
    ladder = plan_ladder(api.configure("daily-omni", list(settings.items())))
    found = build_diagnosis(ladder, LadderExecution(out, "interrupted", "text"))
    assert {rung.name: rung.state for rung in found.rungs}["sound"] == "unfinished"
    assert not found.complete
    assert api.diagnose("daily-omni", **of_one_sample(cache_dir, out)).complete


def test_its_directory_is_reported_like_a_runs(of_chance: Path, tmp_path: Path) -> None:
    found = json.loads(omnieval("report", of_chance, "--json").stdout)
    assert found == json.loads((of_chance / "diagnose.json").read_text())
    text = omnieval("report", of_chance, "--markdown").stdout
    assert text == (of_chance / "diagnose.md").read_text()
    assert "chance draws letters" in text
    assert "TTFT of one rung does not compare" not in text, "it has no times"
    assert "diagnosis of daily-omni" in omnieval("report", of_chance).stdout
    page = tmp_path / "deep" / "page.html"
    page.parent.mkdir()
    assert omnieval("report", of_chance, "--html", page).returncode == 0
    link = page.read_text().split('href="')[1].split('"')[0]
    assert (page.parent / link).resolve() == of_chance.resolve() / "text" / "report.html"
    assert 'href="./text/report.html"' in (of_chance / "diagnose.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("heeds", [True, False])
def test_a_setting_that_changes_no_prompt_is_said_to_be_unheeded(
    heeds: bool, cache_dir: Path, tmp_path: Path
) -> None:
    async def counts(exchange: Exchange) -> None:
        body: dict[str, Any] = exchange.body
        media = 100 * (count(body, "image_url") + sound(body))
        more = 4 * (thinking(body) + numbered(body)) if heeds else 0
        usage = {"prompt_tokens": 50 + media + more, "completion_tokens": 1, "total_tokens": 0}
        await exchange.stream(chunk("A"), chunk("", finish="stop"), chunk(None, usage=usage), DONE)

    with FaultServer(counts) as server:
        done = omnieval(*arguments(server.base_url, cache_dir, tmp_path / "d", "--markdown"))
    unheeded = [
        name for name in ("image-id", "thinking") if f"{name}: its prompts have as many" in done.stdout
    ]
    assert unheeded == ([] if heeds else ["image-id", "thinking"])
