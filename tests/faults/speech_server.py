"""What servers that speak send, in all the ways that are known: pieces for a `FaultServer`'s script.

vLLM-Omni tags the chunks of chat completions and makes each piece of sound a WAV file; others do not tag,
send raw samples, or answer in one body. `/v1/audio/speech` streams raw samples or events.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import wave
from collections.abc import Sequence
from typing import Any

import numpy as np

from omnieval.backends.base import BackendContext, BackendFactory
from omnieval.benchmarks.daily_omni import Settings
from omnieval.config import RunConfig, TimeoutConfig
from omnieval.media.wav import parse_wav
from omnieval.types import Failure, Generation, Message, Request, Response, SpeechTask, SpokenAudio, TextPart
from tests.faults.server import DONE, Behaviour, Exchange, FaultServer, chunk

KEY = "sk-secret-42"
RATE_HZ = 24_000


def limits(**short: float) -> TimeoutConfig:
    """Those that a busy machine keeps to, but for what is to run out."""
    return TimeoutConfig(
        **{"connect_s": 30, "first_token_s": 30, "between_chunks_s": 30, "total_s": 60} | short
    )


def tone(seconds: float, rate_hz: int = RATE_HZ, channels: int = 1) -> bytes:
    """16-bit samples of a rising tone, none like the one before."""
    times = np.arange(round(seconds * rate_hz)) / rate_hz
    mono = (20_000 * np.sin(2 * np.pi * (200 + 100 * times) * times)).astype("<i2")
    return np.repeat(mono, channels).tobytes()


def wav(samples: bytes, rate_hz: int = RATE_HZ, channels: int = 1) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setsampwidth(2)
        file.setnchannels(channels)
        file.setframerate(rate_hz)
        file.writeframes(samples)
    return buffer.getvalue()


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def tagged(data: bytes | str, *, finish: str | None = None, **fields: Any) -> bytes:
    """vLLM-Omni's chunk of sound: base64 in the content."""
    text = data if isinstance(data, str) else base64_of(data)
    return chunk(text, finish=finish, modality="audio", **fields)


def text(content: str | None, *, finish: str | None = None, **fields: Any) -> bytes:
    """vLLM-Omni's chunk of text."""
    return chunk(content, finish=finish, modality="text", **fields)


def untagged(data: bytes, *, finish: str | None = None, transcript: str | None = None, **audio: Any) -> bytes:
    """OpenAI's chunk of sound: `delta.audio`."""
    sound = {"data": base64_of(data), **({} if transcript is None else {"transcript": transcript}), **audio}
    choice = {"index": 0, "delta": {"audio": sound}, "finish_reason": finish}
    return b"data: " + json.dumps({"model": "fake", "choices": [choice]}).encode() + b"\n\n"


def whole(text_: str | None, data: bytes | None, *, finish: str | None = "stop") -> dict[str, Any]:
    """A body that is not streamed, as vLLM-Omni has it: the text and the sound are choices of their own."""
    choices = [{"message": {"content": text_}, "finish_reason": finish}]
    if data is not None:
        choices.append(
            {"message": {"content": None, "audio": {"data": base64_of(data)}}, "finish_reason": finish}
        )
    metrics = {"stage_metrics": {"0": {"tokens": 3}, "2": {"ms": 40.0}}}
    return {"model": "fake", "choices": choices, "metrics": metrics, "usage": {"completion_tokens": 3}}


def event(kind: str, **fields: Any) -> bytes:
    """An event of /v1/audio/speech."""
    return b"data: " + json.dumps({"type": kind, **fields}).encode() + b"\n\n"


def delta(data: bytes) -> bytes:
    return event("speech.audio.delta", audio=base64_of(data))


async def body(
    exchange: Exchange,
    kind: str,
    *pieces: bytes,
    complete: bool = True,
    gap_s: float = 0.0,
    headers: dict[str, str] | None = None,
) -> None:
    """A 200 in HTTP chunks, one a piece, with a gap before each; `complete`: with the last, empty one."""
    await exchange.head(200, {"Content-Type": kind, "Transfer-Encoding": "chunked", **(headers or {})})
    for piece in pieces:
        await asyncio.sleep(gap_s)
        await exchange.raw(b"%x\r\n%s\r\n" % (len(piece), piece))
    if complete:
        await exchange.raw(b"0\r\n\r\n")


def sends(kind: str, *pieces: bytes, **more: Any) -> Behaviour:
    return lambda exchange: body(exchange, kind, *pieces, **more)


def streams(*pieces: bytes, gap_s: float = 0.0) -> Behaviour:
    """Server-sent events, with a gap before each."""

    async def play(exchange: Exchange) -> None:
        await exchange.stream()
        for piece in pieces:
            await asyncio.sleep(gap_s)
            await exchange.raw(piece)

    return play


def spoken_answer(*samples: bytes) -> tuple[bytes, ...]:
    """A complete answer of vLLM-Omni: the text ends before the sound begins."""
    return (
        text("Hel"),
        text("lo"),
        text("", finish="stop"),
        *(tagged(wav(piece)) for piece in samples),
        DONE,
    )


def busy_once(then: Behaviour) -> Behaviour:
    """503 to the first request, as a server that is not ready says it; then the other behaviour."""
    asked: list[Exchange] = []

    async def play(exchange: Exchange) -> None:
        asked.append(exchange)
        if len(asked) == 1:
            await exchange.json(503, {"error": {"message": "not ready"}}, **{"Retry-After": "1"})
        else:
            await then(exchange)

    return play


def speech_request(**more: Any) -> Request:
    task = SpeechTask("Say this.", "en")
    messages = (Message("user", (TextPart("Please say: Say this."),)),)
    defaults: dict[str, Any] = {
        "generation": Generation(max_tokens=2048),
        "modalities": ("text", "audio"),
        "speech": task,
    }
    return Request("utt-1", messages, **(defaults | more))


def speech_config(base_url: str | None, **more: Any) -> RunConfig:
    defaults: dict[str, Any] = {"model": "fake", "timeouts": limits(), "modalities": ("text", "audio")}
    return RunConfig(
        recipe="r", benchmark="daily-omni", base_url=base_url, task=Settings(), **(defaults | more)
    )


def ask(
    create: BackendFactory,
    server: FaultServer,
    script: Behaviour,
    request: Request | None = None,
    *,
    media_url: Any = lambda part: f"url:{part.path}",
    **config: Any,
) -> Response:
    """The answer of the real client over a real socket."""
    server.script = script

    async def once() -> Response:
        context = BackendContext(media_url=media_url, api_key=KEY)
        backend = create(speech_config(server.base_url, **config), context)
        try:
            return await backend.generate(request or speech_request())
        finally:
            await backend.close()

    return asyncio.run(once())


def offsets(chunks: Sequence[tuple[float, float]]) -> list[float]:
    """When each piece of sound arrived, in seconds."""
    return [at_s for at_s, _ in chunks]


def sound(response: Response) -> SpokenAudio:
    """The sound of an answer that must have one."""
    assert response.error is None, response.error
    assert response.audio is not None
    return response.audio


def samples(response: Response) -> bytes:
    """The samples of a sound, which may be none."""
    assert response.audio is not None
    return parse_wav(response.audio.wav).data if response.audio.wav else b""


def failure(response: Response) -> Failure:
    """Why a try failed that must have."""
    assert response.error is not None, response
    return response.error
