"""Sound from chat completions: every known way to send it, and every known way to fail."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from omnieval.backends.chat.openai_chat import create
from omnieval.config import PcmConfig
from omnieval.media.transport import InlineMedia
from omnieval.media.wav import Pcm, PcmFormat, write_wav
from omnieval.types import MediaPart, Request, Response, SpeechTask
from tests.faults.server import DONE, Behaviour, Exchange, FaultServer, chunk
from tests.faults.speech_server import (
    KEY,
    RATE_HZ,
    ask,
    base64_of,
    body,
    busy_once,
    failure,
    limits,
    offsets,
    samples,
    sends,
    sound,
    speech_request,
    spoken_answer,
    streams,
    tagged,
    text,
    tone,
    untagged,
    wav,
    whole,
)

A, B = tone(0.1), tone(0.25)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running


def hear(server: FaultServer, script: Behaviour, request: Request | None = None, **more: Any) -> Response:
    return ask(create, server, script, request, **more)


# --- the request


def body_for(server: FaultServer, task: SpeechTask, **more: Any) -> dict[str, Any]:
    extra = more.pop("extra_body", {})
    hear(server, streams(*spoken_answer(A)), speech_request(speech=task, extra_body=extra), **more)
    return server.requests[-1]


def test_a_reference_voice_stands_in_the_root_of_the_body(server: FaultServer) -> None:
    reference = MediaPart("audio", Path("ref.wav"), "audio/wav")
    sent = body_for(server, SpeechTask("Say.", "en", reference, "What it says."))
    assert (sent["task_type"], sent["ref_audio"], sent["ref_text"], sent["language"]) == (
        "Base", "url:ref.wav", "What it says.", "English",
    )  # fmt: skip
    assert sent["modalities"] == ["text", "audio"]
    assert (sent["stream"], sent["stream_options"]["include_usage"]) == (True, True)


def test_a_named_or_described_voice_needs_no_reference(server: FaultServer) -> None:
    named = body_for(server, SpeechTask("说", "zh", voice="vivian", instructions="softly"))
    assert (named["task_type"], named["voice"], named["instructions"], named["language"]) == (
        "CustomVoice", "vivian", "softly", "Chinese",
    )  # fmt: skip
    described = body_for(server, SpeechTask("Say.", "en", instructions="an old man"))
    assert (described["task_type"], described["instructions"]) == ("VoiceDesign", "an old man")
    plain = body_for(server, SpeechTask("Say.", "en"))
    assert not {"task_type", "voice", "ref_audio", "ref_text", "instructions"} & set(plain)


def test_an_inline_reference_travels_once_and_a_further_field_may_replace_it(
    server: FaultServer, tmp_path: Path
) -> None:
    path = tmp_path / "ref.wav"
    path.write_bytes(wav(A))
    task = SpeechTask("Say.", "en", MediaPart("audio", path, "audio/wav"))
    inline = body_for(server, task, media_url=InlineMedia().url)
    assert base64.b64decode(inline["ref_audio"].partition("base64,")[2]) == path.read_bytes()
    other = body_for(server, task, media_url=InlineMedia().url, extra_body={"ref_audio": "http://x/y.wav"})
    assert other["ref_audio"] == "http://x/y.wav"


def test_a_reference_that_is_gone_is_named_before_anything_is_sent(
    server: FaultServer, tmp_path: Path
) -> None:
    task = SpeechTask("Say.", "en", MediaPart("audio", tmp_path / "gone.wav", "audio/wav"))
    error = failure(hear(server, streams(), speech_request(speech=task), media_url=InlineMedia().url))
    assert (error.kind, "utt-1" in error.message, "gone.wav" in error.message) == ("media", True, True)
    assert server.requests == []


# --- the ways to send sound


def test_the_sound_of_tagged_chunks_comes_after_the_end_of_the_text(server: FaultServer) -> None:
    response = hear(server, streams(*spoken_answer(A, B)))
    audio = sound(response)
    assert (response.text, response.finish_reason, response.notes) == ("Hello", "stop", ())
    assert (audio.rate_hz, audio.channels, audio.frames) == (RATE_HZ, 1, len(A + B) // 2)
    assert samples(response) == A + B
    assert [length for _, length in audio.chunks] == [0.1, 0.25]


@pytest.mark.parametrize(
    "pieces",
    [
        (untagged(wav(A)), untagged(wav(B)), chunk(None, finish="stop")),
        (untagged(A, sample_rate=RATE_HZ), untagged(B), chunk(None, finish="stop")),
        (untagged(wav(A)), untagged(B), chunk(None, finish="stop")),
        (untagged(A[:101], sample_rate_hz=RATE_HZ, channels=1), untagged(A[101:] + B, finish="stop")),
        (chunk(None, modality="audio", choices=[{"delta": {"audio": {"data": base64_of(wav(A))}}}]),
         tagged(wav(B), finish="stop")),
        (tagged(f"data:audio/wav;base64,{base64_of(wav(A))}"), tagged(""), tagged(wav(B), finish="stop")),
        (tagged(wav(b"")), tagged(wav(A)), tagged(wav(B)), chunk(None, finish="stop")),
        # An older server marks every piece as the last one.
        (text("Hi", finish="stop"), tagged(wav(A), finish="stop"), tagged(wav(B), finish="stop")),
        # The text may also end last.
        (tagged(wav(A)), tagged(wav(B)), text("Hi", finish="stop")),
    ],
)  # fmt: skip
def test_every_way_to_send_pieces_gives_the_same_sound(
    pieces: tuple[bytes, ...], server: FaultServer
) -> None:
    response = hear(server, streams(*pieces, DONE))
    assert (sound(response).rate_hz, samples(response) == A + B, response.notes) == (RATE_HZ, True, ())


def test_an_answer_in_one_body_has_sound_but_no_times_of_pieces(server: FaultServer) -> None:
    response = hear(server, lambda exchange: exchange.json(200, whole("Hi", wav(A))), stream=False)
    assert (server.requests[0]["stream"], "stream_options" in server.requests[0]) == (False, False)
    assert (response.text, samples(response), sound(response).chunks) == ("Hi", A, ())
    timing = response.timing
    assert (timing.ttft_s, timing.ttfp_s, timing.itl_s, timing.tpot_s) == (None, None, (), None)
    assert timing.e2e_s is not None
    assert timing.rtf == pytest.approx(timing.e2e_s / 0.1, rel=1e-3)


def test_figures_of_the_stages_are_kept(server: FaultServer) -> None:
    stages = [{"stage_metrics": {"0": {"tokens": 5}}}, {"stage_metrics": {"2": {"ms": 9}}}, None, {"x": 1}]
    pieces = [tagged(wav(A), metrics=stage) for stage in stages]
    response = hear(server, streams(*pieces, tagged("", finish="stop"), DONE))
    assert response.server_metrics == {"0": {"tokens": 5}, "2": {"ms": 9}}
    one = hear(server, lambda exchange: exchange.json(200, whole("Hi", wav(A))), stream=False)
    assert one.server_metrics == {"0": {"tokens": 3}, "2": {"ms": 40.0}}


def test_a_text_that_was_cut_is_told_by_its_stage_where_the_sound_ends_well(server: FaultServer) -> None:
    cut = tagged(wav(A), metrics={"stage_metrics": {"0": {"finish_reason": "length", "num_tokens_out": 9}}})
    response = hear(server, streams(text("Hel"), cut, tagged("", finish="stop"), DONE))
    assert (response.error, response.finish_reason) == (None, "length")
    whole_text = tagged(wav(A), metrics={"stage_metrics": {"0": {"finish_reason": "stop"}}})
    response = hear(server, streams(text("Hello"), whole_text, tagged("", finish="stop"), DONE))
    assert response.finish_reason == "stop"


def test_a_transcript_is_the_text_where_no_other_comes(server: FaultServer) -> None:
    spoken = [untagged(wav(A), transcript="Hel"), untagged(wav(B), transcript="lo", finish="stop")]
    response = hear(server, streams(*spoken, DONE))
    assert (response.text, samples(response) == A + B) == ("Hello", True)
    assert response.timing.ttft_s == response.timing.ttfp_s is not None
    both = hear(server, streams(text("Written"), *spoken, DONE))
    assert both.text == "Written"


def test_raw_samples_are_of_the_configured_format_and_an_assumed_one_is_said(server: FaultServer) -> None:
    pieces = (untagged(A), untagged(B, finish="stop"), DONE)
    configured = hear(server, streams(*pieces), pcm=PcmConfig(rate_hz=16_000, channels=2))
    assert (sound(configured).rate_hz, sound(configured).channels, configured.notes) == (16_000, 2, ())
    assumed = hear(server, streams(*pieces))
    assert sound(assumed).rate_hz == RATE_HZ
    assert ["was assumed" in note for note in assumed.notes] == [True]


def test_a_stray_byte_at_the_end_is_left_out_and_said(server: FaultServer) -> None:
    response = hear(
        server, streams(untagged(A + b"\x01", sample_rate=RATE_HZ), chunk(None, finish="stop"), DONE)
    )
    assert samples(response) == A
    assert "stray byte" in response.notes[0]


def test_numbers_that_are_none_are_left_to_the_scorer(server: FaultServer) -> None:
    floats = struct.pack("<3f", 0.5, math.nan, math.inf)
    data = write_wav(Pcm(PcmFormat(RATE_HZ, 1, "f32"), floats))
    assert samples(hear(server, streams(tagged(data), tagged("", finish="stop"), DONE))) == floats


@pytest.mark.parametrize("pieces", [(), (tagged(""),), (tagged(wav(b"")),)])
def test_an_answer_without_sound_is_an_answer(pieces: tuple[bytes, ...], server: FaultServer) -> None:
    response = hear(server, streams(text("Hi"), *pieces, text("", finish="stop"), DONE))
    assert (response.text, response.error) == ("Hi", None)
    assert response.audio is None or response.audio.frames == 0
    assert (response.timing.rtf, response.timing.ttfp_s) == (None, None)


def test_sound_that_was_not_asked_for_is_left_out(server: FaultServer) -> None:
    response = hear(
        server,
        streams(text("Hi", finish="stop"), tagged(wav(A)), DONE),
        speech_request(modalities=("text",), speech=None),
    )
    assert (response.text, response.audio, response.error) == ("Hi", None, None)


# --- the ways to fail


async def hang(exchange: Exchange) -> None:
    await exchange.stream(text("Hi", finish="stop"), tagged(wav(A)))
    await exchange.hang()


async def reset(exchange: Exchange) -> None:
    await exchange.stream(text("Hi", finish="stop"), tagged(wav(A)))
    await asyncio.sleep(0.05)
    exchange.reset()


async def stall_after_a_finish(exchange: Exchange) -> None:
    await exchange.stream(text("Hi", finish="stop"), tagged(wav(A), finish="stop"))
    await exchange.hang()


async def reset_after_a_finish(exchange: Exchange) -> None:
    await exchange.stream(text("Hi", finish="stop"), tagged(wav(A), finish="stop"))
    await asyncio.sleep(0.05)
    exchange.reset()


async def unfinished_after_a_finish(exchange: Exchange) -> None:
    await body(exchange, EVENTS, text("Hi", finish="stop"), tagged(wav(A), finish="stop"), complete=False)


EVENTS = "text/event-stream"
ERROR = b'data: {"error": {"message": "EngineCore died", "code": 500}}\n\n'
SPEAKS = (text("Hi", finish="stop"), tagged(wav(A)))


@pytest.mark.parametrize(
    ("script", "kind", "retryable", "words", "kept"),
    [
        (streams(*SPEAKS), "server", True, "without [DONE]", A),
        (streams(text("Hi"), tagged(wav(A)), DONE), "server", True, "without a finish reason", A),
        (streams(text("Hi"), tagged(wav(A))), "server", True, "without a finish reason", A),
        (streams(untagged(wav(A)), chunk(None, finish="stop")), "server", True, "without [DONE]", A),
        (streams(*(tagged(wav(A), finish="stop") for _ in range(2))), "server", True, "without [DONE]", A + A),
        (streams(*SPEAKS, ERROR, DONE), "server", True, "EngineCore died", A),
        (streams(text("Hi"), tagged(wav(A), finish="stop"), ERROR, DONE), "server", True, "EngineCore died", A),
        (streams(), "server", True, "before its first chunk", None),
        (hang, "timeout", True, "between_chunks_s", A),
        (reset, "server", True, "broke off", A),
        (streams(*SPEAKS, tagged(wav(B, rate_hz=16_000)), DONE), "protocol", False, "24000 Hz", A),
        (streams(*SPEAKS, tagged(wav(B, channels=2)), DONE), "protocol", False, "2 channels", A),
        (streams(*SPEAKS, tagged("UklGRg==*"), DONE), "protocol", True, "base64", A),
        (streams(*SPEAKS, tagged(base64_of(wav(B))[:-3]), DONE), "protocol", True, "base64", A),
        (streams(*SPEAKS, tagged(b"RIFF\0\0\0\0WAVE"), DONE), "server", True, "ends before its samples", A),
        # A WAV that lacks samples, as the last piece, with another behind it, and in one body.
        (streams(*SPEAKS, tagged(wav(B)[:-2]), DONE), "server", True, "cut short", A + B[:-2]),
        (streams(*SPEAKS, tagged(wav(B)[:-2]), tagged(wav(A)), DONE), "server", True, "cut short", A + B[:-2]),
        (lambda e: e.json(200, whole("Hi", wav(A)[:-2])), "server", True, "cut short", A[:-2]),
        # The first piece has a finish reason, and then nothing proves that it was the last.
        (stall_after_a_finish, "timeout", True, "between_chunks_s", A),
        (reset_after_a_finish, "server", True, "broke off", A),
        (unfinished_after_a_finish, "server", True, "broke off", A),
        (streams(text("Hi", finish="stop"), tagged(b"ID3\x04\0\0"), DONE), "audio", False, "MP3", None),
        (streams(untagged(A, format="mp3", finish="stop"), DONE), "audio", False, "'mp3'", None),
    ],
)  # fmt: skip
def test_what_is_no_whole_sound_is_a_failure_that_keeps_what_had_arrived(
    script: Behaviour, kind: str, retryable: bool, words: str, kept: bytes | None, server: FaultServer
) -> None:
    timeouts = limits(**{words: 0.5}) if kind == "timeout" else limits()
    response = hear(server, script, timeouts=timeouts)
    error = failure(response)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert words in f"{error.message} {error.hint}"
    assert (samples(response) if response.audio else None) == kept


def test_sound_without_end_is_cut_off(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "omnieval.backends.sound.spoken.Spoken.__init__.__kwdefaults__", {"most_bytes": 10_000}
    )
    error = failure(hear(server, streams(*spoken_answer(A, A, A))))
    assert (error.kind, "larger than 10000 bytes" in error.message) == ("protocol", True)


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_without_end_is_cut_off(
    stream: bool, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnieval.backends.http.model_server._MOST_BYTES", 1_000)
    script = streams(text("Hi" * 2_000), DONE) if stream else lambda e: e.json(200, whole("Hi", wav(A)))
    error = failure(hear(server, script, stream=stream))
    assert (error.kind, "more than 1000 bytes" in error.message) == ("protocol", True)


def test_a_sound_with_its_own_finish_reason_is_whole_where_the_stream_ends_properly(
    server: FaultServer,
) -> None:
    for pieces in ((tagged(wav(A), finish="stop"),), (tagged(wav(A)), tagged("", finish="stop"))):
        framed = hear(server, sends(EVENTS, text("Hi"), *pieces))
        assert (samples(framed), framed.error, framed.notes) == (A, None, ())
        unframed = hear(server, streams(text("Hi"), *pieces))
        assert (samples(unframed), unframed.error) == (A, None)
        assert "does not mark the end" in unframed.notes[0]


@pytest.mark.parametrize("size", [0, 10, len(A) - 4, len(A) - 1])
def test_a_piece_that_holds_more_than_its_header_promises_is_taken_whole(
    size: int, server: FaultServer
) -> None:
    data = wav(A)
    piece = data[:40] + struct.pack("<I", size) + data[44:]
    response = hear(server, streams(text("Hi", finish="stop"), tagged(piece), tagged(wav(B)), DONE))
    assert (response.error, samples(response) == A + B) == (None, True)
    assert ["more sound came" in note for note in response.notes] == [True][: bool(size)]


def test_chunks_and_further_wavs_in_a_piece_are_told_from_sound(server: FaultServer) -> None:
    notes = b"LIST" + struct.pack("<I", 5) + b"INFO!\0"
    empty = wav(b"")
    for piece in (wav(A) + notes, wav(A) + notes + wav(B), notes.join([wav(A), wav(B), empty, b""])):
        response = hear(server, streams(text("Hi", finish="stop"), tagged(piece), DONE))
        assert response.error is None
        assert samples(response) == (A + B if wav(B) in piece else A)
        assert response.notes == ()


@pytest.mark.parametrize(
    ("of_text", "of_sound", "expected"),
    [
        ("stop", ["length"], "length"),
        ("stop", ["length", "stop"], "length"),
        ("length", ["stop"], "length"),
        ("stop", ["stop", "content_filter"], "content_filter"),
        ("stop", ["stop"], "stop"),
    ],
)
def test_of_several_finish_reasons_the_worst_is_kept(
    of_text: str, of_sound: list[str], expected: str, server: FaultServer
) -> None:
    pieces = [tagged(wav(A), finish=reason) for reason in of_sound]
    response = hear(server, streams(text("Hi", finish=of_text), *pieces, DONE))
    assert (response.error is None, response.finish_reason) == (expected != "content_filter", expected)


def test_the_limit_of_a_sound_that_nobody_asked_for_is_not_that_of_the_text(server: FaultServer) -> None:
    request = speech_request(modalities=("text",), speech=None)
    response = hear(
        server, streams(tagged(wav(A), finish="length"), text("Hi", finish="stop"), DONE), request
    )
    assert (response.text, response.finish_reason) == ("Hi", "stop")


def test_a_body_with_a_broken_sound_or_no_finish_reason_is_a_failure(server: FaultServer) -> None:
    broken = whole("Hi", None)
    broken["choices"][0]["message"]["audio"] = {"data": "***"}
    for content, kind in ((broken, "protocol"), (whole("Hi", wav(A), finish=None), "server")):
        assert failure(hear(server, lambda e, c=content: e.json(200, c), stream=False)).kind == kind


def test_a_server_that_is_busy_is_busy_and_then_answers(server: FaultServer) -> None:
    script = busy_once(streams(*spoken_answer(A)))
    error = failure(hear(server, script))
    assert (error.kind, error.retryable, error.status, error.retry_after_s) == ("busy", True, 503, 1.0)
    assert samples(hear(server, script)) == A


def test_the_key_is_never_repeated_with_a_broken_sound(server: FaultServer) -> None:
    response = hear(server, streams(tagged(f"{KEY} is no base64!"), DONE))
    assert failure(response).kind == "protocol"
    assert KEY not in repr(response)


# --- times


GAP_S = 0.05


def usage(tokens: int) -> dict[str, Any]:
    return {"prompt_tokens": 9, "completion_tokens": tokens}


def test_times_follow_their_definitions(server: FaultServer) -> None:
    pieces = (
        text(""),
        text("A", usage=usage(1)),
        text("BCD", usage=usage(4)),
        text("", finish="stop", usage=usage(4)),
        tagged(wav(A), usage=usage(0)),
        tagged(wav(B), usage=usage(70)),
        chunk(None, choices=[], usage=usage(4)),
        DONE,
    )
    response = hear(server, streams(*pieces, gap_s=GAP_S))
    audio, timing = sound(response), response.timing
    assert timing.ttft_s is not None
    assert timing.ttfp_s is not None
    assert timing.e2e_s is not None
    assert timing.rtf is not None
    first, last = offsets(audio.chunks)
    assert timing.ttft_s >= 2 * GAP_S
    assert timing.ttfp_s == first >= 5 * GAP_S
    assert timing.e2e_s >= last + GAP_S * 0.8
    assert timing.rtf == pytest.approx(last / audio.duration_s, rel=1e-4)
    assert len(timing.itl_s) == 3
    assert timing.itl_s[0] == timing.itl_s[1] == timing.itl_s[2] >= GAP_S * 0.8 / 3
    assert timing.tpot_s == pytest.approx(timing.itl_s[0], abs=2e-6)
    assert response.usage is not None
    assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (9, 4)


def test_arrivals_are_in_order_and_no_earlier_than_sent(server: FaultServer) -> None:
    audio = sound(hear(server, streams(*spoken_answer(*[A] * 5), gap_s=GAP_S)))
    times = offsets(audio.chunks)
    assert times[0] >= 4 * GAP_S
    assert all(later >= earlier for earlier, later in pairwise(times))
    assert times[-1] - times[0] >= 4 * GAP_S * 0.8
    assert sum(length for _, length in audio.chunks) == pytest.approx(audio.duration_s, abs=1e-5)


def test_tokens_of_sound_in_one_chunk_with_text_add_no_text(server: FaultServer) -> None:
    def mixed(words: str, tokens: int, **details: Any) -> bytes:
        choice = {"delta": {"content": words, "audio": {"data": base64_of(wav(A))}}, "finish_reason": None}
        count = {"completion_tokens": tokens, **details}
        return b"data: " + json.dumps({"choices": [choice], "usage": count}).encode() + b"\n\n"

    said = {"completion_tokens_details": {"audio_tokens": 48}}
    end = (chunk("", finish="stop"), DONE)
    unsaid = hear(server, streams(mixed("A", 50), mixed("B", 100), *end))
    assert len(unsaid.timing.itl_s) == 1
    known = hear(server, streams(mixed("A", 1, completion_tokens_details={}), mixed("BC", 51, **said), *end))
    assert len(known.timing.itl_s) == 2
