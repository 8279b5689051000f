"""A suite with a spoken member, killed while it is asked or heard, ends as one that nothing disturbed."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from omnieval.media.wav import parse_wav
from tests import speech_models
from tests.command import lines, omnieval, report, start
from tests.conftest import answer_by_prompt
from tests.faults.server import Exchange, FaultServer
from tests.faults.speech_server import body
from tests.integration.test_speech_run import TEXT_OF, recording

pytestmark = [pytest.mark.torch, pytest.mark.slow]

MEMBERS = ("daily-omni", "seed-tts")
ENCODER = Path(__file__).parents[1] / "contract" / "data" / "sim" / "tiny_wavlm_sv.pth"
GATE = """\
daily-omni:
  - accuracy >= 0.1 by value
seed-tts:
  - wer <= 30 by value
  - sim[wavlm-sv] >= 0.1 by value
  - coverage == 1.0
"""


async def speak_or_answer(exchange: Exchange) -> None:
    """Says a text with its recording; any other question has a letter for its answer."""
    if exchange.path != "/v1/audio/speech":
        await answer_by_prompt(exchange)
        return
    await asyncio.sleep(0.2)
    pcm = parse_wav(recording(next(name for name, said in TEXT_OF.items() if said == exchange.body["input"])))
    await body(exchange, f"audio/pcm;rate={pcm.format.rate_hz}", pcm.data)


@pytest.fixture(scope="module")
def recogniser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return speech_models.whisper_hf(tmp_path_factory.mktemp("whisper"))


def arguments(server: FaultServer, recogniser: Path, folder: Path) -> list[str | Path]:
    (folder / "gate.yaml").write_text(GATE)
    settings = {
        "daily-omni.select.limit": "4",
        "seed-tts.backend": "openai-speech",
        "seed-tts.warmup": "0",
        "seed-tts.score": "now",
        "seed-tts.recogniser.name": "whisper-hf",
        "seed-tts.recogniser.model": str(recogniser),
        "seed-tts.similarity.encoder": "wavlm-sv",
        "seed-tts.similarity.model": str(ENCODER),
    }
    return [
        "run", *MEMBERS, "--sample", "--base-url", server.base_url, "--model", "fake", "--gate",
        folder / "gate.yaml", "--cache-dir", folder / "cache", "--out", folder / "suite",
        *(word for key, value in settings.items() for word in ("--set", f"{key}={value}")),
    ]  # fmt: skip


def judged(suite: Path) -> tuple[Any, ...]:
    """The gate's exit code and verdicts, the suite's report, and each member's."""
    code = omnieval("gate", suite).returncode
    gate = json.loads((suite / "gate.json").read_text())
    combined = json.loads((suite / "report.json").read_text())
    return (
        code,
        {name: (found["verdict"], found["lines"]) for name, found in gate["members"].items()},
        combined["complete"],
        combined["verdict"],
        combined["members"],
        [(report(suite / name), lines(suite / name / "scores.jsonl")) for name in MEMBERS],
    )


@pytest.fixture(scope="module")
def whole(recogniser: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    folder = tmp_path_factory.mktemp("whole")
    with FaultServer(speak_or_answer) as server:
        done = omnieval(*arguments(server, recogniser, folder))
    assert done.returncode == 0, done.stderr + done.stdout
    return judged(folder / "suite")


def test_figures_of_both_kinds_stand_in_one_report_under_one_gate(whole: tuple[Any, ...]) -> None:
    code, gate, complete, verdict, members, _ = whole
    assert complete
    assert [[figure["name"] for figure in row["figures"]] for row in members] == [
        ["accuracy"],
        ["WER", "SIM"],
    ]
    assert all(figure["value"] is not None for row in members for figure in row["figures"])
    assert gate["daily-omni"][0] == "pass" and gate["seed-tts"][0] == "fail", "the tiny model hears nonsense"
    assert (code, verdict) == (1, "fail")


@pytest.mark.parametrize("moment", ["asked", "heard"])
def test_killed_while_it_is(moment: str, whole: tuple[Any, ...], recogniser: Path, tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    with FaultServer(speak_or_answer) as server:
        process = start(*arguments(server, recogniser, tmp_path))
        deadline = time.monotonic() + 200
        while not reached(moment, tmp_path):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.kill()
        process.communicate()
        assert not (suite / "seed-tts" / "report.json").exists()
        resumed = omnieval("run", "--resume", suite)
    assert resumed.returncode == 0, resumed.stderr + resumed.stdout
    assert judged(suite) == whole
    answered = [line["sample_id"] for line in lines(suite / "seed-tts" / "responses.jsonl")]
    assert sorted(answered) == sorted(TEXT_OF), "nothing was asked twice"


def reached(moment: str, folder: Path) -> bool:
    responses = folder / "suite" / "seed-tts" / "responses.jsonl"
    if moment == "asked":
        return responses.exists() and responses.read_bytes().count(b"\n") >= 2
    return any(path.is_file() for path in (folder / "cache" / "transcripts").rglob("*"))
