"""The ladder on every kind of deployment, as stand-ins: all that a backend can do is asked, the rest is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.diagnose import plan_ladder
from tests.command import lines, omnieval
from tests.faults.duplex_server import DuplexServer, Turn
from tests.faults.speech_server import tone
from tests.faults.test_engine import all_gone
from tests.faults.test_llamacpp_cli import Machine
from tests.faults.test_vllm_omni_offline import SEARCH, make_model, pids
from tests.standins.llamacpp_programs import journal
from tests.standins.llamacpp_server import LlamaCppServerStandIn
from tests.standins.minicpmo.build import build

ALL = [
    "text", "one-frame", "frames", "sound", "frames-and-sound", "more-frames", "stacked", "longer-sound",
    "image-id", "thinking", "order",
]  # fmt: skip

Rungs = dict[str, dict[str, Any]]


def climb(backend: str, cache: Path, out: Path, *more: str | Path, **env: str) -> Rungs:
    """The rungs by name of a diagnosis of one sample, in which nothing may fail."""
    done = omnieval(
        "diagnose", "daily-omni", "--sample", "--backend", backend, "--cache-dir", cache, "--out", out, "--json",
        "--limit", "1", "--set", "max_frames=4", "--set", "telemetry.devices=none", *more, **env,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    rungs: Rungs = {rung["name"]: rung for rung in json.loads(done.stdout)["rungs"]}
    assert {name: rung["failures"] for name, rung in rungs.items() if rung["failures"]} == {}
    assert {rung["state"] for rung in rungs.values()} <= {"done", "left out"}
    return rungs


def asked(rungs: Rungs) -> list[str]:
    return [name for name, rung in rungs.items() if rung["state"] == "done"]


def test_llamacpps_programs_show_the_media_before_the_text(cache_dir: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    rungs = climb("llamacpp-omni", cache_dir, tmp_path / "d", *machine.arguments(), "--set", "max_frames=4")
    assert asked(rungs) == ["text", "one-frame", "frames", "frames-and-sound", "more-frames", "longer-sound"]
    assert "hear no sound without a picture" in rungs["sound"]["left_out"]
    assert "one picture before each sound" in rungs["stacked"]["left_out"]
    assert "media before the text" in rungs["order"]["left_out"]
    for name in ("image-id", "thinking"):
        assert rungs[name]["left_out"] == "llama.cpp-omni takes no such setting from a request"
    infers = [entry for entry in journal(machine.bin) if entry["what"] == "infer"]
    assert [(len(one["frames"]), len(one["audios"])) for one in infers] == [
        (0, 0), (1, 0), (4, 0), (4, 4), (8, 8), (1, 1),
    ]  # fmt: skip
    assert all_gone(machine.pids())


@pytest.mark.slow
def test_llamacpps_server_keeps_any_order(cache_dir: Path, tmp_path: Path) -> None:
    with LlamaCppServerStandIn() as server:
        rungs = climb(
            "llamacpp-omni", cache_dir, tmp_path / "d", "--base-url", server.base_url, "--set",
            "llamacpp.transport=http",
        )  # fmt: skip
        starts = [i for i, (path, _) in enumerate(server.said) if path == "omni_init"]
    assert asked(rungs) == [name for name in ALL if name not in ("image-id", "thinking")]
    last = [body for path, body in server.said[starts[-1] :] if path == "prefill"]
    assert last[1]["text"] and last[2]["img_path_prefix"], "the question stands before the first picture"


@pytest.mark.slow
def test_vllm_omni_in_process_does_every_rung(cache_dir: Path, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    rungs = climb("vllm-omni-offline", cache_dir, tmp_path / "d", "--model", model, PYTHONPATH=SEARCH)
    assert asked(rungs) == ALL
    prompts = {name: one["prompts"][0] for name, one in zip(ALL, lines(model / "CALLS"), strict=True)}
    media = {name: prompt.get("media", {}) for name, prompt in prompts.items()}
    assert [len(media[name].get("image", ())) for name in ("text", "frames", "stacked")] == [0, 4, 7]
    assert prompts["image-id"]["mm_processor_kwargs"]["use_image_id"] is True
    assert "<think>\n\n</think>" in prompts["frames-and-sound"]["prompt"]
    assert "<think>\n\n</think>" not in prompts["thinking"]["prompt"]
    assert prompts["order"]["prompt"].index("Your task is") < prompts["order"]["prompt"].index("<image>")
    assert all_gone(pids(model))


@pytest.mark.torch
@pytest.mark.timeout(900)
def test_minicpmo_in_process_does_every_rung(cache_dir: Path, tmp_path: Path) -> None:
    model = build(tmp_path / "model", "acting_omni", diary=str(tmp_path / "diary"))
    rungs = climb(
        "transformers-minicpmo", cache_dir, tmp_path / "d", "--model", model, "--set", "engine.devices=[cpu]",
        "--set", "engine.trust_remote_code=true",
    )  # fmt: skip
    assert asked(rungs) == ALL
    assert all_gone([int(line) for line in (tmp_path / "diary").read_text().split()])


@pytest.mark.embedded
@pytest.mark.slow
def test_the_embedded_baseline_looks_and_hears(cache_dir: Path, tmp_path: Path) -> None:
    rungs = climb("embedded", cache_dir, tmp_path / "d")
    assert asked(rungs) == [name for name in ALL if name not in ("image-id", "thinking", "order")]
    assert rungs["order"]["left_out"] == "the backend embedded takes no such setting"


def test_a_full_duplex_session_is_asked_the_text_alone(cache_dir: Path, tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn(), lambda _: tone(0.6))
    with server.running():
        done = omnieval(
            "diagnose", "daily-omni", "--sample", "--backend", "realtime-duplex", "--model", "fake", "--limit", "1",
            "--base-url", server.base_url, "--set", "decode.temperature=null", "--cache-dir", cache_dir,
            "--set", "extra_body={}", "--out", tmp_path / "d", "--json",
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    rungs: Rungs = {rung["name"]: rung for rung in json.loads(done.stdout)["rungs"]}
    assert asked(rungs) == ["text", "recipe"]
    assert all("takes no media" in rungs[name]["left_out"] for name in ("frames", "sound", "order"))
    (refusal,) = [one for one in rungs["recipe"]["breaks"] if one["kind"] == "failures"]
    assert "no field for the pictures and sounds" in refusal["found"]
    assert "media=none" in refusal["fix"]


@pytest.mark.parametrize(
    ("recipe", "settings", "left_out"),
    [
        ("video-mme-short", {}, {"sound", "stacked", "image-id", "thinking", "order"}),
        ("video-mme", {}, {"sound", "image-id", "thinking", "order"}),
        ("video-mme", {"llamacpp.program": "bin/llama-omni-eval-cli"},
         {"sound", "frames-and-sound", "longer-sound", "image-id", "thinking", "order"}),
        ("daily-omni", {"input_mode": "visual"}, {"sound", "image-id", "thinking", "order"}),
        ("daily-omni", {"llamacpp.transport": "http"}, {"image-id", "thinking"}),
    ],
)  # fmt: skip
def test_llamacpp_is_asked_what_its_program_can_do(
    recipe: str, settings: dict[str, Any], left_out: set[str]
) -> None:
    given = [("backend", "llamacpp-omni"), ("model", "m.gguf"), *settings.items()]
    ladder = plan_ladder(api.configure(recipe, given, sample=True))
    assert {rung.name for rung in ladder.rungs if rung.config is None} == left_out
