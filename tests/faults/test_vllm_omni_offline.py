"""vLLM-Omni's engine in a process of the run: what it is given, what comes back, and every way to lose it.

The engine is a stand-in with the calls of the real one (`tests/standins/vllm_omni_package`); processes, their
children and their deaths are real.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import wave
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.vllm_omni.offline import create
from omnieval.errors import BackendError, ConfigError
from omnieval.report.stages import stage_seconds
from omnieval.samples import sample_dir
from omnieval.types import Generation, Message, Request, Response, TextPart
from tests.command import command, environment, lines, omnieval, report
from tests.faults.test_engine import all_gone

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tests/standins/vllm_omni_package"
SEARCH = os.pathsep.join(map(str, (PACKAGE, ROOT)))
HEADER = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'


def make_model(folder: Path, **faults: str) -> Path:
    """A whole model folder; faults: see the stand-in's `Omni`."""
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["MiniCPMO"]}')
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(len(HEADER).to_bytes(8, "little") + HEADER + bytes(4))
    (folder / "FAULTS").write_text(json.dumps(faults))
    return folder


@pytest.fixture
def engine_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", SEARCH)
    monkeypatch.syspath_prepend(str(PACKAGE))


def question(text: str, *modalities: str) -> Request:
    return Request(
        text, (Message("user", (TextPart(text),)),), Generation(), modalities=modalities or ("text",)
    )


def ask(
    model: Path, cache: Path, *requests: Request, at_once: bool = False, **settings: Any
) -> list[Response]:
    """The answers of a fresh backend, one after the other, or all asked at once."""
    config = api.configure(
        "daily-omni",
        [
            ("backend", "vllm-omni-offline"), ("model", str(model)), ("cache_dir", str(cache)),
            *((key.replace("__", "."), value) for key, value in settings.items()),
        ],
    )  # fmt: skip

    async def work() -> list[Response]:
        backend = create(config, BackendContext())
        try:
            await backend.check()
            if at_once:
                return list(await asyncio.gather(*map(backend.generate, requests)))
            return [await backend.generate(request) for request in requests]
        finally:
            await backend.close()

    return asyncio.run(work())


def pids(model: Path) -> list[int]:
    return [int(line) for line in (model / "PIDS").read_text().split()]


@pytest.mark.usefixtures("engine_installed")
@pytest.mark.parametrize(
    ("fault", "kind", "retryable", "words", "starts"),
    [
        ("die", "server", True, "NPU error 507011", 2),
        ("be killed", "server", True, "ended by SIGKILL", 2),
        ("hang", "timeout", True, "did not answer within 2 s", 2),
        ("raise", "sample", False, "Failed to apply MiniCPMOProcessor", 2),
        ("lose a stage", "server", True, "no live replica", 2),
        ("garbage", "protocol", False, "its output cannot be read", 1),
        ("nothing", "protocol", False, "no output for this prompt", 1),
        ("no reason", "protocol", False, "no finish reason", 1),
        ("give up", "server", True, "abort", 1),
        ("no numbers", "audio", False, "no numbers", 1),
    ],
)
def test_a_fault_fails_its_request_and_the_next_is_answered(
    fault: str, kind: str, retryable: bool, words: str, starts: int, cache_dir: Path, tmp_path: Path
) -> None:
    model = make_model(tmp_path / "model", poison=fault)
    asked = (question("first"), question("poison", "text", "audio"), question("last"))
    first, failed, last = ask(model, cache_dir, *asked, timeouts__total_s=2)
    assert first.answered and last.answered
    assert failed.error is not None
    assert (failed.error.kind, failed.error.retryable) == (kind, retryable)
    assert words in failed.error.message
    assert len(pids(model)) == 3 * starts
    assert all_gone(pids(model))


@pytest.mark.usefixtures("engine_installed")
def test_sound_comes_as_a_wav_of_24_khz(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model", loud="too loud", mute="no sound")
    plain, loud, mute = ask(
        model, cache_dir, *(question(text, "text", "audio") for text in ("plain", "loud", "mute"))
    )
    for response in (plain, loud):
        assert response.audio is not None
        assert (response.audio.rate_hz, response.audio.channels, response.audio.frames) == (24_000, 1, 12_000)
        assert response.timing.rtf == pytest.approx((response.timing.e2e_s or 0) / 0.5, rel=0.01)
        assert response.timing.ttfp_s is None, "nothing comes in pieces"
        assert (response.timing.ttft_s, response.timing.tpot_s) == (0.0125, 0.009), "by the engine's clock"
        assert stage_seconds(response.server_metrics) == {"thinker": 0.04, "talker": 0.16}
    assert plain.notes == ()
    assert "1 samples of the sound were beyond full scale" in loud.notes[0]
    assert mute.answered and mute.audio is None, "the scorer counts it as no_audio"


@pytest.mark.usefixtures("engine_installed")
def test_requests_that_wait_are_worked_on_together(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    requests = [question(f"number {i}") for i in range(12)]
    answers = ask(model, cache_dir, *requests, at_once=True, concurrency=6)
    assert [response.text for response in answers] == [
        "ABCD"[len(_rendered(request)) % 4] for request in requests
    ]
    sizes = [len(call["prompts"]) for call in lines(model / "CALLS")]
    assert sum(sizes) == 12
    assert max(sizes) == 6


def _rendered(request: Request) -> str:
    return f"<|im_start|>user\n{request.sample_id}<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.usefixtures("engine_installed")
def test_of_requests_that_failed_together_each_is_asked_alone(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model", poison="raise")
    requests = [question("one"), question("poison"), question("two")]
    config = api.configure(
        "daily-omni",
        [("backend", "vllm-omni-offline"), ("model", str(model)), ("cache_dir", str(cache_dir))],
    )

    async def work() -> tuple[list[Response], list[Response]]:
        backend = create(config, BackendContext())
        try:
            await backend.check()
            together = list(await asyncio.gather(*map(backend.generate, requests)))
            return together, [await backend.generate(request) for request in requests]
        finally:
            await backend.close()

    together, alone = asyncio.run(work())
    assert all(r.error is not None and r.error.retryable for r in together)
    assert "one of 3 requests" in together[0].error.message  # type: ignore[union-attr]
    assert [r.error and r.error.kind for r in alone] == [None, "sample", None]


def arguments(model: Path, cache: Path, run: Path, *more: str) -> list[str]:
    return [
        "run", "daily-omni", "--sample", "--backend", "vllm-omni-offline", "--model", str(model), "--out", str(run),
        "--cache-dir", str(cache), "--set", "telemetry.devices=none", "--set", "max_frames=4", "--limit", "6",
        "--set", "retry.first_wait_s=0.01", *more,
    ]  # fmt: skip


def test_a_run_hands_over_pictures_and_sounds_as_arrays_in_their_order(
    cache_dir: Path, tmp_path: Path
) -> None:
    model = make_model(tmp_path / "model")
    run = tmp_path / "run"
    done = omnieval(*arguments(model, cache_dir, run, "--set", "engine.devices=[cpu]"), PYTHONPATH=SEARCH)
    assert done.returncode == 0, done.stderr
    assert report(run)["complete"] is True
    prompt = lines(model / "CALLS")[0]["prompts"][0]
    pair = "(<image>./</image>)\n(<audio>./</audio>)\n"
    assert prompt["prompt"].startswith(f"<|im_start|>user\n{pair * 4}Your task is")
    assert prompt["prompt"].endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert prompt["modalities"] == ["text"]
    assert prompt["mm_processor_kwargs"] == {
        "use_audio_in_video": False, "max_slice_nums": 1, "use_image_id": False
    }  # fmt: skip
    assert [len(shape) for shape in prompt["media"]["image"]] == [3] * 4
    assert [len(shape) for shape in prompt["media"]["audio"]] == [1] * 4
    call = lines(model / "CALLS")[0]
    assert call["max_tokens"] == [128, 4096], "the request's for the text, the deploy file's for the rest"
    assert call["temperature"] == [0.0, 0.7]
    facts = json.loads((run / "run.json").read_text())["server"]
    assert facts["version"] == "0.30.0" and facts["details"]["vllm"] == "0.30.1"
    assert facts["details"]["sampling"][0]["repetition_penalty"] == 1.1
    assert all_gone(pids(model))


@pytest.mark.slow
def test_several_devices_share_a_run_each_with_its_own_card(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    code = (
        "from pathlib import Path; from omnieval.backends.engines import devices; import sys; "
        "devices._DEV = Path(sys.argv.pop(1)); from omnieval.cli import main; main()"
    )
    cards = tmp_path / "dev"
    cards.mkdir()
    for i in range(4):
        (cards / f"nvidia{i}").touch()
    more = ["--set", "engine.devices=[cuda:0, cuda:2+3]", "--concurrency", "2"]
    done = subprocess.run(
        [sys.executable, "-c", code, str(cards), *arguments(model, cache_dir, tmp_path / "run", *more)],
        env=environment(PYTHONPATH=SEARCH), capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = {tuple(call["devices"]) for call in lines(model / "CALLS")}
    assert seen == {(None, "0"), (None, "2,3")}
    servers = {line["server"] for line in lines(tmp_path / "run" / "responses.jsonl")}
    assert servers == {"cuda:0", "cuda:2+3"}
    assert all_gone(pids(model))


def test_a_voice_is_copied_and_the_sound_kept(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    run = tmp_path / "run"
    done = omnieval(
        "run", "seed-tts-en", "--data", sample_dir("seed-tts"), "--backend", "vllm-omni-offline",
        "--model", model, "--out", run, "--cache-dir", cache_dir, "--limit", "2", "--set", "warmup=0",
        PYTHONPATH=SEARCH,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    prompt = lines(model / "CALLS")[0]["prompts"][0]
    assert prompt["prompt"].endswith("</think>\n\n<|tts_bos|>")
    assert prompt["modalities"] == ["text", "audio"]
    told = prompt["additional_information"]
    assert told["task_type"] == ["Base"] and told["language"] == ["English"]
    assert Path(told["ref_audio"][0]).is_file() and told["ref_text"][0]
    with wave.open(told["ref_audio"][0]) as voice:
        assert prompt["voice"] == [voice.getnframes(), voice.getframerate()]
    assert "the bottleneck is the talker: 80 % of the stages' time" in (run / "report.md").read_text()
    for response in lines(run / "responses.jsonl"):
        with wave.open(str(run / "audio" / response["audio"]["file"].rpartition("/")[2])) as sound:
            assert (sound.getframerate(), sound.getnframes()) == (24_000, 12_000)


def test_an_engine_that_dies_in_the_middle_is_started_anew_and_nothing_is_lost(
    cache_dir: Path, tmp_path: Path
) -> None:
    model = make_model(tmp_path / "model", task="2 die")
    run = tmp_path / "run"
    done = omnieval(*arguments(model, cache_dir, run), PYTHONPATH=SEARCH)
    assert done.returncode == 0, done.stderr
    assert report(run)["complete"] is True
    tries = lines(run / "responses.jsonl")
    assert sum(line["error"] is None for line in tries) == 6
    assert {line["error"]["kind"] for line in tries if line["error"]} == {"server"}
    assert len(pids(model)) == 9
    assert all_gone(pids(model))


@pytest.mark.slow
def test_an_engine_that_always_dies_stops_the_run_which_can_be_resumed(
    cache_dir: Path, tmp_path: Path
) -> None:
    model = make_model(tmp_path / "model", task="die")
    run = tmp_path / "run"
    done = omnieval(
        *arguments(model, cache_dir, run, "--limit", "12", "--set", "engine.restarts=2"), PYTHONPATH=SEARCH
    )
    assert done.returncode == 4, done.stdout
    assert "3 times in a row without an answer" in done.stderr
    assert f"omnieval run --resume {run}" in done.stderr
    assert len(pids(model)) == 9
    (model / "FAULTS").write_text("{}")
    resumed = omnieval("run", "--resume", run, PYTHONPATH=SEARCH)
    assert resumed.returncode == 0, resumed.stderr
    assert report(run)["complete"] is True
    assert all_gone(pids(model))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raise", "cannot start: RuntimeError: NPU out of memory. Tried to allocate 20.00 GiB"),
        ("die", "NPU error 507011"),
        ("hang", "not ready after 2 s"),
    ],
)
def test_an_engine_that_cannot_start_says_why(
    fault: str, words: str, cache_dir: Path, tmp_path: Path
) -> None:
    model = make_model(tmp_path / "model", start=fault)
    limit = ["--set", "engine.start_s=2"] if fault == "hang" else []
    done = omnieval(*arguments(model, cache_dir, tmp_path / "run", *limit), PYTHONPATH=SEARCH)
    assert done.returncode == 4
    assert words in done.stderr
    log = re.search(r"see (/\S+\.log)", done.stderr)
    assert log is not None and "INFO loading the stages" in Path(log[1]).read_text()
    assert not (tmp_path / "run").exists()
    assert all_gone(pids(model))


def started(model: Path, cache: Path, run: Path) -> subprocess.Popen[str]:
    """A run whose engine is at work on its first request, for ever."""
    process = subprocess.Popen(
        command(*arguments(model, cache, run, "--concurrency", "1")),
        env=environment(PYTHONPATH=SEARCH), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (model / "CALLS").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_client_that_ends_leaves_no_process_and_a_run_to_resume(
    number: signal.Signals, cache_dir: Path, tmp_path: Path
) -> None:
    model = make_model(tmp_path / "model", task="hang")
    run = tmp_path / "run"
    process = started(model, cache_dir, run)
    process.send_signal(number)
    if number == signal.SIGINT:
        time.sleep(0.5)
        process.send_signal(number)  # at once
    process.communicate(timeout=60)
    assert all_gone(pids(model))
    (model / "FAULTS").write_text("{}")
    resumed = omnieval("run", "--resume", run, PYTHONPATH=SEARCH)
    assert resumed.returncode == 0, resumed.stderr
    assert report(run)["complete"] is True


@pytest.mark.slow
def test_an_engine_that_is_killed_from_outside_is_replaced(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model", task="1 hang")
    run = tmp_path / "run"
    process = started(model, cache_dir, run)
    os.kill(pids(model)[0], signal.SIGKILL)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 0, output
    assert all_gone(pids(model))


def check_rows(model: Path, *more: str, **env: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = omnieval(
        "check", "daily-omni", "--sample", "--backend", "vllm-omni-offline", "--model", model, "--json", *more,
        **{"PYTHONPATH": SEARCH, **env},
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, {row["check"]: row for row in json.loads(done.stdout)}


def test_a_check_tells_packages_model_and_the_largest_request(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    code, rows = check_rows(model, "--cache-dir", str(cache_dir))
    assert code == 0
    assert {row["verdict"] for row in rows.values()} == {"pass"}
    assert rows["engine"]["found"] == "vllm 0.30.1, vllm-omni 0.30.0"
    assert "all files there" in rows["model"]["found"]
    assert rows["largest request"]["verdict"] == "pass"


def test_a_check_tells_what_is_missing(tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    (model / "config.json").write_text('{"auto_map": {"AutoModel": "modeling_minicpmo.MiniCPMO"}}')
    (model / "modeling_minicpmo.py").touch()
    code, rows = check_rows(model)
    assert code == 4
    assert "engine.trust_remote_code=true" in rows["code of the model"]["fix"]

    (model / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    code, rows = check_rows(
        model, "--set", "engine.devices=[npu:63]", "--set", f"vllm_omni.deploy_config={tmp_path}/no.yaml"
    )
    assert code == 4
    assert "Git LFS pointer" in rows["model"]["found"]
    assert "no npu at all" in rows["device npu:63"]["found"]
    assert "vllm-ascend" in rows["Ascend"]["found"]
    assert "No such file" in rows["deploy file"]["found"]

    code, rows = check_rows(tmp_path / "nowhere")
    assert code == 4 and rows["model"]["verdict"] == "fail"


def test_a_check_tells_a_missing_engine_and_versions_that_do_not_fit(tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    code, rows = check_rows(model, PYTHONPATH=str(ROOT))
    assert code == 4
    assert "vllm_omni" in rows["engine"]["found"]
    assert "omnieval[vllm-omni]" in rows["engine"]["fix"]
    other = tmp_path / "vllm-0.31.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.31.0\n")
    code, rows = check_rows(model, PYTHONPATH=os.pathsep.join([str(tmp_path), SEARCH]))
    assert code == 4
    assert "vllm 0.31.0, vllm-omni 0.30.0: they must be of one release" in rows["engine"]["found"]
    assert "vllm==0.30.*" in rows["engine"]["fix"]


@pytest.mark.usefixtures("engine_installed")
def test_settings_that_it_does_not_heed_are_refused(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    with pytest.raises(ConfigError, match=r"extra_body\.guided_choice means nothing"):
        ask(model, cache_dir, extra_body__guided_choice=["A"])
    with pytest.raises(ConfigError, match="needs the model"):
        create(api.configure("daily-omni", [("backend", "vllm-omni-offline")]), BackendContext())
    with pytest.raises(ConfigError, match=r"vllm_omni\.arguments\.model has a setting of its own"):
        ask(model, cache_dir, vllm_omni__arguments={"model": "x"})
    with pytest.raises(BackendError, match="unexpected keyword argument 'no_such'"):
        ask(model, cache_dir, vllm_omni__arguments={"no_such": 1})


@pytest.mark.slow
def test_a_limit_of_the_engine_names_the_setting_that_mends_it(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    done = omnieval(
        *arguments(model, cache_dir, tmp_path / "run"), "--set", "vllm_omni.arguments={limit_mm_per_prompt: {image: 2, audio: 2}}",
        "--concurrency", "1", "--set", "engine.restarts=20", PYTHONPATH=SEARCH,
    )  # fmt: skip
    assert done.returncode == 1
    first = lines(tmp_path / "run" / "responses.jsonl")[0]["error"]
    assert first["kind"] == "configuration" and "At most 2 image" in first["message"]
    assert "limit_mm_per_prompt" in first["hint"]
