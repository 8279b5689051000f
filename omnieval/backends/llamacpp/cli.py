"""llama.cpp-omni's evaluation programs for multiple choice: one process a card, asked by JSON lines."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from omnieval.backends.base import Need
from omnieval.backends.engines.backed import EngineBacked
from omnieval.backends.engines.devices import visible
from omnieval.backends.engines.engine import Launch
from omnieval.backends.engines.log import EngineLog
from omnieval.backends.failed import FailedTry
from omnieval.backends.llamacpp.parts import infer_message, lists
from omnieval.backends.llamacpp.programs import Program
from omnieval.backends.rounding import rounded
from omnieval.backends.sound.limit import no_room, within
from omnieval.config import RunConfig
from omnieval.errors import ConfigError
from omnieval.types import Capabilities, Failure, JsonDict, Request, Response, ServerFacts, Timing

# The decoding options of a recipe, and how the programs call them.
_FLAGS = (
    ("temperature", "--temp"),
    ("top_p", "--top-p"),
    ("top_k", "--top-k"),
    ("repetition_penalty", "--repeat-penalty"),
    ("seed", "--seed"),
)


class LlamaCppProgram(EngineBacked):
    """One program on one device. Follows `omnieval.types.Backend`, `TellsLife`, `TellsNeeds` and `GivesUp`.

    device: as `engine.devices` names it; None for what the environment shows. logs: folder. Raises
    ConfigError for decoding that the programs cannot do.
    """

    capabilities = Capabilities(max_concurrency=1)

    def __init__(self, config: RunConfig, device: str | None, logs: Path) -> None:
        if config.decode.constrain is not None:
            raise ConfigError("llama.cpp-omni cannot constrain an answer; set decode.constrain=null")
        self._program = Program.of(config)
        self._most_s = config.llamacpp.max_sound_s
        self._limit_s = config.timeouts.total_s
        self._devices = config.engine.devices
        self._arguments = _arguments(config, self._program)
        name = f"{Path(self._program.name).name} on {device or 'this machine'}"
        super().__init__(
            Launch(
                name=name,
                command=[str(self._program.path), *self._arguments],
                env=os.environ | visible(device),
                log=EngineLog(logs / f"{device or 'engine'}.log".replace(":", "-")),
                start_s=config.engine.start_s,
                restarts=config.engine.restarts,
            )
        )

    def needs(self) -> Sequence[Need]:
        """See `TellsNeeds`: for all devices of the run."""
        return self._program.needs([word for word in self._arguments if word.startswith("-")], self._devices)

    async def check(self) -> ServerFacts:
        """Start the program. Raises BackendError where its model does not load."""
        await self._engine.first_start()
        facts = await asyncio.to_thread(self._program.facts)
        details = {**facts, "arguments": list(self._arguments)}
        model = self._program.model
        return ServerFacts("llamacpp-omni", model=model.name if model else None, details=details)

    async def generate(self, request: Request) -> Response:
        started_wall, started = time.time(), time.monotonic()
        try:
            found = lists(request)
            if found.sounds and not self._program.hears:
                raise FailedTry(_deaf(self._program))
            with tempfile.TemporaryDirectory(prefix="omnieval-") as folder:
                sounds, notes = await asyncio.to_thread(within, found.sounds, self._most_s, Path(folder))
                message = infer_message(found, sounds, request)
                await self._engine.up()
                started_wall, started = time.time(), time.monotonic()
                result = await self._engine.ask(request.sample_id, message, limit_s=self._limit_s)
            text = _text(result)
        except FailedTry as failed:
            return Response(request.sample_id, error=failed.failure, timing=Timing(started=started_wall))
        except OSError as error:
            return Response(request.sample_id, error=no_room(Path(tempfile.gettempdir()), error))
        timing = Timing(started=started_wall, e2e_s=rounded(time.monotonic() - started))
        return Response(request.sample_id, text=text, timing=timing, notes=notes)


def _arguments(config: RunConfig, program: Program) -> tuple[str, ...]:
    settings, decode = config.llamacpp, config.decode
    words = [
        "-m",
        str(program.model),
        "-ngl",
        str(settings.gpu_layers),
        "--n-predict",
        str(decode.max_tokens),
    ]
    if settings.context is not None:
        words += ["-c", str(settings.context)]
    for key, flag in _FLAGS:
        value = getattr(decode, key)
        if value is not None:
            words += [flag, str(value)]
    return (*words, *settings.arguments)


def _text(result: JsonDict) -> str:
    """The reply. Raises FailedTry where the program refused the sample, or answers something else."""
    text = result.get("response")
    if result.get("ok") is True and isinstance(text, str):
        return text
    if result.get("ok") is False:
        message = f"the program refuses the sample: {str(result.get('error'))[:500]}"
        raise FailedTry(Failure("sample", message, hint="look at its media; the others go on"))
    message = f"expected ok and a response in the result, found {str(result)[:200]}"
    raise FailedTry(Failure("protocol", message, retryable=True, hint="is this the right program?"))


def _deaf(program: Program) -> Failure:
    message = f"the request has sounds, and {program.name} takes pictures alone"
    return Failure("configuration", message, hint="leave llamacpp.program=null, which takes the right one")
