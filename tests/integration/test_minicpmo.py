"""A real, tiny, random multimodal model of transformers, asked in process from files to report."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import pytest

from tests.command import lines, omnieval
from tests.standins.minicpmo.build import build

pytestmark = [pytest.mark.torch, pytest.mark.timeout(900)]  # torch starts anew for each run


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("tiny") / "model", "tiny_omni")


def arguments(model: Path, cache: Path, out: Path, *more: str) -> list[str | Path]:
    settings = [
        "backend=transformers-minicpmo", "engine.devices=[cpu]", "engine.trust_remote_code=true",
        "transformers.dtype=float32", "decode.max_tokens=12", *more,
    ]  # fmt: skip
    flags = [word for setting in settings for word in ("--set", setting)]
    return ["--sample", "--model", model, "--cache-dir", cache, *flags, "--out", out]


def texts(out: Path) -> list[str]:
    return [
        line["text"] for line in sorted(lines(out / "responses.jsonl"), key=lambda line: line["sample_id"])
    ]


def test_interleaved_questions_from_video_to_report(model: Path, cache_dir: Path, tmp_path: Path) -> None:
    found = {}
    for name, more in {
        "plain": [],
        "again": [],
        "frames": ["plan=uniform"],
        "penalty": ["decode.repetition_penalty=0.1", "transformers.num_beams=3"],
    }.items():
        out = tmp_path / name
        done = omnieval(
            "run", "daily-omni-transformers", "--limit", "2",
            *arguments(model, cache_dir, out, "max_frames=4", *more),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found[name] = texts(out)
    assert found["plain"] == found["again"], "greedy answers repeat"
    assert found["plain"] != found["frames"], "it sees what is on the pictures"
    assert found["plain"] != found["penalty"]
    server = json.loads((tmp_path / "plain" / "run.json").read_text())["server"]
    assert (server["backend"], server["details"]["device"]) == ("transformers-minicpmo", "cpu")
    assert server["details"]["num_beams"] == 3 and len(server["details"]["code_sha256"]) == 64


def test_a_voice_is_cloned_into_a_24_khz_sound(model: Path, cache_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = omnieval("run", "seed-tts", "--limit", "2", *arguments(model, cache_dir, out, "warmup=0"))
    assert done.returncode == 0, done.stderr
    rows = lines(out / "responses.jsonl")
    assert [row["error"] for row in rows] == [None, None]
    for row in rows:
        with wave.open(str(out / "audio" / row["audio"]["file"].rpartition("/")[2])) as file:
            assert (file.getframerate(), file.getnchannels()) == (24_000, 1)
            assert file.getnframes() == row["audio"]["frames"] > 0
        assert row["timing"]["rtf"] == pytest.approx(
            row["timing"]["e2e_s"] / (row["audio"]["frames"] / 24_000), rel=0.01
        )


def test_check_tells_what_the_machine_lacks(model: Path, cache_dir: Path, tmp_path: Path) -> None:
    def checked(*more: str, folder: Path = model) -> dict[str, dict[str, str]]:
        flags = [word for setting in ("max_frames=4", *more) for word in ("--set", setting)]
        done = omnieval(
            "check", "daily-omni", "--sample", "--backend", "transformers-minicpmo", "--model", folder, "--json",
            "--cache-dir", cache_dir, "--set", "transformers.dtype=float32", *flags,
        )  # fmt: skip
        rows = json.loads(done.stdout)
        assert done.returncode == (4 if any(row["verdict"] == "fail" for row in rows) else 0), done.stderr
        return {row["check"]: row for row in rows}

    empty = tmp_path / "empty"
    empty.mkdir()
    rows = checked("engine.devices=[cuda:97]", folder=empty)
    assert rows["packages"]["verdict"] == "pass"
    assert "cuda:97 is not there" in rows["device"]["found"]
    assert "config.json is missing" in rows["model"]["found"]
    assert "engine.trust_remote_code=true" in rows["code of the model"]["fix"]
    assert "largest request" not in rows
    rows = checked("engine.devices=[cpu]", "engine.trust_remote_code=true", "decode.max_tokens=4")
    assert rows["largest request"]["verdict"] == "pass"
    assert rows["model"]["found"].endswith("TinyOmni, all files there")
    assert checked("engine.devices=[npu:0]")["packages"]["fix"].startswith("pip install torch-npu==")
