"""Hold one conversation with a full-duplex server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from omnieval.backends.base import BackendContext
from omnieval.backends.realtime.answer import DuplexAnswer
from omnieval.backends.realtime.duplex import RealtimeDuplex, create
from omnieval.backends.realtime.fields import session_fields
from omnieval.backends.realtime.pace import BYTES_A_SECOND, DuplexInput
from omnieval.backends.retry import wait_seconds
from omnieval.config import RunConfig
from omnieval.duplex.conversation import Conversation
from omnieval.duplex.input_wav import read_input
from omnieval.duplex.record import Recorder, refuse_used
from omnieval.engine.signals import run_to_end, stop_on_signals
from omnieval.errors import ConfigError, MediaError
from omnieval.media.transport import InlineMedia
from omnieval.types import Failure, JsonDict, Response

_FULL = "end other sessions, or let the server's deploy file allow more of them"


def converse(
    config: RunConfig,
    input_wav: Path,
    *,
    out: Path | None = None,
    convert: bool = False,
    text: str | None = None,
    voice: Path | None = None,
    api_key: str | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Conversation:
    """Let the model hear a recording in real time, and silence until it has answered.

    config: server, model, `system_prompt`, `decode.temperature`, `duplex`, `extra_body`, timeouts and retries
    are taken from it. input_wav, convert: see `read_input`. out: an empty or a new folder; else one under the
    `runs_dir`. text, voice: see `session_fields`. A full server is waited for; SIGINT or SIGTERM ends the
    session, and what came is kept. Raises ConfigError, BackendError, StorageError, MediaError for an unusable
    recording, OSError for an unreadable voice.
    """
    if config.backend != "realtime-duplex":
        raise ConfigError(f"a conversation takes the backend realtime-duplex, not {config.backend}")
    if voice is not None and not voice.is_file():
        raise MediaError(f"{voice}: no such file; name a recording with --ref-audio", kind="media_missing")
    sound = read_input(input_wav, convert=convert)
    key = api_key or os.environ.get(config.api_key_env)
    directory = out or config.runs_dir / f"{datetime.now():%Y%m%d-%H%M%S}-duplex-{input_wav.stem}"
    refuse_used(directory)
    backend = create(config, BackendContext(media_url=InlineMedia().url, api_key=key))

    async def work() -> Conversation:
        try:
            facts = await backend.check()
            fields = session_fields(
                facts.model or "",
                text=text,
                instructions=config.flat()["system_prompt"],
                voice=voice,
                temperature=config.decode.temperature,
                extra_body=config.extra_body,
            )
            recorder = Recorder(directory, key)
            response = await _until_held(config, backend, fields, sound, recorder, notify)
            asked = {
                "model": facts.model,
                "base_url": config.base_url,
                "speed": config.duplex.speed,
                "input_wav": str(input_wav.absolute()),
                "input_s": len(sound) / BYTES_A_SECOND,
                "converted": convert,
            }
            return recorder.finish(response, asked)
        finally:
            await backend.close()

    return run_to_end(work)


async def _until_held(
    config: RunConfig,
    backend: RealtimeDuplex,
    fields: JsonDict,
    sound: bytes,
    recorder: Recorder,
    notify: Callable[[str], None],
) -> Response:
    """The session's answer. A server that has no room is asked again, as the configuration has it."""
    attempt = 1
    stop = asyncio.Event()
    with stop_on_signals(stop.set):
        while True:
            heard = DuplexInput(sound, silence_s=config.duplex.silence_s)
            answer = backend.new_answer("conversation", heard)
            told = partial(_record, recorder, answer)
            held = asyncio.create_task(backend.hold(fields, heard, answer, told))
            if not await _before(stop, held):
                return answer.response(Failure("connection", "interrupted", hint="the session was ended"))
            response = held.result()
            error = response.error
            refused = error is not None and error.kind == "busy" and answer.decision is None
            wait_s = wait_seconds(config.retry, attempt, error) if refused and error else None
            if wait_s is None:
                return replace(response, error=replace(error, hint=_FULL)) if refused and error else response
            notify(f"the server has no room for a session; trying again in {wait_s:.1f} s")
            if await _before(stop, asyncio.create_task(asyncio.sleep(wait_s))):
                attempt += 1
            else:
                return response


def _record(recorder: Recorder, answer: DuplexAnswer, direction: str, event: JsonDict) -> None:
    recorder.event(direction, event, answer)


async def _before(stop: asyncio.Event, task: asyncio.Task[Response] | asyncio.Task[None]) -> bool:
    """Whether the task ended by itself; else it is cancelled."""
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait((stopped, task), return_when=asyncio.FIRST_COMPLETED)
    ended = task.done()
    for one in (stopped, task):
        one.cancel()
    await asyncio.gather(stopped, task, return_exceptions=True)
    return ended
