"""One command from files to report, over a real socket."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

import pytest

from omnieval import api
from omnieval.samples import sample_dir
from tests.command import lines, omnieval, report
from tests.faults.server import FaultServer


def run(server: FaultServer, cache: Path, out: Path, *more: str | Path, **environment: str) -> str:
    done = omnieval(
        "run", "daily-omni", "--sample", "--base-url", server.base_url, "--cache-dir", cache, "--out", out,
        *more, **environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = body["messages"][-1]["content"]
    return content


def test_the_report_is_printed_stored_and_read_back(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    shown = run(server, cache_dir, out)
    for words in ("plan minicpm", "prompt official", "packing minicpm-interleave", "By type", "By category",
                  "By duration", "rows of the data set", "95 % interval"):  # fmt: skip
        assert words in shown
    assert omnieval("report", out).stdout in shown
    markdown = omnieval("report", out, "--markdown").stdout
    assert markdown == (out / "report.md").read_text()
    assert json.loads(omnieval("report", out, "--json").stdout) == json.loads(
        (out / "report.json").read_text()
    )
    loaded = api.load_report(api.load_run(out))
    assert sum(line.count for line in loaded.accounting) == loaded.rows == len(lines(out / "samples.jsonl"))
    scores = [score for score in api.load_run(out).scores() if score.outcome == "correct"]
    assert loaded.official.correct == len(scores)
    for key, rows in loaded.groups.items():
        assert sum(row.official.correct for row in rows) == loaded.official.correct, key
        assert sum(row.strict.total for row in rows) == loaded.strict.total, key


def test_scoring_again_needs_no_server_and_gives_the_same_report(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run(server, cache_dir, out)
    asked, first = len(server.requests), (out / "report.json").read_bytes()
    for name in ("scores.jsonl", "report.json", "report.md"):
        (out / name).unlink()
    assert omnieval("score", out).returncode == 0
    assert (out / "report.json").read_bytes() == first
    assert len(server.requests) == asked


def test_questions_of_one_video_follow_each_other_and_frames_alternate_with_sound(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    run(server, cache_dir, tmp_path / "run", "--concurrency", "1")
    first_frames = [parts(body)[0]["image_url"]["url"] for body in server.requests]
    changes = sum(a != b for a, b in pairwise(first_frames))
    assert changes == len(set(first_frames)) - 1
    kinds = [part["type"] for part in parts(server.requests[0])]
    assert kinds == ["image_url", "audio_url"] * 6 + ["text"]
    names = [
        Path(unquote(urlsplit(p["image_url"]["url"]).path)).name for p in parts(server.requests[0])[0:12:2]
    ]
    assert names == [f"frame-{i:04d}.jpg" for i in range(6)]
    body = server.requests[0]
    assert body["max_tokens"] == 128
    assert body["temperature"] == 0.0
    assert body["modalities"] == ["text"]
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["mm_processor_kwargs"] == {
        "use_audio_in_video": False, "max_slice_nums": 1, "use_image_id": False,
    }  # fmt: skip
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_qwen_packing_sends_one_video_and_one_audio_with_its_system_prompt(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    shown = run(server, cache_dir, tmp_path / "all", "--set", "packing=qwen", "--limit", "1")
    assert f"--allowed-local-media-path {sample_dir('daily-omni').resolve()}" in shown
    body = server.requests[-1]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert [part["type"] for part in parts(body)] == ["video_url", "audio_url", "text"]
    assert body["mm_processor_kwargs"] == {"use_audio_in_video": False}
    for mode, kinds in {"visual": ["video_url", "text"], "audio": ["audio_url", "text"]}.items():
        run(
            server,
            cache_dir,
            tmp_path / mode,
            "--set",
            "packing=qwen",
            "--set",
            f"input_mode={mode}",
            "--limit",
            "1",
        )
        assert [part["type"] for part in parts(server.requests[-1])] == kinds


@pytest.mark.parametrize("mode", ["visual", "audio"])
def test_input_modes_send_only_what_they_name(
    mode: str, server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    run(server, cache_dir, tmp_path / "run", "--set", f"input_mode={mode}", "--limit", "1")
    kinds = [part["type"] for part in parts(server.requests[-1])]
    assert kinds == (["image_url"] * 6 if mode == "visual" else ["audio_url"]) + ["text"]
    wanted = {"visual": "given video.", "audio": "given audio."}[mode]
    assert wanted in parts(server.requests[-1])[-1]["text"]


def test_every_transport_carries_the_same_bytes(server: FaultServer, cache_dir: Path, tmp_path: Path) -> None:
    fetched: list[bytes] = []

    async def fetch_first_frame(exchange: Any) -> None:
        import asyncio

        url = parts(exchange.body)[0]["image_url"]["url"]
        if url.startswith("data:image/jpeg;base64,"):
            fetched.append(base64.b64decode(url.partition(",")[2]))
        else:
            fetched.append(await asyncio.to_thread(lambda: urlopen(url).read()))
        await exchange.answer("B")

    server.script = fetch_first_frame
    for kind in ("file", "inline", "http"):
        shown = run(server, cache_dir, tmp_path / kind, "--transport", kind, "--limit", "1")
        assert ("--allowed-local-media-path" in shown) == (kind == "file")
    assert len(fetched) == 3
    assert len(set(fetched)) == 1
    assert fetched[0].startswith(b"\xff\xd8")


def test_an_api_key_reaches_the_server_and_nothing_else(cache_dir: Path, tmp_path: Path) -> None:
    key = "sk-very-secret-0123456789"

    async def echo_key(exchange: Any) -> None:
        await exchange.json(401, {"error": {"message": f"Incorrect API key provided: {key}"}})

    with FaultServer(echo_key) as server:
        for name, extra in {"OPENAI_API_KEY": [], "MY_KEY": ["--api-key-env", "MY_KEY"]}.items():
            done = omnieval(
                "run", "daily-omni", "--sample", "--base-url", server.base_url, "--cache-dir", cache_dir,
                "--out", tmp_path / name, "--limit", "2", *extra, **{name: key},
            )  # fmt: skip
            assert server.headers[-1]["authorization"] == f"Bearer {key}"
            assert "Incorrect API key provided: ***" in (tmp_path / name / "responses.jsonl").read_text()
            assert key not in done.stdout + done.stderr
    for path in (*tmp_path.rglob("*"), *cache_dir.rglob("*")):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


def test_damaged_or_foreign_files_of_a_run_are_named(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run(server, cache_dir, out, "--limit", "2")
    with (out / "responses.jsonl").open("a") as file:
        file.write('{"sample_id": "stranger", "text": "A"}\n')
    rescored = omnieval("score", out)
    assert rescored.returncode == 0
    assert "holds 1 sample that this run does not have" in rescored.stdout
    for content in ("[]", "{}", "{"):
        (out / "report.json").write_text(content)
        shown = omnieval("report", out)
        assert shown.returncode == 3
        assert "report.json" in shown.stderr
        assert "Traceback" not in shown.stderr


def test_a_terminal_that_knows_only_ascii_gets_the_report_too(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    run(server, cache_dir, tmp_path / "run", "--limit", "1", PYTHONIOENCODING="ascii")
    assert omnieval("report", tmp_path / "run", PYTHONIOENCODING="ascii").returncode == 0


def test_selection_asks_a_part_and_counts_the_rest_as_not_asked(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    run(server, cache_dir, tmp_path / "run", "--filter", "type=Event Sequence", "--limit", "3")
    content = report(tmp_path / "run")
    outcome = {line["label"]: line["count"] for line in content["accounting"]}
    assert outcome["not asked: not selected"] == 20
    assert content["strict"]["total"] == 3
    assert {row["value"] for row in content["groups"]["type"]} == {"Event Sequence"}


def test_the_python_api_runs_resumes_and_scores(server: FaultServer, cache_dir: Path, tmp_path: Path) -> None:
    run = api.run(
        "daily-omni", sample=True, base_url=server.base_url, cache_dir=str(cache_dir), out=tmp_path / "run",
        limit=4, filter={"category": "Education"}, max_frames=3,
    )  # fmt: skip
    assert api.load_report(run).official.total == 4
    assert len([p for p in parts(server.requests[0]) if p["type"] == "image_url"]) == 3
    asked = len(server.requests)
    assert api.resume(run.directory, concurrency=1).directory == run.directory
    assert len(server.requests) == asked
    assert api.score(run).official == api.load_report(run).official


def test_the_tour_in_the_docstring_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import doctest

    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(api).failed == 0
    assert doctest.testmod(api).attempted > 0
