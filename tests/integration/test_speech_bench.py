"""The speed of a server that speaks: medians of RTF and TTFP, which do not count where the sounds are broken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnieval.media.wav import parse_wav
from tests import speech_models
from tests.command import lines, omnieval
from tests.faults.server import Behaviour, Exchange, FaultServer
from tests.faults.speech_server import body
from tests.integration.test_speech_run import TEXT_OF, recording

SETTINGS = ("score=later", "retry.first_wait_s=0")
ASKED = 3
RUNS = ["cold", *(f"repeats/run-{number}" for number in (1, 2, 3))]


def speaker(change: Callable[[bytes], bytes] = bytes, delay_s: float = 0.0) -> Behaviour:
    """Says a text with its recording, changed; in two pieces, each of which takes `delay_s`."""

    async def say(exchange: Exchange) -> None:
        name = next(name for name, said in TEXT_OF.items() if said == exchange.body["input"])
        pcm = parse_wav(recording(name))
        sound = change(pcm.data)
        half = len(sound) // 4 * 2
        kind = f"audio/pcm;rate={pcm.format.rate_hz}"
        await body(exchange, kind, sound[:half], sound[half:], gap_s=delay_s)

    return say


def silenced(data: bytes) -> bytes:
    return bytes(len(data))


def clipped(data: bytes) -> bytes:
    louder = 20 * np.frombuffer(data, "<i2").astype(np.int32)
    return np.clip(louder, -20_000, 20_000).astype("<i2").tobytes()


def bench(server: FaultServer, cache: Path, out: Path, *more: str | Path) -> Any:
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    return omnieval(
        "bench", "seed-tts-en", "--sample", "--backend", "openai-speech", "--base-url", server.base_url,
        "--model", "fake", "--limit", str(ASKED), "--cache-dir", cache, "--out", out, *settings, *more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def steady(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    out = tmp_path_factory.mktemp("bench") / "steady"
    with FaultServer(speaker(delay_s=0.1)) as server:
        done = bench(server, cache_dir, out)
        assert done.returncode == 0, done.stderr + done.stdout
        # The recipe warms up with one request; the cold run does not.
        assert len(server.requests) == len(RUNS) * ASKED + len(RUNS) - 1
    yield out


def test_medians_of_rtf_are_those_of_the_answers(steady: Path) -> None:
    report = json.loads((steady / "report.json").read_text())
    assert (report["complete"], report["counts"]) == (True, True)
    rows = {row["figure"]: row for row in report["speed"]}
    medians = [
        float(np.median([line["timing"]["rtf"] for line in lines(steady / name / "responses.jsonl")]))
        for name in RUNS
    ]
    assert rows["rtf.p50"]["cold"] == pytest.approx(medians[0])
    assert rows["rtf.p50"]["values"] == pytest.approx(medians[1:])
    assert rows["rtf.p50"]["median"] == pytest.approx(sorted(medians[1:])[1])
    assert rows["ttfp_s.p50"]["low"] > 0.1
    assert rows["audio_throughput"]["median"] > 0
    assert [(row["failed"], row["unhealthy"]["correct"], row["broken"]) for row in report["outputs"]] == [
        (0, 0, None)
    ] * len(RUNS)
    warmed = [
        [line["event"] for line in lines(steady / name / "events.jsonl")].count("warmup") for name in RUNS
    ]
    assert warmed == [0, 1, 1, 1]
    assert "RTF p50" in (steady / "report.html").read_text()


@pytest.mark.parametrize(
    ("change", "reason"), [(silenced, "3 of 3 replies are unhealthy: 3 silent"), (clipped, "3 clipped")]
)
def test_a_fast_server_of_broken_sounds_is_not_fast(
    change: Callable[[bytes], bytes], reason: str, steady: Path, cache_dir: Path, tmp_path: Path
) -> None:
    with FaultServer(speaker(change)) as server:
        done = bench(server, cache_dir, tmp_path / "b", "--against", steady)
    assert done.returncode == 1, done.stderr + done.stdout
    assert "THE SPEED DOES NOT COUNT" in done.stdout
    report = json.loads((tmp_path / "b" / "report.json").read_text())
    assert all(reason in row["broken"] for row in report["outputs"])


@pytest.mark.torch
@pytest.mark.slow
def test_what_was_said_is_heard_later_run_by_run(steady: Path, tmp_path: Path) -> None:
    out, hearer = tmp_path / "b", speech_models.whisper_hf(tmp_path)
    shutil.copytree(steady, out)
    done = omnieval(
        "score", out, "--set", "recogniser.name=whisper-hf", "--set", f"recogniser.model={hearer}", "--set",
        "similarity.encoder=none",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads((out / "report.json").read_text())
    assert all(row["wer"] > 50 for row in report["outputs"]), "the tiny model hears nonsense"
    assert "WER (%)" in (out / "report.html").read_text()


@pytest.mark.slow
def test_a_slower_server_is_told_by_its_rtf(steady: Path, cache_dir: Path, tmp_path: Path) -> None:
    with FaultServer(speaker(delay_s=0.3)) as server:
        done = bench(server, cache_dir, tmp_path / "b", "--against", steady, "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    change = next(row for row in json.loads(done.stdout)["speed"] if row["figure"] == "rtf.p50")["change"]
    assert (change["verdict"], change["reason"]) == ("real", "above 0.05")
    assert change["difference"] > 0.05
