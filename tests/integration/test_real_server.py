"""A whole run against a real vLLM server (CPU build, a tiny random omni model).

The model answers nonsense; what is proven is the wire format, the order of the parts, the accounting and
the resume. The server is installed and started by `realserver/start_server.sh`.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnieval import api
from omnieval.backends.chat.openai_chat import chat_body
from omnieval.benchmarks.daily_omni import DailyOmni
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import prepare_media
from omnieval.media.transport import file_url
from omnieval.samples import sample_dir
from tests.command import lines, omnieval, report, start
from tests.media_files import make_video

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="the CPU build of the model server is for x86-64 only"
    ),
]

SCRIPTS = Path(__file__).parent / "realserver"
ROOT = Path(__file__).parent.parent.parent
QUESTIONS = 23
SHORT = ["--set", "decode.max_tokens=8"]


@dataclass
class RealServer:
    """media: the one folder that the server may read."""

    base_url: str
    media: Path
    folder: Path
    port: int

    def start(self, *more: str, media: Path | None = None) -> None:
        """more: flags that win over the usual ones. media: another folder than the one of the tests."""
        flags = ["--max-model-len", "16384", "--limit-mm-per-prompt", '{"image":96,"audio":64,"video":1}',
                 "--enable-prompt-tokens-details"]  # fmt: skip
        subprocess.run(
            [SCRIPTS / "start_server.sh", self.folder, *flags, *more],
            env=os.environ | {"PORT": str(self.port), "MEDIA": str(media or self.media)},
            stdin=subprocess.DEVNULL,
            check=True,
            timeout=800,
        )

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self.pid, number)

    @property
    def pid(self) -> int:
        return int((self.folder / "server.pid").read_text())

    def engine(self) -> int:
        """The process in which the model runs: the server's child of that name."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                same_group = os.getpgid(int(folder.name)) == self.pid
                title = (folder / "cmdline").read_bytes() + (folder / "comm").read_bytes()
            except (OSError, ValueError):
                continue
            if same_group and int(folder.name) != self.pid and b"EngineCore" in title:
                return int(folder.name)
        raise AssertionError("the server has no engine process")

    def kill(self) -> None:
        """Kill the whole server, and wait until its port is free."""
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        deadline = time.monotonic() + 30
        while socket.socket().connect_ex(("127.0.0.1", self.port)) == 0:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = Path(os.environ.get("OMNIEVAL_TEST_REALSERVER", ROOT / ".realserver")).absolute()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = RealServer(f"http://127.0.0.1:{port}/v1", tmp_path_factory.mktemp("media"), folder, port)
    server.start()
    yield server
    try:
        server.signal(signal.SIGKILL)
    except ProcessLookupError:
        return


def arguments(server: RealServer, out: Path, *more: str) -> list[str | Path]:
    return [
        "run", "daily-omni", "--sample", "--base-url", server.base_url, "--model", "tiny-omni",
        "--cache-dir", server.media / "cache", "--out", out, *SHORT, *more,
    ]  # fmt: skip


def accounted(out: Path) -> int:
    return sum(line["count"] for line in report(out)["accounting"])


def test_every_question_is_answered_and_its_media_reach_the_model(
    real_server: RealServer, tmp_path: Path
) -> None:
    done = omnieval(*arguments(real_server, tmp_path / "run"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"--allowed-local-media-path {real_server.media / 'cache'}" in done.stdout
    assert accounted(tmp_path / "run") == QUESTIONS
    assert report(tmp_path / "run")["official"]["total"] == QUESTIONS
    for response in lines(tmp_path / "run" / "responses.jsonl"):
        assert response["finish_reason"] in ("stop", "length")
        assert response["usage"]["multimodal"]["image"] > 0
        assert response["usage"]["multimodal"]["audio"] > 0
        assert response["usage"]["completion_tokens"] <= 8
        assert response["timing"]["ttft_s"] is None or response["timing"]["ttft_s"] > 0
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["server"]["max_model_len"] == 16384
    assert info["server"]["version"].startswith("0.")


def test_the_server_sees_frame_and_sound_in_turn_in_our_very_messages(real_server: RealServer) -> None:
    config = api.configure("daily-omni", sample=True)
    benchmark = DailyOmni(config)
    sample = benchmark.load().samples[0]
    plan = benchmark.plan(sample)
    assert plan is not None
    media = prepare_media(plan, MediaCache(real_server.media / "cache"))
    body = chat_body(benchmark.pack(sample, media), "tiny-omni", file_url)
    root = real_server.base_url.removesuffix("/v1")
    answer = httpx.post(
        f"{root}/tokenize",
        json={"model": "tiny-omni", "messages": body["messages"], "return_token_strs": True},
        timeout=60,
    )
    assert answer.status_code == 200, answer.text
    kinds = {"<|IMAGE|>": "image", "<|AUDIO|>": "audio"}
    blocks = [kind for kind, _ in groupby(kinds[t] for t in answer.json()["token_strs"] if t in kinds)]
    assert blocks == ["image", "audio"] * len(media.frames)


def test_inline_media_and_the_http_file_server_work_too(real_server: RealServer, tmp_path: Path) -> None:
    for kind in ("inline", "http"):
        out = tmp_path / kind
        done = omnieval(*arguments(real_server, out, "--transport", kind, "--limit", "2"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert report(out)["official"]["total"] == 2


def test_qwen_packing_sends_video_and_audio_files(real_server: RealServer, tmp_path: Path) -> None:
    data = real_server.media / "data"
    shutil.copytree(sample_dir("daily-omni"), data, dirs_exist_ok=True)
    done = omnieval(
        "run", "daily-omni", "--data", data, "--base-url", real_server.base_url, "--model", "tiny-omni",
        "--set", "packing=qwen", *SHORT, "--limit", "2", "--out", tmp_path / "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"--allowed-local-media-path {data}" in done.stdout
    assert report(tmp_path / "run")["official"]["total"] == 2, report(tmp_path / "run")["failures"]


def test_a_media_folder_that_the_server_may_not_read_stops_the_run_with_its_flag(
    real_server: RealServer, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    outside = omnieval(*arguments(real_server, out, "--cache-dir", str(tmp_path / "elsewhere")))
    assert outside.returncode == 4
    assert "--allowed-local-media-path" in outside.stderr
    assert {line["error"]["kind"] for line in lines(out / "responses.jsonl")} == {"configuration"}
    assert accounted(out) == QUESTIONS
    mended = omnieval("run", "--resume", out, "--cache-dir", real_server.media / "cache")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    assert report(out)["official"]["total"] == QUESTIONS


def test_too_many_parts_and_too_long_prompts_name_the_flag(real_server: RealServer, tmp_path: Path) -> None:
    long = omnieval(*arguments(real_server, tmp_path / "long", "--set", "decode.max_tokens=99999"))
    assert long.returncode == 4
    assert "--max-model-len" in long.stderr, long.stderr
    wrong = omnieval(*arguments(real_server, tmp_path / "wrong", "--model", "tiny-omny"))
    assert wrong.returncode == 4
    assert "did you mean 'tiny-omni'" in wrong.stderr


def test_a_diagnosis_climbs_every_rung_and_counts_what_it_adds(
    real_server: RealServer, tmp_path: Path
) -> None:
    data = real_server.media / "data"
    shutil.copytree(sample_dir("daily-omni"), data, dirs_exist_ok=True)
    done = omnieval(
        "diagnose", "daily-omni", "--data", data, "--base-url", real_server.base_url, "--model", "tiny-omni",
        *SHORT, "--cache-dir", real_server.media / "cache", "--limit", "2", "--out", tmp_path / "d", "--json",
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert found["complete"] is True
    assert f"the server needs --allowed-local-media-path {real_server.media}\n" in done.stderr
    rungs = {rung["name"]: rung for rung in found["rungs"]}
    assert [name for name, rung in rungs.items() if rung["state"] != "done" or rung["failed"]] == []
    tokens = {name: rung["prompt_tokens"] for name, rung in rungs.items()}
    climbing = ["text", "one-frame", "frames", "frames-and-sound", "stacked"]
    assert [tokens[name] for name in climbing] == sorted({tokens[name] for name in climbing})
    assert tokens["text"] < tokens["sound"] < tokens["frames-and-sound"]
    assert not any(one["kind"] == "ignored" for rung in rungs.values() for one in rung["breaks"])
    unheeded = [
        name for name in ("image-id", "thinking") if f"{name}: its prompts" in " ".join(found["notes"])
    ]
    assert unheeded == ["image-id", "thinking"], "this model knows neither"


def test_a_check_passes_where_the_server_is_right_and_names_what_it_lacks(real_server: RealServer) -> None:
    common = ("--sample", "--base-url", real_server.base_url, "--model", "tiny-omni", "--json")
    cache = ("--cache-dir", real_server.media / "cache")
    right = omnieval("check", "daily-omni", *common, *cache)
    assert right.returncode == 0, right.stdout + right.stderr
    verdicts = {finding["check"]: finding["verdict"] for finding in json.loads(right.stdout)}
    assert set(verdicts.values()) == {"pass"}, right.stdout
    assert {"order of the parts", "a sound reaches the model", "largest request"} <= set(verdicts)
    mute = omnieval("check", "seed-tts", *common, *cache)
    assert mute.returncode == 4
    failed = {finding["check"] for finding in json.loads(mute.stdout) if finding["verdict"] == "fail"}
    assert failed == {"sound comes back"}


def test_a_stopped_server_that_goes_on_costs_tries_and_no_sample(
    real_server: RealServer, tmp_path: Path
) -> None:
    """Without media: requests with such that are cut off leave vLLM 0.32's cache of them out of step."""
    out = tmp_path / "run"
    client = start(
        *arguments(real_server, out, "--set", "decode.max_tokens=64", "--concurrency", "2", "--limit", "12"),
        "--set", "media=none", "--set", "timeouts.first_token_s=10", "--set", "timeouts.between_chunks_s=5",
        "--set", "retry.first_wait_s=0.2",
    )  # fmt: skip
    wait_for_lines(out / "responses.jsonl", 2, client)
    real_server.signal(signal.SIGSTOP)
    try:
        wait_for_events(out, "server_gone", client)
    finally:
        real_server.signal(signal.SIGCONT)
    output = client.communicate(timeout=180)[0]
    assert client.returncode == 0, output
    failed = {line["error"]["kind"] for line in lines(out / "responses.jsonl") if line["error"]}
    assert failed == {"timeout"}
    assert "server_back" in {event["event"] for event in lines(out / "events.jsonl")}
    assert report(out)["official"]["total"] == 12


def test_a_run_outlives_its_engine_by_itself_and_by_resuming(real_server: RealServer, tmp_path: Path) -> None:
    """One restart for three runs: killed client, a client that does not wait, and one that does."""
    whole, out, waiting = tmp_path / "whole", tmp_path / "run", tmp_path / "waiting"
    longer = ("--set", "decode.max_tokens=24", "--concurrency", "2")
    undisturbed = omnieval(*arguments(real_server, whole, *longer))
    assert undisturbed.returncode == 0, undisturbed.stdout + undisturbed.stderr

    begun = arguments(real_server, out, *longer)
    client = start(*begun)
    wait_for_lines(out / "responses.jsonl", 2, client)
    client.kill()
    client.communicate()
    kept = {line["sample_id"] for line in lines(out / "responses.jsonl")}

    patient = start(*arguments(real_server, waiting, *longer))
    impatient = start(
        *begun, "--set", "retry.attempts=2", "--set", "retry.first_wait_s=0.01",
        "--set", "retry.wait_for_server_s=1",
    )  # fmt: skip
    wait_for_lines(out / "responses.jsonl", len(kept) + 2, impatient)
    wait_for_lines(waiting / "responses.jsonl", 2, patient)
    os.kill(real_server.engine(), signal.SIGKILL)
    output = impatient.communicate(timeout=120)[0]
    assert impatient.returncode == 4, output
    answers = [line for line in lines(out / "responses.jsonl") if line["error"] is None]
    assert all(line["finish_reason"] in ("stop", "length") for line in answers)
    assert accounted(out) == QUESTIONS
    assert report(out)["complete"] is False

    wait_for_events(waiting, "server_gone", patient)
    real_server.kill()
    real_server.start()
    output = patient.communicate(timeout=300)[0]
    assert patient.returncode == 0, output
    assert "server_back" in {event["event"] for event in lines(waiting / "events.jsonl")}
    assert report(waiting) == report(whole)

    resumed = omnieval("run", "--resume", out)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert report(out)["official"]["total"] == QUESTIONS
    answered = [line["sample_id"] for line in lines(out / "responses.jsonl") if line["error"] is None]
    assert len(answered) == len(set(answered)) == QUESTIONS
    assert kept <= set(answered)


def wait_for_lines(path: Path, count: int, process: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_events(out: Path, name: str, process: subprocess.Popen[Any]) -> None:
    """Until the run has noted an event of that name."""
    deadline = time.monotonic() + 120
    while name.encode() not in (out / "events.jsonl").read_bytes():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def long_video_set(folder: Path) -> Path:
    """A Video-MME set of one video of two minutes, in an archive, with one question."""
    video = make_video(folder / "long.mp4", seconds=120, fps=4, size=(48, 32))
    (folder / "videomme").mkdir()
    row = {
        "video_id": "001", "videoID": "long", "question_id": "001-1", "question": "What is counted?",
        "options": ["A. Sheep", "B. Frames", "C. Stars", "D. Steps"], "answer": "B", "duration": "short",
        "domain": "Knowledge", "sub_category": "Numbers", "task_type": "Counting",
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), folder / "videomme" / "test-00000-of-00001.parquet")
    with zipfile.ZipFile(folder / "videos_chunked_01.zip", "w") as archive:
        archive.write(video, "data/long.mp4")
    video.unlink()
    return folder


def test_96_pictures_of_one_video_reach_the_model(real_server: RealServer, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data = long_video_set(tmp_path / "data")
    done = omnieval(
        "run", "video-mme", "--data", data, "--base-url", real_server.base_url, "--model", "tiny-omni",
        "--cache-dir", real_server.media / "cache", "--out", tmp_path / "run", *SHORT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (response,) = lines(tmp_path / "run" / "responses.jsonl")
    assert response["error"] is None
    assert response["usage"]["multimodal"]["image"] >= 96
    assert response["usage"]["multimodal"]["image"] % 96 == 0
    assert report(tmp_path / "run")["official"]["total"] == 1


def test_constrained_letters_are_letters(real_server: RealServer, tmp_path: Path) -> None:
    free, bound = tmp_path / "free", tmp_path / "bound"
    assert omnieval(*arguments(real_server, free, "--limit", "6")).returncode == 0
    constrained = omnieval(*arguments(real_server, bound, "--limit", "6", "--set", "decode.constrain=choice"))
    assert constrained.returncode == 0, constrained.stdout + constrained.stderr
    assert all(response["text"] in "ABCD" for response in lines(bound / "responses.jsonl"))
    content = report(bound)
    assert content["headline"]["constrained to"] == "a letter"
    assert content["health"] == []
    assert {companion["name"] for companion in content["companions"]} == {"free to write"}


def test_media_that_the_server_keeps_by_name_are_sent_once_and_mean_the_same(
    real_server: RealServer, tmp_path: Path
) -> None:
    outs = {by_name: tmp_path / by_name for by_name in ("auto", "never")}
    for by_name, out in outs.items():
        more = ["--set", "preflight=always", "--set", f"transport.by_name={by_name}", "--limit", "8"]
        done = omnieval(*arguments(real_server, out, *SHORT, *more, "--concurrency", "2"))
        assert done.returncode == 0, done.stderr
    named, carried = (api.load_run(out) for out in outs.values())
    event = next(event for event in named.events() if event["event"] == "media_by_name")
    assert event["named"] > 0 and event["carried"] > 0 and event["missed"] == 0
    texts = [
        {name: response.text for name, response in run.last_responses().items()} for run in (named, carried)
    ]
    assert len(texts[0]) == 8 and texts[0] == texts[1]


def test_wrong_flags_are_found_by_a_check_with_what_mends_them(
    real_server: RealServer, tmp_path: Path
) -> None:
    """The last test of this server, which is started once more with less than the recipe needs."""
    real_server.kill()
    real_server.start(
        "--max-model-len", "256", "--limit-mm-per-prompt", '{"image":2,"audio":2}', media=tmp_path
    )  # fmt: skip

    def fixes(cache: Path, *more: str) -> dict[str, str]:
        done = omnieval(
            "check", "daily-omni", "--sample", "--base-url", real_server.base_url, "--model", "tiny-omni",
            "--cache-dir", cache, "--json", *more,
        )  # fmt: skip
        assert done.returncode == 4, done.stdout + done.stderr
        found = json.loads(done.stdout)
        return {line["check"]: line["fix"] for line in found if line["verdict"] == "fail"}

    elsewhere = fixes(real_server.media / "cache")
    assert "--allowed-local-media-path" in elsewhere["a picture reaches the model"]
    assert "--limit-mm-per-prompt" in fixes(tmp_path / "cache")["largest request"]
    short = fixes(tmp_path / "cache", "--set", "max_frames=2", "--set", "decode.max_tokens=512")
    assert "--max-model-len" in short["largest request"]
