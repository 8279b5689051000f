"""A whole run against a real vLLM server (CPU build, a tiny random omni model).

The model answers nonsense; what is proven is the wire format, the order of the parts, the accounting and
the resume. The server is installed and started by `realserver/start_server.sh`.
"""

from __future__ import annotations

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
from omnieval.backends.openai_chat import chat_body
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

    def start(self) -> None:
        flags = ["--max-model-len", "16384", "--limit-mm-per-prompt", '{"image":96,"audio":64,"video":1}',
                 "--enable-prompt-tokens-details"]  # fmt: skip
        subprocess.run(
            [SCRIPTS / "start_server.sh", self.folder, *flags],
            env=os.environ | {"PORT": str(self.port), "MEDIA": str(self.media)},
            stdin=subprocess.DEVNULL,
            check=True,
            timeout=800,
        )

    def signal(self, number: signal.Signals) -> None:
        os.killpg(int((self.folder / "server.pid").read_text()), number)


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


def test_a_killed_client_resumes_and_a_killed_server_leaves_no_false_answer(
    real_server: RealServer, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    begun = arguments(real_server, out, "--set", "decode.max_tokens=64", "--concurrency", "2")
    client = start(*begun)
    wait_for_lines(out / "responses.jsonl", 2, client)
    client.kill()
    client.communicate()
    kept = {line["sample_id"] for line in lines(out / "responses.jsonl")}

    quick = [
        "--set", "retry.attempts=2", "--set", "retry.first_wait_s=0.01", "--set", "retry.wait_for_server_s=1"
    ]  # fmt: skip
    client = start(*begun, *quick)
    wait_for_lines(out / "responses.jsonl", len(kept) + 2, client)
    real_server.signal(signal.SIGKILL)
    output = client.communicate(timeout=120)[0]
    assert client.returncode == 4, output
    answers = [line for line in lines(out / "responses.jsonl") if line["error"] is None]
    assert all(line["finish_reason"] in ("stop", "length") for line in answers)
    assert accounted(out) == QUESTIONS
    assert report(out)["complete"] is False

    real_server.start()
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
