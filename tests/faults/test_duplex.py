"""The full-duplex client against a stand-in server: every fault has its kind, and whole runs end."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import re
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.failed import FailedTry
from omnieval.backends.realtime.answer import DuplexAnswer
from omnieval.backends.realtime.duplex import RealtimeDuplex, create
from omnieval.backends.realtime.fields import session_of
from omnieval.backends.realtime.link import RealtimeServer
from omnieval.backends.realtime.pace import Pacer
from omnieval.errors import ConfigError
from omnieval.media.wav import parse_wav
from omnieval.samples import sample_dir
from omnieval.types import Generation, MediaPart, Message, Request, Response, SpeechTask, TextPart
from tests.command import lines, omnieval, start
from tests.faults.duplex_server import DuplexServer, Turn
from tests.faults.speech_server import tone

SOUND = tone(0.6)
CONTEXT = BackendContext(media_url=lambda part: "")
REFERENCE = next((sample_dir("seed-tts") / "en" / "prompt-wavs").glob("*.wav"))


def client(
    server: DuplexServer,
    patience_s: float = 15,
    speed: float = 1.0,
    key: str | None = None,
    wait_s: float = 0.0,
) -> RealtimeDuplex:
    times = {"connect_s": 15, "first_token_s": patience_s, "between_chunks_s": patience_s, "total_s": 60}
    config = api.configure(
        "seed-tts-duplex",
        overrides=[
            ("base_url", server.base_url),
            ("model", "fake"),
            ("timeouts", times),
            ("duplex.speed", speed),
            ("retry.wait_for_server_s", wait_s),
        ],
    )
    return create(config, replace(CONTEXT, api_key=key))


async def answers_of(backend: RealtimeDuplex, count: int, voice: str | None = None) -> list[Response]:
    """To that many requests at once; nothing of them may be left running."""
    reference = MediaPart("audio", REFERENCE, "audio/wav")
    requests = [
        Request(
            f"s{n}", (), Generation(temperature=None),
            speech=SpeechTask(f"text {n}", "en", reference, "before", voice=voice),
        )
        for n in range(count)
    ]  # fmt: skip
    answers = await asyncio.gather(*map(backend.generate, requests))
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return list(answers)


def ask(
    server: DuplexServer,
    count: int = 1,
    patience_s: float = 15,
    voice: str | None = None,
    speed: float = 1.0,
    key: str | None = None,
    wait_s: float = 0.0,
) -> list[Response]:
    async def run() -> list[Response]:
        backend = client(server, patience_s, speed, key, wait_s)
        try:
            return await answers_of(backend, count, voice)
        finally:
            await backend.close()

    return asyncio.run(run())


def wait_until(holds: Callable[[], bool], patience_s: float = 30) -> None:
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def open_sockets() -> int:
    """Of this process, in which the server runs too."""
    names = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            names.append(str(entry.readlink()))
    return sum(name.startswith("socket:") for name in names)


def one(turn: Turn, later: Turn | None = None) -> tuple[Response, DuplexServer]:
    server = DuplexServer(lambda _, n: turn if n == 1 else later or turn, lambda _: SOUND)
    hangs = (turn.fault or "").startswith(("hang", "silent"))
    with server.running():
        return ask(server, patience_s=2 if hangs else 15)[0], server


@pytest.mark.parametrize("new_spelling", [False, True])
def test_a_session_follows_the_protocol(new_spelling: bool) -> None:
    answer, server = one(Turn(new_spelling=new_spelling))
    assert answer.error is None
    assert answer.text == "text 0"
    assert answer.audio is not None
    assert parse_wav(answer.audio.wav).data == SOUND
    assert answer.timing.ttft_s is not None
    assert answer.timing.rtf is not None
    assert answer.timing.ttfp_s is not None
    assert "/v1/realtime?duplex=1" in server.paths
    assert server.got[0]["type"] == "session.update"
    session = server.got[0]["session"]
    voice = session.pop("ref_audio")
    assert session == {
        "model": "fake",
        "modalities": ["audio", "text"],
        "input_audio_format": "pcm16",
        "output_audio_format": "pcm16",
        "sample_rate_hz": 16_000,
        "audio": {"input": {"sample_rate_hz": 16_000}, "output": {"sample_rate_hz": 24_000}},
        "turn_detection": None,
        "overlap_policy": "listen_only",
        "playback_commit_policy": "ack_only",
        "extra_body": {
            "auto_response": True,
            "force_listen_count": 0,
            "duplex_initial_user_text": "text 0",
        },
    }
    assert base64.b64decode(voice.removeprefix("data:audio/wav;base64,")) == REFERENCE.read_bytes()
    appends = server.events("input_audio_buffer.append")
    assert {event.pop("audio") for event in appends} == {base64.b64encode(bytes(6400)).decode()}
    assert appends == [
        {
            "type": "input_audio_buffer.append", "format": "pcm16", "sample_rate_hz": 16_000, "duration_ms": 200,
            "audio_end_ms": 200 * number, "is_speech": False,
        }
        for number in range(1, len(appends) + 1)
    ]  # fmt: skip
    assert server.events("session.close")


@pytest.mark.parametrize("fault", ["odd_length", "odd_farewell", "odd_text"])
def test_what_is_odd_but_does_no_harm_is_passed_over(fault: str) -> None:
    answer, _ = one(Turn(fault))
    assert answer.error is None
    assert answer.audio is not None
    assert parse_wav(answer.audio.wav).data == SOUND


@pytest.mark.parametrize(
    ("fault", "kind", "retryable"),
    [
        ("full", "busy", True),
        ("die_at_start", "server", True),
        ("hang_at_start", "timeout", True),
        ("die_in_middle", "server", True),
        ("hang_in_middle", "timeout", True),
        ("garbage", "protocol", True),
        ("binary", "protocol", True),
        ("nested", "protocol", True),
        ("huge", "protocol", True),
        ("noise", "protocol", True),
        ("lost_audio", "server", True),
        ("expired", "server", True),
        ("failed", "server", True),
        ("refuse_resume", "server", True),
        ("other_session", "server", True),
        ("no_token", "server", True),
        ("resync", "server", True),
        ("no_duplex", "configuration", False),
        ("many_processes", "configuration", False),
        ("no_voice", "configuration", False),
        ("no_base64", "protocol", True),
        ("no_string", "protocol", True),
        ("no_delta", "protocol", True),
        ("text_flood", "protocol", False),
        ("wrong_order", "protocol", True),
        ("silent", "timeout", True),
        ("close_busy", "busy", True),
        ("close_policy", "configuration", False),
        ("close_too_large", "configuration", False),
        ("close_in_middle", "server", True),
        ("error_in_middle", "server", True),
        ("cancelled", "server", True),
    ],
)
def test_a_fault_has_its_kind_and_next_step(fault: str, kind: str, retryable: bool) -> None:
    answer, _ = one(Turn(fault))
    assert answer.error is not None
    assert (answer.error.kind, answer.error.retryable) == (kind, retryable), answer.error
    assert answer.error.hint


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ("no_duplex", "session_mode: duplex"),
        ("many_processes", "--api-server-count"),
        ("no_voice", "--ref-audio"),
    ],
)
def test_a_server_that_cannot_hold_the_session_says_what_to_change(fault: str, hint: str) -> None:
    answer, _ = one(Turn(fault))
    assert answer.error is not None
    assert hint in (answer.error.hint or "")


@pytest.mark.parametrize("fault", ["no_token", "resync"])
def test_a_session_that_cannot_be_resumed_is_not_asked_for_again(fault: str) -> None:
    answer, server = one(Turn(fault))
    assert not server.events("session.resume")
    assert answer.session["resumed"] == 0


def test_a_refused_resumption_is_not_told_as_one() -> None:
    answer, server = one(Turn("refuse_resume"))
    assert server.events("session.resume")
    assert answer.session["resumed"] == 0
    assert not any("was resumed" in note for note in answer.notes)


def test_answers_to_heartbeats_do_not_hide_a_model_that_hangs() -> None:
    server = DuplexServer(lambda _, n: Turn("hang_in_middle"), lambda _: SOUND)
    with server.running():
        answer = ask(server, patience_s=2, speed=20)[0]  # a heartbeat every 0.25 s
    assert answer.error is not None
    assert answer.error.kind == "timeout"
    assert "session.heartbeat_ack" in {kind for _, kind, _ in answer.session["received"]}


def test_an_acknowledgement_that_is_of_no_use_costs_no_answer() -> None:
    server = DuplexServer(lambda _, n: Turn("late_playback", pieces=12, pause_s=0.06), lambda _: tone(0.5))
    with server.running():
        answer = ask(server, speed=20)[0]
    assert answer.error is None
    assert answer.audio is not None
    assert parse_wav(answer.audio.wav).data == tone(0.5)
    assert any("acknowledgement" in note for note in answer.notes)


def test_listening_is_an_answer_and_what_comes_twice_is_taken_once() -> None:
    answer, _ = one(Turn("listen"))
    assert (answer.error, answer.finish_reason, answer.audio) == (None, "listen", None)
    answer, _ = one(Turn("duplicates"))
    assert answer.error is None
    assert answer.audio is not None
    assert parse_wav(answer.audio.wav).data == SOUND
    assert any("twice" in note for note in answer.notes)


def test_a_broken_session_goes_on_where_it_was_and_nothing_of_it_is_lost_or_doubled() -> None:
    answer, server = one(Turn("die_in_middle"), Turn())
    assert answer.error is None
    assert answer.audio is not None
    assert parse_wav(answer.audio.wav).data == SOUND
    assert (answer.text, len(answer.audio.chunks)) == ("text 0", 4)
    (again,) = server.events("session.resume")
    assert again["session_id"] == "s0"
    assert 0 < again["last_received_server_event_seq"] <= len(server.journal["text 0"])
    assert answer.session["resumed"] == 1
    assert len(server.events("session.update")) == 1
    assert any("resumed" in note for note in answer.notes)
    ends = [event["audio_end_ms"] for event in server.events("input_audio_buffer.append")]
    assert ends == sorted(set(ends))


def test_what_no_session_has_a_field_for_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no field for decode\.top_p"):
        create(api.configure("seed-tts-duplex", overrides=[("decode.top_p", 0.3)]), CONTEXT)
    server = DuplexServer(lambda _, n: Turn(), lambda _: SOUND)
    with server.running():
        answer = ask(server, voice="Anna")[0]
    assert answer.error is not None
    assert (answer.error.kind, server.got) == ("configuration", [])


def test_the_temperature_goes_into_the_session_and_its_absence_too() -> None:
    config = api.configure("seed-tts-duplex", overrides=[("decode.temperature", 0.3)])
    create(config.model_copy(update={"base_url": "http://127.0.0.1:9/v1"}), CONTEXT)
    message = Message("user", (TextPart("text"),))
    asked = [session_of(Request("s", (message,), Generation(temperature=t)), "fake") for t in (0.3, None)]
    assert [session.get("temperature", "none") for session in asked] == [0.3, "none"]


def test_a_question_with_media_is_refused_instead_of_being_asked_without_them() -> None:
    parts = (MediaPart("audio", REFERENCE, "audio/wav"), TextPart("Who speaks?"))
    request = Request("q", (Message("user", parts),), Generation())

    async def asked(url: str) -> Response:
        backend = create(api.configure("seed-tts-duplex", overrides=[("base_url", url)]), CONTEXT)
        try:
            return await backend.generate(request)
        finally:
            await backend.close()

    server = DuplexServer(lambda _, n: Turn(), lambda _: SOUND)
    with server.running():
        answer = asyncio.run(asked(server.base_url))
    assert answer.error is not None
    assert (answer.error.kind, server.got) == ("configuration", [])
    assert "media=none" in (answer.error.hint or "")


def test_pieces_are_sent_on_time_and_lateness_does_not_add_up() -> None:
    now, waits = [0.0], []

    async def sleep(seconds: float) -> None:
        waits.append(round(seconds, 6))
        now[0] += seconds + 0.05  # always late

    async def run() -> list[int]:
        pacer = Pacer(1.0, lambda: now[0], sleep)
        return [await pacer.turn() for _ in range(5)]

    assert asyncio.run(run()) == [1, 2, 3, 4, 5]
    assert waits == [0.2, 0.15, 0.15, 0.15]


def test_sound_is_acknowledged_as_it_is_played_and_the_session_kept_alive() -> None:
    server = DuplexServer(lambda _, n: Turn(pieces=12, pause_s=0.06), lambda _: tone(0.5))
    with server.running():
        answer = ask(server, speed=20)[0]
    assert answer.error is None
    acks = [event["played_ms"] for event in server.events("playback.ack")]
    assert len(acks) > 3
    assert acks == sorted(set(acks))
    assert 0 < acks[0] <= acks[-1] <= 500
    assert {event["response_id"] for event in server.events("playback.ack")} == {"r1"}
    assert server.events("session.heartbeat")
    taken = [event["server_event_seq"] for event in server.events("session.event_ack")]
    assert taken == sorted(set(taken))
    assert 0 < taken[-1] <= len(server.journal["text 0"])
    assert len(answer.session["stalls"]) > 3  # at 20 times its speed the sound cannot be played without gaps
    assert any("20 times" in note for note in answer.notes)
    assert answer.session["sent"]["playback.ack"] == len(acks)
    assert [kind for _, kind, _ in answer.session["received"]][:3] == [
        "session.created", "session.updated", "response.created",
    ]  # fmt: skip


def test_silence_goes_on_while_the_model_speaks() -> None:
    server = DuplexServer(lambda _, n: Turn(pieces=12, pause_s=0.1), lambda _: tone(0.5))
    with server.running():
        answer = ask(server, speed=20)[0]
    kinds = [event["type"] for event in server.got]
    first_sound = kinds.index("playback.ack")  # none comes before some sound has
    assert answer.error is None
    assert kinds[first_sound:].count("input_audio_buffer.append") > 3


def test_a_session_that_stalls_says_where() -> None:
    for fault, known in (
        (
            "hang_at_start",
            "the last one was nothing, after 0.0 s of input, 0.0 s of sound and 0 whole responses",
        ),
        ("hang_in_middle", r"the last one was response.audio.delta, after \d\.\d s of input, 0.3 s of sound"),
    ):
        answer, _ = one(Turn(fault))
        assert answer.error is not None
        assert re.search(known, answer.error.message), answer.error.message
        key = "first_token_s" if fault == "hang_at_start" else "between_chunks_s"
        assert key in answer.error.message + (answer.error.hint or "")


def test_a_connection_that_breaks_again_is_a_failed_try() -> None:
    answer, server = one(Turn("die_in_middle"))
    assert answer.error is not None
    assert answer.error.kind == "server"
    assert (server.asked, answer.session["resumed"]) == ({"text 0": 2}, 1)


def test_a_refused_heartbeat_ends_the_session_with_what_the_server_said() -> None:
    server = DuplexServer(lambda _, n: Turn("refuse_heartbeat"), lambda _: SOUND)
    with server.running():
        answer = ask(server, speed=20)[0]
    assert answer.error is not None
    assert (answer.error.kind, answer.error.retryable) == ("server", True)
    assert "the heartbeat came too late" in answer.error.message
    assert len(server.events("session.heartbeat")) == 1


def test_no_more_silence_is_sent_than_configured_and_a_model_that_listens_has_decided() -> None:
    server = DuplexServer(lambda _, n: Turn("listen_for_good"), lambda _: SOUND)
    with server.running():
        answer = ask(server, speed=50)[0]
    assert (answer.error, answer.finish_reason) == (None, "listen")
    assert len(server.events("input_audio_buffer.append")) == 150


def test_more_requests_than_places_wait_for_each_other_and_none_fails() -> None:
    server = DuplexServer(lambda _, n: Turn(), lambda _: SOUND, places=2)
    with server.running():
        answers = ask(server, 7)
    assert [answer.error for answer in answers] == [None] * 7
    assert server.most == 2
    assert server.refused > 0


def test_a_place_that_another_holds_is_waited_for() -> None:
    server = DuplexServer(lambda _, n: Turn("full" if n < 4 else None), lambda _: SOUND)
    with server.running():
        (answer,) = ask(server, wait_s=60)
    assert answer.error is None
    assert server.refused == 3


def test_a_place_that_another_takes_when_ours_ends_is_waited_for_anew() -> None:
    taken = iter([True])

    def turn(text: str, _: int) -> Turn:
        if text == "text 0":
            return Turn(pieces=5, pause_s=1.1)
        return Turn("full" if server.open_sessions or next(taken, False) else None)

    server = DuplexServer(turn, lambda _: SOUND)
    with server.running():
        answers = ask(server, 2, wait_s=4)
    assert [answer.error for answer in answers] == [None, None]


def test_places_that_others_hold_are_not_waited_for_longer_than_configured() -> None:
    server = DuplexServer(lambda text, _: Turn(None if text == "text 0" else "full"), lambda _: SOUND)
    with server.running():
        answered, *refused = ask(server, 3)
    assert answered.error is None
    assert [answer.error and answer.error.kind for answer in refused] == ["busy", "busy"]


@pytest.mark.parametrize("fault", ["error_in_middle", "garbage", "hang_in_middle", "no_base64"])
def test_a_session_that_failed_is_closed_so_that_its_place_is_free(fault: str) -> None:
    _, server = one(Turn(fault))
    assert len(server.events("session.close")) == 1


def test_a_session_that_is_cancelled_is_closed() -> None:
    server = DuplexServer(lambda _, n: Turn("hang_in_middle"), lambda _: SOUND)

    async def run() -> None:
        backend = client(server)
        asked = asyncio.create_task(answers_of(backend, 1))
        await asyncio.to_thread(wait_until, lambda: bool(server.events("input_audio_buffer.append")))
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await asyncio.to_thread(wait_until, lambda: bool(server.events("session.close")))
        await backend.close()

    with server.running():
        asyncio.run(run())


def test_a_place_is_given_back_before_the_next_session_is_asked_for() -> None:
    server = DuplexServer(lambda _, n: Turn(pause_s=0), lambda _: SOUND, places=1)
    with server.running():
        answers = [ask(server)[0] for _ in range(3)]
    assert [answer.error for answer in answers] == [None] * 3
    assert (server.refused, server.most) == (0, 1)


def test_a_key_is_sent_and_never_shown() -> None:
    server = DuplexServer(lambda _, n: Turn(), lambda _: SOUND, key="not-so-secret")
    with server.running():
        assert ask(server, key="not-so-secret")[0].error is None
        refused = ask(server, key="secret")[0]
        server.key = "secret2"
        shown = ask(server, key="secret")[0]
    assert refused.error is not None
    assert (refused.error.kind, refused.error.status) == ("configuration", 401)
    assert shown.error is not None
    assert "secret" not in shown.error.message


@pytest.mark.slow
def test_two_hundred_sessions_of_one_client_end_once_each_and_leave_nothing() -> None:
    faults = [
        None, None, "full", "die_in_middle", "garbage", "die_at_start", "listen", "expired", "close_in_middle",
        "no_base64",
    ]  # fmt: skip
    fault_of = lambda text: faults[int(text.split()[1]) % len(faults)]  # noqa: E731
    server = DuplexServer(lambda text, _: Turn(fault_of(text)), lambda _: SOUND)

    async def soak() -> list[Response]:
        backend = client(server)
        await answers_of(backend, 1)
        await asyncio.to_thread(wait_until, lambda: server.links == 0)
        sockets = open_sockets()
        answers = [answer for _ in range(10) for answer in await answers_of(backend, 20)]
        await asyncio.to_thread(wait_until, lambda: server.links == 0)
        await asyncio.to_thread(wait_until, lambda: open_sockets() == sockets)
        gc.collect()
        # By type: another test may have left a proxy of something that is gone, which cannot be asked itself.
        kinds = (DuplexAnswer, ClientConnection)
        kept = [thing for thing in gc.get_objects() if issubclass(type(thing), kinds)]
        assert kept == []
        await backend.close()
        return answers

    with server.running():
        answers = asyncio.run(soak())
    assert len(answers) == 200
    assert server.open_sessions == 0
    for number, answer in enumerate(answers):
        fault = faults[number % 20 % len(faults)]
        assert (answer.error is None) == (fault in (None, "listen")), (fault, answer.error)
        if fault is None:
            assert answer.audio is not None
            assert parse_wav(answer.audio.wav).data == SOUND


def test_a_run_that_is_interrupted_ends_in_good_order(cache_dir: Path, tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn(pause_s=0.3), lambda _: SOUND)
    out = tmp_path / "run"
    flags = ("--out", out, "--cache-dir", cache_dir, "--set", "warmup=0", "--set", "score=later")
    with server.running():
        running = start(
            "run", "seed-tts-duplex", "--sample", "--base-url", server.base_url, "--model", "fake", *flags
        )
        wait_until(lambda: len(server.asked) == 2)
        running.send_signal(signal.SIGINT)
        told, _ = running.communicate(timeout=60)
        wait_until(lambda: server.links == 0)
    assert running.returncode == 1, told
    assert "--resume" in told
    assert [row["error"] for row in lines(out / "responses.jsonl")] == [None] * len(server.asked)


@pytest.mark.slow
def test_a_run_that_is_killed_frees_its_place_and_is_resumed(cache_dir: Path, tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn(pause_s=0.3), lambda _: SOUND)
    out = tmp_path / "run"
    flags = ("--cache-dir", cache_dir, "--set", "warmup=0", "--set", "score=later")
    with server.running():
        arguments = (
            "run",
            "seed-tts-duplex",
            "--sample",
            "--base-url",
            server.base_url,
            "--model",
            "fake",
            *flags,
        )
        running = start(*arguments, "--out", out)
        wait_until(lambda: len(server.asked) == 2)
        running.kill()
        running.communicate(timeout=60)
        wait_until(lambda: server.links == 0)
        before = [row["sample_id"] for row in lines(out / "responses.jsonl")]
        assert 1 <= len(before) <= 2
        done = omnieval("run", "--resume", out)
    assert done.returncode == 0, done.stderr
    rows = lines(out / "responses.jsonl")
    names = [row["sample_id"] for row in rows]
    planned = [row["sample"]["id"] for row in lines(out / "samples.jsonl")]
    assert names[: len(before)] == before and sorted(names) == sorted(planned)
    assert all(row["error"] is None for row in rows)


def test_a_model_that_listens_is_counted_apart_from_faults(cache_dir: Path, tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn("listen"), lambda _: SOUND)
    with server.running():
        run = api.run(
            "seed-tts-duplex", sample=True, limit=2, base_url=server.base_url, model="fake", out=tmp_path / "run",
            cache_dir=cache_dir, warmup=0, score="later",
        )  # fmt: skip
    assert [response.error for response in run.responses()] == [None, None]
    asked = [score for score in run.scores() if score.outcome != "not_asked"]
    assert [(score.outcome, score.failure_kind) for score in asked] == [("failed", "listened")] * 2
    assert "listened" in (run.directory / "report.md").read_text()
    assert sum(server.asked.values()) == 2  # an answer is not asked for again


def test_the_sound_of_a_failed_try_is_kept_apart(cache_dir: Path, tmp_path: Path) -> None:
    server = DuplexServer(lambda _, n: Turn("lost_audio" if n == 1 else None), lambda _: SOUND)
    with server.running():
        done = omnieval(
            "run", "seed-tts-duplex", "--sample", "--limit", "1", "--base-url", server.base_url, "--model", "fake",
            "--out", tmp_path / "run", "--cache-dir", cache_dir, "--set", "retry.first_wait_s=0",
            "--set", "warmup=0", "--set", "score=later",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(list((tmp_path / "run" / "audio" / "failed").glob("*.wav"))) == 1
    first, second = lines(tmp_path / "run" / "responses.jsonl")
    assert "never came" in first["error"]["message"]
    assert (second["error"], second["session"]["decision"]) == (None, "speak")


def test_a_run_over_the_sample_says_every_line(cache_dir: Path, tmp_path: Path) -> None:
    rows = (sample_dir("seed-tts") / "en" / "meta.lst").read_text().split("\n")
    texts = [row.split("|")[3] for row in rows if row]
    script = lambda text, n: Turn("full" if n == 1 and text == texts[1] else None)  # noqa: E731
    server = DuplexServer(script, lambda _: SOUND)
    with server.running():
        done = omnieval(
            "run", "seed-tts-duplex", "--sample", "--base-url", server.base_url, "--model", "fake", "--out",
            tmp_path / "run", "--cache-dir", cache_dir, "--set", "retry.first_wait_s=0", "--set", "warmup=0", "--set", "score=later",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    responses = lines(tmp_path / "run" / "responses.jsonl")
    assert [row["error"] for row in responses] == [None] * len(texts)
    assert server.refused == 1
    assert all(
        "word for word" in event["session"]["instructions"] for event in server.events("session.update")
    )
    assert len(list((tmp_path / "run" / "audio").glob("*.wav"))) == len(texts)


@pytest.mark.parametrize(
    ("reply", "kind", "hint"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:9/elsewhere\r\n\r\n", "configuration", "final one"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "configuration", "session_mode: duplex"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "configuration", "session_mode: duplex"),
        (b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\n\r\n", "busy", "not ready"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "protocol", "session_mode: duplex"),
        (b"SSH-2.0-OpenSSH\r\n", "connection", "is the server up"),
    ],
)
def test_what_is_no_full_duplex_server_is_named(reply: bytes, kind: str, hint: str) -> None:
    """A redirection is not followed, since the key goes along."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(2**16)
                connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        server = DuplexServer(lambda _, n: Turn(), lambda _: SOUND, port=listening.getsockname()[1])
        found = ask(server)[0].error
        thread.join(10)
    assert found is not None
    assert found.kind == kind, found
    assert hint in (found.hint or "")


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "ftp://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "ftp://127.0.0.1:9")

    async def connect() -> None:
        async with RealtimeServer("http://192.0.2.1/v1", None, connect_s=15).connected():
            pass

    with pytest.raises(FailedTry) as caught:
        asyncio.run(connect())
    assert caught.value.failure.kind == "configuration"
    assert "NO_PROXY" in (caught.value.failure.hint or "")
