"""A run that makes a server speak: every sound is kept as it came, broken ones apart, over a real socket."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from omnieval.media.wav import parse_wav
from omnieval.samples import sample_dir
from tests.command import lines, omnieval
from tests.faults.server import DONE, Exchange, FaultServer
from tests.faults.speech_server import body, tagged, text, wav

TEXT_OF = {
    row.split("|")[0]: row.strip().split("|")[3]
    for row in (sample_dir("seed-tts") / "en" / "meta.lst").read_text().splitlines()
    if row.strip()
}
PIECES = 3


def recording(utterance: str) -> bytes:
    return (sample_dir("seed-tts") / "en" / "wavs" / f"{utterance}.wav").read_bytes()


class Speaker:
    """Says each text with its recording, but breaks off in the middle when it is asked for the first one."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, exchange: Exchange) -> None:
        if exchange.path == "/v1/audio/speech":
            said = exchange.body["input"]
        else:
            said = exchange.body["messages"][-1]["content"][-1]["text"]
        utterance = next(name for name, words in TEXT_OF.items() if words == said)
        pcm = parse_wav(recording(utterance))
        step = len(pcm.data) // PIECES // 2 * 2
        pieces = [pcm.data[start : start + step] for start in range(0, len(pcm.data), step)]
        self.asked.append(utterance)
        broken = self.asked.count(utterance) == 1 and len(set(self.asked)) == 2
        if broken:
            pieces = pieces[:2]
        if exchange.path == "/v1/audio/speech":
            kind = f"audio/pcm;rate={pcm.format.rate_hz}"
            await body(exchange, kind, *pieces, complete=not broken)
        else:
            end = () if broken else (DONE,)
            spoken = [tagged(wav(piece, pcm.format.rate_hz)) for piece in pieces]
            await exchange.stream(text(said), text("", finish="stop"), *spoken, *end)


@pytest.mark.parametrize("backend", ["openai-chat", "openai-speech"])
def test_every_sound_is_kept_whole_and_a_broken_one_apart(
    backend: str, cache_dir: Path, tmp_path: Path
) -> None:
    speaker = Speaker()
    out = tmp_path / "run"
    with FaultServer(speaker) as server:
        done = omnieval(
            "run", "seed-tts", "--sample", "--backend", backend, "--base-url", server.base_url, "--model", "fake",
            "--out", out, "--cache-dir", cache_dir, "--set", "score=later", "--set", "retry.first_wait_s=0",
            "--set", "warmup=0", "--set", "retry.wait_for_server_s=0",
        )  # fmt: skip
        references = [request["ref_audio"] for request in server.requests]
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(speaker.asked) == len(TEXT_OF) + 1
    assert all(reference.startswith("data:audio/wav;base64,") for reference in references)
    for utterance in TEXT_OF:
        kept = parse_wav((out / "audio" / f"{utterance}.wav").read_bytes())
        assert kept == parse_wav(recording(utterance)), utterance
    responses = lines(out / "responses.jsonl")
    failed = [response for response in responses if response["error"]]
    assert [response["error"]["kind"] for response in failed] == ["server"]
    broken = out / failed[0]["audio"]["file"]
    assert broken.parent.name == "failed"
    whole = recording(failed[0]["sample_id"])
    assert parse_wav(broken.read_bytes()).data in parse_wav(whole).data
    for response in responses:
        if response["error"] is None:
            assert response["timing"]["ttfp_s"] > 0
            assert response["timing"]["rtf"] > 0
            assert len(response["audio"]["chunks"]) >= 1
    assert json.loads((out / "run.json").read_text())["server"]["backend"] == backend
