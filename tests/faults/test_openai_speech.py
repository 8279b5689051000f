"""`/v1/audio/speech`: raw samples, WAV and events, their format, and every known way to fail."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnieval.backends.base import BackendContext
from omnieval.backends.openai_speech import create
from omnieval.config import PcmConfig, TimeoutConfig
from omnieval.errors import BackendError, ConfigError
from omnieval.media.transport import InlineMedia
from omnieval.media.wav import parse_wav
from omnieval.types import Failure, Generation, MediaPart, Request, Response, SpeechTask, SpokenAudio
from tests.faults.server import DONE, EVENT_STREAM, Behaviour, Exchange, FaultServer
from tests.faults.speech_server import (
    KEY,
    RATE_HZ,
    ask,
    body,
    busy_once,
    delta,
    event,
    offsets,
    sends,
    speech_config,
    speech_request,
    streams,
    tone,
    wav,
)

A, B = tone(0.1), tone(0.25)
PCM = "audio/pcm"
SAID = f"audio/pcm;rate={RATE_HZ};channels=1"


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running


def hear(server: FaultServer, script: Behaviour, request: Request | None = None, **more: Any) -> Response:
    return ask(create, server, script, request, **more)


def sound(response: Response) -> SpokenAudio:
    assert response.error is None, response.error
    assert response.audio is not None
    return response.audio


def samples(response: Response) -> bytes:
    assert response.audio is not None
    return parse_wav(response.audio.wav).data


def failure(response: Response) -> Failure:
    assert response.error is not None, response
    return response.error


# --- the request


def test_the_body_has_the_fields_of_the_endpoint_and_no_others(server: FaultServer, tmp_path: Path) -> None:
    path = tmp_path / "ref.wav"
    path.write_bytes(wav(A))
    task = SpeechTask("Say this.", "en", MediaPart("audio", path, "audio/wav"), "What it says.")
    request = speech_request(speech=task, extra_body={"speed": 1.0}, generation=Generation(4096, seed=42))
    hear(server, sends(SAID, A), request, media_url=InlineMedia().url)
    sent = server.requests[0]
    reference = sent.pop("ref_audio")
    assert base64.b64decode(reference.partition("base64,")[2]) == path.read_bytes()
    assert sent == {
        "model": "fake", "input": "Say this.", "language": "English", "task_type": "Base",
        "ref_text": "What it says.", "max_new_tokens": 4096, "seed": 42, "speed": 1.0,
        "stream": True, "stream_format": "audio", "response_format": "pcm",
    }  # fmt: skip
    assert server.paths == ["/v1/audio/speech"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_wav_may_be_asked_for_and_streaming_left_out(server: FaultServer) -> None:
    request = speech_request(extra_body={"response_format": "wav"})
    assert samples(hear(server, sends("audio/wav", wav(A)), request)) == A
    assert (server.requests[0]["response_format"], server.requests[0]["stream"]) == ("wav", True)
    response = hear(server, sends("audio/wav", wav(A)), stream=False)
    assert (server.requests[1]["response_format"], server.requests[1]["stream"]) == ("wav", False)
    assert "stream_format" not in server.requests[1]
    assert (samples(response), sound(response).chunks, response.timing.ttfp_s) == (A, (), None)
    assert response.timing.rtf is not None


def test_a_request_without_a_text_to_say_is_refused(server: FaultServer) -> None:
    error = failure(hear(server, sends(SAID, A), speech_request(speech=None)))
    assert (error.kind, "utt-1" in error.message) == ("data", True)
    assert server.requests == []


# --- the ways to send sound


def test_raw_samples_may_be_cut_anywhere(server: FaultServer) -> None:
    cuts = [A[:1], A[1:2], A[2:1001], A[1001:1002], A[1002:] + B[:3], B[3:]]
    response = hear(server, sends(SAID, *cuts))
    audio = sound(response)
    assert (audio.rate_hz, audio.channels, samples(response) == A + B, response.notes) == (
        RATE_HZ,
        1,
        True,
        (),
    )
    assert sum(length for _, length in audio.chunks) == pytest.approx(audio.duration_s, abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "headers", "expected"),
    [
        ("audio/pcm;rate=16000;channels=2", {}, (16_000, 2)),
        ('audio/L16; rate="44100"', {}, (44_100, 1)),
        (PCM, {"X-Sample-Rate": "48000"}, (48_000, 1)),
        (PCM, {"X-Audio-Sample-Rate": "22050", "X-Audio-Channels": "2"}, (22_050, 2)),
        (PCM, {"x-sample-rate": "32000", "X-Num-Channels": "2", "X-Bit-Depth": "16"}, (32_000, 2)),
        ("application/octet-stream", {"Sample-Rate": "16000"}, (16_000, 1)),
        ("audio/pcm; codec=s16le", {}, (8_000, 1)),
    ],
)
def test_the_format_is_what_the_server_says_and_else_the_configured_one(
    kind: str, headers: dict[str, str], expected: tuple[int, int], server: FaultServer
) -> None:
    response = hear(server, sends(kind, A, headers=headers), pcm=PcmConfig(rate_hz=8_000))
    assert (sound(response).rate_hz, sound(response).channels) == expected
    assert (samples(response), response.notes) == (A, ())


def test_a_format_that_nobody_says_is_assumed_and_the_assumption_said(server: FaultServer) -> None:
    response = hear(server, sends(PCM, A))
    assert sound(response).rate_hz == RATE_HZ
    assert "24000 Hz, 1 channel, 16-bit integer was assumed" in response.notes[0]


@pytest.mark.parametrize("kind", [PCM, "audio/wav", "audio/mpeg", ""])
def test_a_wav_header_is_understood_whatever_was_asked_for(kind: str, server: FaultServer) -> None:
    data = wav(A, rate_hz=16_000, channels=2)
    unknown_size = b"RIFF\xff\xff\xff\xff" + data[8:40] + b"\xff\xff\xff\xff" + data[44:]
    for file in (data, unknown_size):
        response = hear(server, sends(kind, file[:7], file[7:45], file[45:]))
        audio = sound(response)
        assert (audio.rate_hz, audio.channels, samples(response), response.notes) == (16_000, 2, A, ())


def test_several_wavs_in_a_row_are_one_sound(server: FaultServer) -> None:
    assert samples(hear(server, sends("audio/wav", wav(A), wav(B)))) == A + B


EVENTS = (
    event("speech.created", sample_rate=RATE_HZ, channels=1),
    delta(A[:101]),
    delta(b""),
    delta(A[101:] + B),
    event("speech.audio.done", usage={"input_tokens": 4, "output_tokens": 9}),
)


def test_events_are_understood_too(server: FaultServer) -> None:
    response = hear(server, streams(*EVENTS, b"data: never read\n\n"))
    assert (samples(response) == A + B, response.notes) == (True, ())
    assert response.usage is not None
    assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (4, 9)
    of_wavs = hear(server, streams(delta(wav(A)), delta(wav(B)), DONE))
    assert samples(of_wavs) == A + B
    header_first = hear(server, streams(delta(wav(b"")), delta(A), EVENTS[-1]))
    assert (samples(header_first), header_first.notes) == (A, ())


@pytest.mark.parametrize(
    "script",
    [
        sends(PCM),
        sends("audio/wav", wav(b"")),
        streams(EVENTS[-1]),
        lambda exchange: exchange.head(200, {"Content-Type": PCM, "Content-Length": "0"}),
    ],
)
def test_an_answer_without_sound_is_an_answer(script: Behaviour, server: FaultServer) -> None:
    response = hear(server, script)
    assert response.error is None
    assert response.audio is None or response.audio.frames == 0
    assert (response.timing.rtf, response.timing.ttfp_s) == (None, None)
    assert response.timing.e2e_s is not None


def test_a_stray_byte_is_left_out_and_said(server: FaultServer) -> None:
    response = hear(server, sends(SAID, A, b"\x01"))
    assert samples(response) == A
    assert "stray byte" in response.notes[0]


@pytest.mark.parametrize("first", [b"{\x01", b"<\x02", b"  \t{"])
def test_samples_that_begin_like_a_text_are_samples(first: bytes, server: FaultServer) -> None:
    for data in (first + A[len(first) :], first + tone(2.0)[len(first) :]):
        response = hear(server, sends(SAID, data[:1], data[1:]))
        assert samples(response) == data
        assert len(sound(response).chunks) >= 1


def test_an_answer_without_a_marked_end_is_kept_and_the_doubt_said(server: FaultServer) -> None:
    async def until_closed(exchange: Exchange) -> None:
        await exchange.head(200, {"Content-Type": SAID})
        await exchange.raw(A)

    response = hear(server, until_closed)
    assert samples(response) == A
    assert "does not mark the end" in response.notes[0]


# --- the ways to fail


async def hang(exchange: Exchange) -> None:
    await body(exchange, SAID, A, complete=False)
    await exchange.hang()


async def hang_at_first(exchange: Exchange) -> None:
    await exchange.head(200, {"Content-Type": SAID, "Transfer-Encoding": "chunked"})
    await exchange.hang()


async def reset(exchange: Exchange) -> None:
    await body(exchange, SAID, A, complete=False)
    await asyncio.sleep(0.05)
    exchange.reset()


async def too_short(exchange: Exchange) -> None:
    await exchange.head(200, {"Content-Type": SAID, "Content-Length": "999999"})
    await exchange.raw(A)


async def broken_events(exchange: Exchange) -> None:
    await exchange.head(200, EVENT_STREAM)
    await exchange.raw(delta(A) + b"data: {half\n\n")


HTML = b"<!DOCTYPE html><html><title>Login</title></html>"
DIED = {"error": {"message": "EngineCore died", "code": 500}}
DIED_BYTES = json.dumps(DIED).encode()
DIED_EVENT = b"data: " + DIED_BYTES + b"\n\n"


@pytest.mark.parametrize(
    ("script", "kind", "retryable", "words", "kept"),
    [
        (sends(SAID, A, complete=False), "server", True, "broke off", A),
        (reset, "server", True, "broke off", A),
        (too_short, "server", True, "broke off", A),
        (hang, "timeout", True, "between_chunks_s", A),
        (hang_at_first, "timeout", True, "first_token_s", None),
        (lambda exchange: exchange.hang(), "timeout", True, "first_token_s", None),
        (sends("text/html", HTML), "protocol", False, "Login", None),
        (sends(PCM, HTML), "protocol", False, "Login", None),
        (sends("text/plain", b"hello"), "protocol", False, "hello", None),
        (sends(PCM, DIED_BYTES[:9], DIED_BYTES[9:]), "server", True, "EngineCore died", None),
        (lambda e: e.json(200, DIED), "server", True, "EngineCore died", None),
        (lambda e: e.json(200, {"sound": "none"}), "protocol", False, "found JSON", None),
        (lambda e: e.json(400, {"error": {"message": "Voice 'x' is unknown"}}), "sample", False, "'x'", None),
        (lambda e: e.json(404, {"error": {"message": "The model `x` does not exist."}}), "configuration",
         False, "does not exist", None),
        (lambda e: e.json(500, DIED), "server", True, "EngineCore died", None),
        (sends("audio/mpeg", A), "audio", False, "'mpeg'", None),
        (sends(PCM, b"OggS" + A), "audio", False, "Ogg", None),
        (sends(PCM, A, headers={"X-Bit-Depth": "24"}), "audio", False, "24-bit", None),
        (sends("audio/pcm;rate=0", A), "audio", False, "0 Hz", None),
        (sends("audio/wav", wav(A)[:30]), "audio", False, "ends before its samples", None),
        (sends("audio/wav", b"RIFF\0\0\0\0AVI "), "audio", False, "not a WAV", None),
        (sends("audio/wav", wav(A), wav(B, rate_hz=16_000)), "protocol", False, "16000 Hz", A),
        (streams(delta(wav(A)), DIED_EVENT, DONE), "server", True, "EngineCore died", A),
        (streams(delta(wav(A)), event("error", message="EngineCore died")), "server", True, "EngineCore", A),
        (streams(delta(wav(A))), "server", True, "without speech.audio.done", A),
        (streams(delta(wav(A)), delta(wav(B, channels=2)), EVENTS[-1]), "protocol", False, "2 channels", A),
        (streams(delta(wav(A)), event("speech.audio.delta", audio="***")), "protocol", True, "base64", A),
        (broken_events, "protocol", True, "expected a JSON object", A),
    ],
)  # fmt: skip
def test_what_is_no_whole_sound_is_a_failure_that_keeps_what_had_arrived(
    script: Behaviour, kind: str, retryable: bool, words: str, kept: bytes | None, server: FaultServer
) -> None:
    response = hear(server, script, pcm=PcmConfig(rate_hz=RATE_HZ))
    error = failure(response)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert words in f"{error.message} {error.hint}"
    assert (samples(response) if response.audio else None) == kept
    assert (response.timing.rtf, response.timing.e2e_s) == (None, None)


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("ref_audio must be a URL (http/https) or base64 data URL (data:...)", "--transport inline"),
        ("Invalid speaker 'ann'. Supported: ryan, vivian", "choose a reference"),
        ("Invalid voice 'ann'. Supported: ryan", "choose a reference"),
        ("VoiceDesign task requires 'instructions' to describe the voice", "choose a reference"),
        ("Qwen3TTS does not support generate_custom_voice", "choose a reference"),
        ("Base task requires non-empty 'ref_text' (transcript of the reference)", "x_vector_only_mode"),
    ],
)
def test_a_voice_that_the_model_cannot_make_is_a_matter_of_configuration(
    message: str, hint: str, server: FaultServer
) -> None:
    error = failure(hear(server, lambda e: e.json(400, {"error": {"message": message}})))
    assert (error.kind, error.retryable, hint in (error.hint or "")) == ("configuration", False, True)


def test_a_slow_drip_ends_at_the_total_time(server: FaultServer) -> None:
    async def drip(exchange: Exchange) -> None:
        await body(exchange, SAID, complete=False)
        while True:
            await exchange.raw(b"2\r\n\1\2\r\n")
            await asyncio.sleep(0.02)

    timeouts = TimeoutConfig(connect_s=2, first_token_s=2, between_chunks_s=2, total_s=0.5)
    error = failure(hear(server, drip, timeouts=timeouts))
    assert (error.kind, "total_s" in (error.hint or "")) == ("timeout", True)


def test_a_server_that_is_busy_is_busy_and_then_speaks(server: FaultServer) -> None:
    script = busy_once(sends(SAID, A))
    error = failure(hear(server, script))
    assert (error.kind, error.retryable, error.retry_after_s) == ("busy", True, 1.0)
    assert samples(hear(server, script)) == A


def test_nothing_listening_is_a_connection_failure() -> None:
    with FaultServer() as gone:
        pass
    error = failure(hear(gone, sends(SAID, A)))
    assert (error.kind, error.retryable) == ("connection", True)


@pytest.mark.parametrize(
    "script",
    [
        lambda e: e.json(401, {"error": {"message": f"wrong key {KEY}"}}),
        sends(PCM, f'{{"error": "wrong key {KEY}"}}'.encode()),
        sends("text/plain", f"wrong key {KEY}".encode()),
        streams(b'data: {"error": "wrong key ' + KEY.encode() + b'"}\n\n'),
        streams(f"data: {KEY}\n\n".encode()),
        streams(event("speech.audio.delta", audio=f"{KEY}!")),
    ],
)
def test_the_key_is_never_repeated(script: Behaviour, server: FaultServer) -> None:
    response = hear(server, script)
    assert failure(response)
    assert KEY not in repr(response)


# --- times

GAP_S = 0.05


@pytest.mark.parametrize(
    "script",
    [
        sends(SAID, A, A, B, gap_s=GAP_S),
        streams(delta(wav(A)), delta(wav(A)), delta(wav(B)), EVENTS[-1], gap_s=GAP_S),
    ],
)
def test_times_follow_their_definitions(script: Behaviour, server: FaultServer) -> None:
    response = hear(server, script)
    audio, timing = sound(response), response.timing
    times = offsets(audio.chunks)
    assert timing.ttfp_s == times[0] >= GAP_S
    assert [length for _, length in audio.chunks] == [0.1, 0.1, 0.25]
    assert times == sorted(times)
    assert times[-1] - times[0] >= 2 * GAP_S * 0.8
    assert timing.e2e_s is not None
    assert timing.e2e_s >= times[-1] >= 3 * GAP_S
    assert timing.rtf == pytest.approx(timing.e2e_s / audio.duration_s, rel=1e-4)
    assert (timing.ttft_s, timing.tpot_s, timing.itl_s) == (None, None, ())


# --- the check


def check(base_url: str | None, **more: Any) -> Any:
    async def once() -> Any:
        backend = create(speech_config(base_url, **more), BackendContext(media_url=lambda part: ""))
        try:
            return await backend.check()
        finally:
            await backend.close()

    return asyncio.run(once())


def test_check_tells_what_the_server_is_and_refuses_a_wrong_model(server: FaultServer) -> None:
    facts = check(server.base_url, model=None)
    assert (facts.backend, facts.model, facts.version) == ("openai-speech", "fake", "0.0-fake")
    with pytest.raises(BackendError, match="did you mean 'fake'"):
        check(server.base_url, model="fakee")


def test_a_base_url_is_required() -> None:
    with pytest.raises(ConfigError, match="openai-speech needs --base-url"):
        create(speech_config(None), BackendContext(media_url=lambda part: ""))
