"""`omnieval duplex` as a real process against a stand-in server: its files, refusals and ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from omnieval.media.wav import Pcm, PcmFormat, parse_wav, write_wav
from tests.command import lines, omnieval, start
from tests.faults.duplex_server import DuplexServer, Turn
from tests.faults.speech_server import tone
from tests.faults.test_duplex import wait_until

SOUND = tone(0.6)


def recording(folder: Path, seconds: float = 0.9, rate_hz: int = 16_000) -> Path:
    path = folder / "a question.wav"
    samples = bytes(range(1, 251)) * 400
    path.write_bytes(write_wav(Pcm(PcmFormat(rate_hz, 1), samples[: 2 * int(seconds * rate_hz)])))
    return path


def talk(server: DuplexServer, folder: Path, *flags: str, code: int = 0) -> dict[str, Any]:
    with server.running():
        done = omnieval(
            "duplex", "--input-wav", recording(folder), "--base-url", server.base_url, "--out", folder / "talk",
            *flags,
        )  # fmt: skip
    assert done.returncode == code, done.stderr + done.stdout
    content: dict[str, Any] = json.loads((folder / "talk" / "result.json").read_text())
    return content


def test_all_files_of_a_conversation(tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn(new_spelling=True, early=True), lambda _: SOUND)
    found = talk(server, tmp_path)
    assert (found["ok"], found["model_decision"], found["errors"]) == (True, "speak", [])
    assert (found["audio_chunk_count"], found["output_sample_rate_hz"]) == (8, 24_000)
    assert (found["transcript"], found["output_duration_s"]) == ("mhmheard", 1.2)
    assert set(found["latency"]) == {"ttft_ms", "ttfp_ms", "rtf", "measurement_origin"}
    assert found["session"]["responses"] == 2
    assert found["latency"]["measurement_origin"] == "first_silence_append"
    assert found["latency"]["ttfp_ms"] < 0  # it spoke before the input was over
    assert found["latency"]["rtf"] is None
    sound = parse_wav((tmp_path / "talk" / "output.wav").read_bytes()).data
    assert sound == SOUND + SOUND
    chunks = sorted((tmp_path / "talk" / "audio_chunks").iterdir())
    assert b"".join(parse_wav(chunk.read_bytes()).data for chunk in chunks) == sound
    sent = parse_wav(recording(tmp_path).read_bytes()).data
    assert bytes(server.heard[""]) == sent.ljust(5 * 6400, b"\0")
    assert "instructions" not in server.events("session.update")[0]["session"]
    kinds = [line["event"]["type"] for line in lines(tmp_path / "talk" / "events.jsonl")]
    assert kinds[:2] == ["session.update", "session.created"]
    assert kinds.count("response.done") == 2
    assert kinds[-2:] == ["session.close", "session.closed"]


def test_a_full_server_is_waited_for_and_a_failure_keeps_what_came(tmp_path: Path) -> None:
    turns = {1: Turn("full"), 2: Turn("error_in_middle")}
    server = DuplexServer(lambda _, n: turns[n], lambda _: SOUND)
    found = talk(server, tmp_path, "--set", "retry.first_wait_s=0.1", code=1)
    assert (found["ok"], found["errors"][0]["kind"]) == (False, "server")
    assert "the talker failed" in found["errors"][0]["message"]
    assert found["audio_chunk_count"] == 2
    assert (tmp_path / "talk" / "output.wav").is_file()
    came = [line["event"] for line in lines(tmp_path / "talk" / "events.jsonl")]
    assert [event["error"]["message"] for event in came if event["type"] == "error"][
        -1
    ] == "the talker failed"


def test_a_server_that_stays_full_says_what_to_do(tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn("full"), lambda _: SOUND)
    flags = ("--set", "retry.attempts=2", "--set", "retry.first_wait_s=0")
    found = talk(server, tmp_path, *flags, code=1)
    assert (found["errors"][0]["kind"], server.refused) == ("busy", 2)
    assert "end other sessions" in found["errors"][0]["hint"]


def test_listening_is_a_decision(tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn("listen"), lambda _: SOUND)
    found = talk(server, tmp_path, "--speed", "50")
    assert (found["ok"], found["model_decision"], found["audio_chunk_count"]) == (True, "listen", 0)
    assert found["asked"]["speed"] == 50
    assert any("50 times" in note for note in found["notes"])


def test_another_format_is_refused_with_the_command_or_converted(tmp_path: Path) -> None:
    path = recording(tmp_path, rate_hz=8_000)
    server = DuplexServer(lambda _, n: Turn(), lambda _: SOUND)
    flags = ("duplex", "--input-wav", path, "--out", tmp_path / "talk", "--base-url")
    with server.running():
        refused = omnieval(*flags, server.base_url)
        done = omnieval(*flags, server.base_url, "--convert")
    again = omnieval(*flags, server.base_url, "--convert")  # it does not take the server to see that
    assert refused.returncode == 3
    command = f"ffmpeg -i '{path}' -ac 1 -ar 16000 -c:a pcm_s16le '{tmp_path / 'a question-16k.wav'}'"
    assert command in refused.stderr
    assert done.returncode == 0, done.stderr
    assert 28_000 < len(server.heard[""]) < 35_000
    assert again.returncode == 2
    assert "give another --out" in again.stderr


def test_a_file_that_is_no_sound_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.wav"
    page.write_bytes(b"<html></html>")
    done = omnieval("duplex", "--input-wav", page, "--base-url", "http://127.0.0.1:9/v1")
    assert done.returncode == 3
    assert "page.wav: not a WAV file" in done.stderr
    assert "ffmpeg" in done.stderr and "Traceback" not in done.stderr


def test_ctrl_c_writes_the_result_with_what_came(tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn("hang_in_middle"), lambda _: SOUND)
    path, out = recording(tmp_path), tmp_path / "talk"
    with server.running():
        running = start("duplex", "--input-wav", path, "--base-url", server.base_url, "--out", out)
        wait_until(lambda: (out / "audio_chunks" / "0002.wav").is_file())
        running.send_signal(signal.SIGINT)
        told, _ = running.communicate(timeout=30)
    assert running.returncode == 1, told
    found = json.loads((out / "result.json").read_text())
    assert (found["ok"], found["errors"][0]["message"]) == (False, "interrupted")
    assert (out / "output.wav").is_file()


def test_what_was_heard_before_a_kill_is_there(tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn("hang_in_middle"), lambda _: SOUND)
    path, out = recording(tmp_path), tmp_path / "talk"
    with server.running():
        running = start("duplex", "--input-wav", path, "--base-url", server.base_url, "--out", out)
        wait_until(lambda: (out / "audio_chunks" / "0002.wav").is_file())
        running.kill()
        running.communicate(timeout=30)
        wait_until(lambda: server.links == 0)
    pieces = [parse_wav(piece.read_bytes()).data for piece in sorted((out / "audio_chunks").glob("*.wav"))]
    assert b"".join(pieces) == SOUND[: len(SOUND) // 2]
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().split("\n")[:-1]]
    assert {"session.created", "response.audio.delta"} <= {line["event"]["type"] for line in events}
    assert not (out / "result.json").exists()


def test_a_server_that_becomes_full_in_the_middle_is_not_asked_again(tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn("full_in_middle"), lambda _: SOUND)
    found = talk(server, tmp_path, code=1)
    assert (found["errors"][0]["kind"], server.asked) == ("busy", {"": 1})
    pieces = sorted((tmp_path / "talk" / "audio_chunks").iterdir())
    sound = parse_wav((tmp_path / "talk" / "output.wav").read_bytes()).data
    assert b"".join(parse_wav(piece.read_bytes()).data for piece in pieces) == sound
