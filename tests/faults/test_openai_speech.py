"""`/v1/audio/speech`: raw samples, WAV and events, their format, and every known way to fail."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnieval
from omnieval.backends.base import BackendContext
from omnieval.backends.sound.kinds import is_text
from omnieval.backends.speech.openai_speech import create
from omnieval.config import PcmConfig
from omnieval.errors import BackendError, ConfigError
from omnieval.media.transport import InlineMedia
from omnieval.media.wav import parse_wav
from omnieval.types import Generation, MediaPart, Request, Response, SpeechTask
from tests.faults.server import DONE, EVENT_STREAM, Behaviour, Exchange, FaultServer
from tests.faults.speech_server import (
    KEY,
    RATE_HZ,
    ask,
    base64_of,
    body,
    busy_once,
    delta,
    event,
    failure,
    limits,
    offsets,
    samples,
    sends,
    sound,
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
        ('audio/pcm; rate="44100"', {}, (44_100, 1)),
        (PCM, {"X-Sample-Rate": "16000.0", "X-Channels": "1.0"}, (16_000, 1)),
        (PCM, {"X-Sample-Rate": "16000", "X-Sample-Format": "s16le", "X-Sample-Width": "2"}, (16_000, 1)),
        ("audio/wav;codecs=1", {}, (8_000, 1)),
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


@pytest.mark.parametrize(
    ("kind", "headers", "encoding"),
    [
        (SAID, {"X-Sample-Format": "f32le"}, "<f4"),
        (SAID, {"X-Sample-Format": "F32LE", "X-Sample-Width": "4"}, "<f4"),
        (SAID, {"X-Audio-Encoding": "pcm_f32le", "X-Bit-Depth": "32"}, "<f4"),
        (f"{SAID};codec=s32le", {"X-Bit-Depth": "32"}, "<i4"),
        (SAID, {"X-Audio-Format": "float64"}, "<f8"),
        (SAID, {"X-Sample-Format": "s16be"}, ">i2"),
        (SAID, {"X-Sample-Format": "f32be"}, ">f4"),
        (f"audio/L16;rate={RATE_HZ}", {"X-Sample-Format": "s16le"}, "<i2"),
        (SAID, {"X-Audio-Format": "some-words", "X-Sample-Format": "s16"}, "<i2"),
    ],
)
def test_the_encoding_that_headers_name_is_honoured(
    kind: str, headers: dict[str, str], encoding: str, server: FaultServer
) -> None:
    sent = (np.frombuffer(A, "<i2") // 3).astype(encoding)
    data = sent.tobytes()
    response = hear(server, sends(kind, data[:3], data[3:], headers=headers))
    assert (sound(response).frames, response.notes) == (len(sent), ())
    heard = np.frombuffer(samples(response), sent.dtype.newbyteorder("<"))
    assert np.array_equal(heard, sent)


def test_l16_is_big_endian_as_its_rfc_has_it_and_that_is_said(server: FaultServer) -> None:
    swapped = np.frombuffer(A, "<i2").astype(">i2").tobytes()
    response = hear(server, sends(f"audio/L16;rate={RATE_HZ};channels=1", swapped[:101], swapped[101:]))
    assert (samples(response), len(response.notes)) == (A, 1)
    assert "big-endian" in response.notes[0]
    assert 'response_format="wav"' in response.notes[0]


@pytest.mark.parametrize("rate", ["banana", "16000.5", "nan", ""])
@pytest.mark.parametrize("configured", [None, 8_000])
def test_a_rate_that_cannot_be_read_is_named(rate: str, configured: int | None, server: FaultServer) -> None:
    response = hear(server, sends(PCM, A, headers={"X-Sample-Rate": rate}), pcm=PcmConfig(rate_hz=configured))
    assert sound(response).rate_hz == (configured or RATE_HZ)
    assert f"sample_rate '{rate}'" in response.notes[0]
    assert ("pcm.rate_hz" in response.notes[0]) == (configured is None)
    assert "does not say" not in response.notes[0]
    by_wav = hear(server, sends("audio/wav", wav(A), headers={"X-Sample-Rate": rate}))
    assert by_wav.notes == ()


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
    response = hear(server, streams(*EVENTS))
    assert (response.error, samples(response) == A + B, response.notes) == (None, True, ())
    assert response.usage is not None
    assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (4, 9)
    of_wavs = hear(server, streams(delta(wav(A)), delta(wav(B)), DONE))
    assert samples(of_wavs) == A + B
    header_first = hear(server, streams(delta(wav(b"")), delta(A), EVENTS[-1]))
    assert (samples(header_first), header_first.notes) == (A, ())


def test_sound_after_the_event_that_ends_it_is_read_too_and_said(server: FaultServer) -> None:
    again = (EVENTS[-1], delta(wav(B)))
    for end in (DONE, EVENTS[-1]):
        response = hear(server, streams(delta(wav(A)), *again, end, gap_s=0.05))
        assert (response.error, samples(response) == A + B) == (None, True)
        assert "after speech.audio.done" in response.notes[0]
        assert response.timing.e2e_s is not None
        assert response.timing.e2e_s >= 0.15
    cut = hear(server, streams(delta(wav(A)), *again))
    assert (failure(cut).kind, failure(cut).retryable, samples(cut) == A + B) == ("server", True, True)


def untyped(**fields: Any) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def test_events_without_a_type_and_with_sound_inside_an_object_are_read(server: FaultServer) -> None:
    pieces = [untyped(audio=base64_of(A), sample_rate=RATE_HZ), untyped(audio={"data": base64_of(B)})]
    response = hear(server, streams(*pieces, untyped(finish_reason="length"), DONE))
    assert (response.error, samples(response) == A + B, response.notes) == (None, True, ())
    assert response.finish_reason == "length"
    odd = hear(server, streams(delta(wav(A)), event("odd.thing", audio=base64_of(B)), EVENTS[-1]))
    assert (samples(odd), "'odd.thing'" in odd.notes[0]) == (A, True)


@pytest.mark.parametrize(
    "content",
    [
        {"audio": base64_of(wav(A))},
        {"audio": f"data:audio/wav;base64,{base64_of(wav(A))}"},
        {"audio": base64_of(A), "sample_rate": RATE_HZ, "format": "pcm"},
        {"audio": {"data": base64_of(A), "sample_rate": str(RATE_HZ)}},
        {"id": 1, "data": base64_of(wav(A)), "usage": {"output_tokens": 3}},
    ],
)
def test_sound_in_a_json_body_is_read(content: dict[str, Any], server: FaultServer) -> None:
    response = hear(server, lambda exchange: exchange.json(200, content))
    assert (samples(response), response.error, response.notes) == (A, None, ())
    assert (sound(response).chunks, response.timing.ttfp_s, response.finish_reason) == ((), None, "stop")
    assert response.timing.rtf is not None


@pytest.mark.parametrize("whole", [0, 36, 36 + len(A), 0xFFFFFFFF])
@pytest.mark.parametrize("cut", [20, 44, 47, 60, 1000])
def test_a_wav_of_size_zero_with_sound_behind_it_is_read_to_its_end(
    whole: int, cut: int, server: FaultServer
) -> None:
    data = b"RIFF" + struct.pack("<I", whole) + wav(A)[8:40] + bytes(4) + A
    for response in (
        hear(server, sends("audio/wav", data[:cut], data[cut:])),
        hear(server, streams(delta(data), DONE)),
    ):
        assert (response.error, samples(response), response.notes) == (None, A, ())


@pytest.mark.parametrize("size", [10, len(A) - 4, len(A) - 1])
@pytest.mark.parametrize("cut", [20, 44, 60, 1000, 44 + len(A) - 3])
def test_sound_of_which_the_wav_header_does_not_know_is_taken_and_said(
    size: int, cut: int, server: FaultServer
) -> None:
    data = wav(A)[:40] + struct.pack("<I", size) + A
    response = hear(server, sends("audio/wav", data[:cut], data[cut:]))
    assert (response.error, samples(response)) == (None, A)
    assert ["more sound came" in note for note in response.notes] == [True]


REAL = sorted(Path(omnieval.__file__).parent.glob("samples/**/*.wav"))[:12]


def test_no_real_sound_is_taken_for_a_text(server: FaultServer) -> None:
    """Speech at its own pace and volume, from any place; silence; noise of every volume."""
    assert REAL
    noise = np.random.default_rng(7)
    sounds = [bytes(100), bytes(100_000), b"\xff\xff" * 4000]
    sounds += [noise.normal(0, scale, 4000).astype("<i2").tobytes() for scale in (0.5, 3, 100, 3_000, 9_000)]
    for path in REAL:
        pcm = parse_wav(path.read_bytes())
        sounds += [pcm.data, *(pcm.data[at : at + 4000] for at in range(0, len(pcm.data), 30_000))]
    assert not any(is_text(data[:size]) for data in sounds for size in (64, 1024))
    for data in sounds[:12]:
        response = hear(server, sends(SAID, data[:7], data[7:500], data[500:]))
        assert (response.error, samples(response)) == (None, data)


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


async def stall_after_done(exchange: Exchange) -> None:
    await exchange.stream(delta(wav(A)), EVENTS[-1])
    await exchange.hang()


async def reset_after_done(exchange: Exchange) -> None:
    await exchange.stream(delta(wav(A)), EVENTS[-1])
    await asyncio.sleep(0.05)
    exchange.reset()


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
        (sends("audio/wav", wav(A)[:30]), "server", True, "ends before its samples", None),
        (sends("audio/wav", wav(A)[:3]), "protocol", False, "found a text: RIF", None),
        (sends("audio/wav", wav(A)[:-2]), "server", True, "cut short", A[:-2]),
        (sends("audio/wav", wav(A)[:44]), "server", True, "cut short", b""),
        (sends("audio/wav", wav(A), wav(B)[:-2]), "server", True, "cut short", A + B[:-2]),
        (streams(delta(wav(A)), delta(wav(B)[:-2]), EVENTS[-1]), "server", True, "cut short", A + B[:-2]),
        (lambda e: e.json(200, {"audio": base64_of(wav(A)[:-2])}), "server", True, "cut short", A[:-2]),
        (lambda e: e.json(200, {"audio": "http://x/y.wav"}), "protocol", True, "base64", None),
        (stall_after_done, "timeout", True, "between_chunks_s", A),
        (reset_after_done, "server", True, "broke off", A),
        (streams(delta(wav(A)), EVENTS[-1], b"data: no object\n\n"), "protocol", True, "JSON object", A),
        (sends(PCM, b"Internal Server Error"), "protocol", False, "a text: Internal Server Error", None),
        (sends(PCM, b"\x1b[31mFehler: ", "Modell zerstört".encode(), b"\x1b[0m\n"), "protocol", False,
         "zerstört", None),
        (sends(PCM, '{"detail": "Modèle non chargé"}'.encode("latin-1")), "server", True, "charg", None),
        (sends(PCM, b'{"error": {"message": "CUDA OOM ' + b"x" * 70_000 + b'"}}'), "protocol", False, "CUDA", None),
        (sends(PCM, b'[{"error": "boom"}]'), "protocol", False, "boom", None),
        (sends(PCM, b"<!-- 502 --><html>bad gateway</html>"), "protocol", False, "bad gateway", None),
        (sends(PCM, b'{"error": {"message": "CUDA OOM ', b"x" * 70_000, b'"}}'), "protocol", False, "CUDA", None),
        (sends(PCM, *[b"All is lost. " * 500] * 40), "protocol", False, "All is lost", None),
        (sends("audio/mpeg", b"\xff\xfb\x90\x64" + A), "audio", False, "response_format", None),
        (sends(PCM, b"\xff", b"\xfb\x90\x64" + A), "audio", False, "comes as MP3", None),
        (sends(PCM, b"\xff\xf3\x84\xc4" + A), "audio", False, "comes as MP3", None),
        (sends("", b"\xff\xf2\x84\xc4" + A), "audio", False, "comes as MP3", None),
        (sends(PCM, b"\x1a\x45", b"\xdf\xa3\x9f" + A), "audio", False, "comes as WebM", None),
        (sends("video/mp4", b"\0\0\0\x20ft", b"ypM4A " + A), "audio", False, "comes as MP4", None),
        (streams(delta(b"\0\0\0\x20ftypM4A " + A), EVENTS[-1]), "audio", False, "comes as MP4", None),
        (sends(PCM, A, headers={"X-Sample-Format": "adpcm"}), "audio", False, "'adpcm'", None),
        (sends(PCM, A, headers={"X-Sample-Format": "s16le", "X-Sample-Width": "4"}), "audio", False,
         "32-bit s16le", None),
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
    timeouts = limits(**{words: 0.5}) if kind == "timeout" else limits()
    response = hear(server, script, pcm=PcmConfig(rate_hz=RATE_HZ), timeouts=timeouts)
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

    error = failure(hear(server, drip, timeouts=limits(total_s=0.5)))
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
