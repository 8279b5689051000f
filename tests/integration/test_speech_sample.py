"""The bundled Seed-TTS sample, spoken, heard and compared for real: no server, no network, no download."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from omnieval.samples import sample_dir
from tests.command import command, environment, lines, omnieval
from tests.integration.test_embedded import NO_NETWORK

pytestmark = pytest.mark.embedded
VOICES = sample_dir("seed-tts") / "other-voice" / "other.wav"


def report(directory: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((directory / "report.json").read_text())
    return content


def offline(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *map(str, arguments)],
        env=environment(), capture_output=True, text=True, timeout=240,
    )  # fmt: skip


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory, cache_dir: Path) -> Path:
    """A run of the sample without similarity, which needs no torch."""
    pytest.importorskip("piper")
    out = tmp_path_factory.mktemp("speech") / "run"
    done = offline(
        "run", "seed-tts", "--sample", "--out", out, "--cache-dir", cache_dir, "--set", "similarity.encoder=none"
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_what_is_said_is_understood_and_every_figure_is_there(spoken: Path) -> None:
    content = report(spoken)
    assert content["wer"]["utterances"] == content["rows"] == 8
    assert content["wer"]["official_percent"] < 10
    assert content["lenient"]["mean"] <= content["wer"]["official_percent"] / 100
    assert content["recogniser"]["name"] == "faster-whisper"
    assert {"ttfp_s", "e2e_s", "rtf", "audio_s"} <= set(content["latency"])
    assert "ttft_s" not in content["latency"]
    assert content["warmup"]["ttfp_s"]["count"] == 1
    assert content["health"] == []
    assert sorted(path.stem for path in (spoken / "audio").glob("*.wav")) == sorted(
        score["sample_id"] for score in lines(spoken / "scores.jsonl")
    )


def test_the_files_alone_give_the_same_score(spoken: Path, cache_dir: Path, tmp_path: Path) -> None:
    meta = sample_dir("seed-tts") / "en" / "meta.lst"
    carried = ("--set", "recogniser.name=faster-whisper", "--set", "similarity.encoder=none")
    cache = ("--set", f"cache_dir={cache_dir}")
    done = omnieval(
        "score", "--audio", spoken / "audio", "--meta", meta, "--out", tmp_path / "own", *carried, *cache
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert report(tmp_path / "own")["wer"] == report(spoken)["wer"]
    assert report(tmp_path / "own")["latency"].keys() == {"audio_s"}
    fewer = tmp_path / "fewer"
    shutil.copytree(spoken / "audio", fewer)
    (fewer / "en-bus.wav").unlink()
    (fewer / "en-coat.wav").write_bytes(b"")
    done = omnieval(
        "score", "--audio", fewer, "--meta", meta, "--out", tmp_path / "part", *carried, *cache
    )  # fmt: skip
    part = report(tmp_path / "part")
    assert part["wer"]["utterances"] == 6
    assert {row["kind"]: row["count"] for row in part["failures"]} == {"media_missing": 1, "audio": 1}
    assert "en-bus.wav" in done.stdout
    assert "en-coat.wav" in done.stdout


def test_a_run_is_scored_later_and_elsewhere(spoken: Path, cache_dir: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(spoken, moved)
    before = report(moved)
    again = omnieval("score", moved)
    assert again.returncode == 0, again.stdout + again.stderr
    assert report(moved)["wer"] == before["wer"]
    refused = omnieval("score", moved, "--set", "language=zh")
    assert refused.returncode == 2
    assert "cannot change language" in refused.stderr
    assert omnieval("score", moved, "--parser", "careful").returncode == 2


def test_figures_are_not_lost_by_a_later_call(spoken: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(spoken, run)
    before = report(run)
    resumed = omnieval("run", "--resume", run, "--set", "score=later")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert report(run)["wer"] == before["wer"]
    failed = omnieval(
        "score", run, "--set", "recogniser.name=whisper-hf", "--set", "recogniser.model=/nowhere"
    )
    assert failed.returncode == 3
    assert "the report stays as it was" in failed.stderr
    assert report(run)["wer"] == before["wer"]


def test_sounds_of_another_system_are_not_mixed_into_a_run(spoken: Path, tmp_path: Path) -> None:
    meta = sample_dir("seed-tts") / "en" / "meta.lst"
    again = omnieval("score", "--audio", spoken / "audio", "--meta", meta, "--out", spoken)
    assert again.returncode == 2
    assert "holds a run already" in again.stderr
    for arguments, words in (
        (("--audio", tmp_path / "none", "--meta", meta), "--audio"),
        (("--audio", spoken / "audio", "--meta", tmp_path / "none.lst"), "--meta"),
        (("--audio", spoken / "audio", "--meta", meta, "--language", "english"), "--language is en or zh"),
    ):
        wrong = omnieval("score", *arguments)
        assert wrong.returncode in (2, 3)
        assert words in wrong.stderr


def test_a_run_that_is_killed_while_it_speaks_goes_on_where_it_was(cache_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("piper")
    out = tmp_path / "run"
    arguments = (
        "run", "seed-tts", "--sample", "--out", out, "--cache-dir", cache_dir, "--set", "similarity.encoder=none",
    )  # fmt: skip
    process = subprocess.Popen(command(*arguments), env=environment(), stdout=subprocess.PIPE)
    while process.poll() is None and len(lines(out / "responses.jsonl") if out.exists() else []) < 2:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = [response["sample_id"] for response in lines(out / "responses.jsonl")]
    assert 2 <= len(kept) < 8
    done = omnieval("run", "--resume", out)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = [response["sample_id"] for response in lines(out / "responses.jsonl")]
    assert asked[: len(kept)] == kept
    assert len(asked) == len(set(asked)) == 8
    assert report(out)["wer"]["utterances"] == 8


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["tar", "zip", "link"])
def test_voices_are_found_in_archives_and_behind_links(
    spoken: Path, cache_dir: Path, tmp_path: Path, kind: str
) -> None:
    pytest.importorskip("resemblyzer")
    source = tmp_path / "set"
    shutil.copytree(sample_dir("seed-tts") / "en", source / "en")
    data = tmp_path / "link"
    if kind == "link":
        data.symlink_to(source)
    else:
        data = Path(shutil.make_archive(str(tmp_path / "set"), kind, tmp_path, "set"))
    ge2e = ("--set", "recogniser.name=faster-whisper", "--set", "similarity.encoder=ge2e")
    out = tmp_path / "run"
    done = omnieval(
        "run", "seed-tts", "--data", data, "--backend", "ground-truth", "--out", out, "--limit", "2",
        "--cache-dir", cache_dir, "--set", "score=now", *ge2e,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert report(out)["similarity"]["utterances"] == 2
    if kind == "link":
        data.unlink()
        source.rename(tmp_path / "moved")
        lost = omnieval("score", out, *ge2e)
        assert lost.returncode == 1
        assert "SIM was not measured" in lost.stdout
        found = omnieval("score", out, *ge2e, "--data", tmp_path / "moved")
        assert found.returncode == 0, found.stdout + found.stderr
        assert report(out)["similarity"]["utterances"] == 2


@pytest.mark.torch
def test_the_same_voice_is_nearer_than_another_one(cache_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("resemblyzer")
    done = offline("run", "seed-tts", "--sample", "--out", tmp_path / "same", "--cache-dir", cache_dir)
    assert done.returncode == 0, done.stdout + done.stderr
    data = tmp_path / "data" / "en"
    shutil.copytree(sample_dir("seed-tts") / "en", data)
    for prompt in (data / "prompt-wavs").iterdir():
        shutil.copyfile(VOICES, prompt)
    other = tmp_path / "other"
    shutil.copytree(tmp_path / "same", other)
    assert omnieval("score", other, "--data", tmp_path / "data").returncode == 0
    same, different = report(tmp_path / "same")["similarity"], report(other)["similarity"]
    assert same["encoder"] == different["encoder"] == "ge2e"
    assert same["utterances"] == different["utterances"] == 8
    near, far = (
        [score["metrics"]["sim[ge2e]"] for score in lines(run / "scores.jsonl") if score["metrics"]]
        for run in (tmp_path / "same", other)
    )
    assert len(near) == len(far) == 8
    assert min(near) > max(far) + 0.1
