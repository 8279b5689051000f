"""llama.cpp-omni's speech program: a list of utterances in, WAV files out, many for each start of the
program."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path

from omnieval.backends.base import Need
from omnieval.backends.engines.devices import visible
from omnieval.backends.engines.log import EngineLog
from omnieval.backends.engines.process import EngineDiedError, EngineProcess
from omnieval.backends.failed import FailedTry
from omnieval.backends.llamacpp.lines import Line, line_of
from omnieval.backends.llamacpp.programs import Program
from omnieval.backends.sound.wav_files import whole_wav
from omnieval.config import RunConfig
from omnieval.errors import ConfigError, MediaError
from omnieval.media.wav import parse_wav
from omnieval.types import (
    Capabilities,
    Failure,
    Request,
    Response,
    ServerFacts,
    SpokenAudio,
    Timing,
)
from omnieval.wording import counted

_LOOK_EVERY_S = 0.1
# Requests that come so soon after each other are for one start of the program.
_GATHERED_S = 0.3
_DEATHS_OF_ONE = 2
_UNUSABLE_OPTIONS = ("top_p", "top_k", "repetition_penalty", "constrain")


class LlamaCppSpeech:
    """The program on one device. Follows `omnieval.types.Backend`, `TellsNeeds` and `GivesUp`.

    Each start says all that waits, so as many as there are requests in flight. No time of a single utterance
    is known, so none is reported. device: as `engine.devices` names it. logs: folder. Raises ConfigError for
    decoding that the program cannot do, and without prompt bundles.
    """

    capabilities = Capabilities()

    def __init__(self, config: RunConfig, device: str | None, logs: Path) -> None:
        useless = [key for key in _UNUSABLE_OPTIONS if getattr(config.decode, key) is not None]
        if useless:
            raise ConfigError(f"llama.cpp-omni's speech program has no decode.{useless[0]}; set it to null")
        if config.llamacpp.prompt_bundles is None:
            raise ConfigError(
                "llama.cpp-omni speaks in voices that were extracted beforehand: --set "
                "llamacpp.prompt_bundles=FOLDER, with one folder for each reference recording"
            )
        self._bundles = config.llamacpp.prompt_bundles
        self._program = Program.of(config)
        self._config = config
        self._env = os.environ | visible(device)
        self._log = EngineLog(logs / f"{device or 'engine'}.log".replace(":", "-"))
        self._waiting: deque[Line] = deque()
        self._wanted = asyncio.Event()
        self._deaths: Counter[str] = Counter()
        self._in_vain = 0  # starts in a row without a sound
        self._given_up: Failure | None = None
        self._work: asyncio.Task[None] | None = None

    def needs(self) -> Sequence[Need]:
        """See `TellsNeeds`: for all devices of the run."""
        words = self._arguments("zh", Path("manifest.tsv"))
        flags = [word for word in words if word.startswith("-")]
        needs = self._program.needs(flags, self._config.engine.devices)
        fix = "extract one for each reference recording, with the tool that comes with llama.cpp-omni"
        if not self._bundles.is_dir():
            return [*needs, Need("prompt bundles", f"no folder {self._bundles}", fix)]
        count = sum(path.is_dir() for path in self._bundles.iterdir())
        found = f"{counted(count, 'folder', 'folders')} in {self._bundles}"
        return [*needs, Need("prompt bundles", found, None if count else fix)]

    async def check(self) -> ServerFacts:
        """The program is started with the first utterances, as it ends with them."""
        facts = await asyncio.to_thread(self._program.facts)
        model = self._program.model
        return ServerFacts("llamacpp-omni", model=model.name if model else None, details=facts)

    async def generate(self, request: Request) -> Response:
        started = time.time()
        try:
            line = line_of(request, self._bundles)
            self._waiting.append(line)
            self._wanted.set()
            if self._work is None:
                self._work = asyncio.create_task(self._serve())
            audio = await line.sound
        except FailedTry as failed:
            return Response(request.sample_id, error=failed.failure, timing=Timing(started=started))
        return Response(request.sample_id, audio=audio, timing=Timing(started=started))

    @property
    def given_up(self) -> Failure | None:
        """See `GivesUp`."""
        return self._given_up

    async def close(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    def _arguments(self, language: str, manifest: Path) -> list[str]:
        decode, settings, program = self._config.decode, self._config.llamacpp, self._program
        words = ["-m", str(program.folder), "--manifest", str(manifest), "--language", language]
        if self._config.model and Path(self._config.model).expanduser().is_file():
            words += ["--llm", str(program.model)]
        for value, flag in ((decode.seed, "--seed"), (decode.temperature, "--temperature")):
            if value is not None:
                words += [flag, str(value)]
        if settings.context is not None:
            words += ["-c", str(settings.context)]
        words += ["--max-audio-tokens", str(decode.max_tokens), "-ngl", str(settings.gpu_layers)]
        return [*words, *settings.arguments]

    async def _serve(self) -> None:
        """Start the program for all that wait, again and again."""
        while True:
            await self._wanted.wait()
            before = 0
            while len(self._waiting) > before:
                before = len(self._waiting)
                await asyncio.sleep(_GATHERED_S)
            batch = self._next_batch()
            if not batch:
                self._wanted.clear()
                continue
            try:
                with tempfile.TemporaryDirectory(prefix="omnieval-") as folder:
                    await self._speak(batch, Path(folder))
            except OSError as error:
                hint = "free space there, or name another folder with TMPDIR"
                for line in batch:
                    _refuse(line, Failure("configuration", f"no folder for sounds: {error}", hint=hint))
            except Exception as error:  # noqa: BLE001 - those that wait would do so for ever
                for line in batch:
                    if not line.sound.done():
                        line.sound.set_exception(error)

    def _next_batch(self) -> list[Line]:
        """Of one language, the longest waiting first."""
        batch: list[Line] = []
        others: deque[Line] = deque()
        while self._waiting:
            line = self._waiting.popleft()
            if line.sound.done():  # given up by the one who asked
                continue
            (batch if not batch or line.language == batch[0].language else others).append(line)
        self._waiting.extendleft(reversed(others))
        return batch

    async def _speak(self, batch: list[Line], folder: Path) -> None:
        """One start of the program. Lines that it did not come to wait for the next."""
        if self._in_vain > self._config.engine.restarts:
            self._given_up = self._no_more()
            for line in batch:
                _refuse(line, self._given_up)
            return
        self._in_vain += 1
        targets = [folder / f"{number}.wav" for number in range(len(batch))]
        manifest = folder / "manifest.tsv"
        text = "".join(line.columns(target) + "\n" for line, target in zip(batch, targets, strict=True))
        # The names of files may be of any bytes.
        manifest.write_text(text, encoding="utf-8", errors="surrogateescape")
        command = [str(self._program.path), *self._arguments(batch[0].language, manifest)]
        try:
            process = await EngineProcess.start(command, env=self._env, log=self._log)
        except OSError as error:
            for line in batch:
                _refuse(line, Failure("connection", f"{command[0]}: cannot be started: {error}"))
            return
        try:
            failure = await self._watch(process, list(zip(batch, targets, strict=True)))
        finally:
            await process.end()
        left = [line for line in batch if not line.sound.done()]
        if failure is None:
            for line in left:  # it passed over them, or left before their turn
                _refuse(line, self._counted(line, self._silent()))
        elif left:
            _refuse(left[0], self._counted(left[0], failure))
            self._waiting.extendleft(reversed(left[1:]))
            self._wanted.set()

    async def _watch(self, process: EngineProcess, lines: list[tuple[Line, Path]]) -> Failure | None:
        """Hand out each sound once it is whole, to the end of the program. How it failed, or None."""
        ending = asyncio.ensure_future(_end_of(process))
        limit_s = self._config.engine.start_s
        since = time.monotonic()
        try:
            while True:
                ended = ending.done()
                taken = [line for line, target in lines if self._take(line, target)]
                if taken:
                    self._in_vain = 0
                    since, limit_s = time.monotonic(), self._config.timeouts.total_s
                if ended:
                    return self._ended(process, ending.result())
                if time.monotonic() - since > limit_s:
                    return self._hung(limit_s)
                await asyncio.wait([ending], timeout=_LOOK_EVERY_S)
        finally:
            ending.cancel()

    def _take(self, line: Line, target: Path) -> bool:
        """Whether the sound of a line was whole just now."""
        if line.sound.done():
            return False
        try:
            wav = whole_wav(target)
            if wav is None:
                return False
            pcm = parse_wav(wav)
        except MediaError as error:
            message = f"the program wrote a sound that cannot be used: {error}"
            return _refuse(line, Failure("audio", message, hint=f"see {self._log.path}"))
        line.sound.set_result(SpokenAudio(pcm.format.rate_hz, pcm.format.channels, pcm.frames, wav))
        return True

    def _ended(self, process: EngineProcess, how: str) -> Failure | None:
        if process.exit_code == 0:
            return None
        return Failure("server", f"{self._program.name} died: {how}{self._reason()}", retryable=True)

    def _hung(self, limit_s: float) -> Failure:
        message = f"{self._program.name} made no sound within {limit_s:g} s and was ended{self._reason()}"
        hint = f"see {self._log.path}, or raise engine.start_s and timeouts.total_s"
        return Failure("timeout", message, retryable=True, hint=hint)

    def _silent(self) -> Failure:
        message = f"{self._program.name} ended without a sound for it{self._reason()}"
        return Failure("no_audio", message, hint=f"see {self._log.path}")

    def _no_more(self) -> Failure:
        message = (
            f"{self._program.name} was started {self._in_vain} times in a row without a sound, so no more"
        )
        hint = f"see {self._log.path}; mend it and resume the run, or raise engine.restarts"
        return Failure("connection", message + self._reason(), hint=hint)

    def _counted(self, line: Line, failure: Failure) -> Failure:
        """The failure, final where the same utterance met one before."""
        self._deaths[line.sample_id] += 1
        again = self._deaths[line.sample_id] < _DEATHS_OF_ONE
        hint = failure.hint or f"see {self._log.path}"
        return Failure(failure.kind, failure.message, retryable=again, hint=hint)

    def _reason(self) -> str:
        reason = self._log.reason()
        return f" (its log: {reason[-300:]})" if reason else ""


def _refuse(line: Line, failure: Failure) -> bool:
    if not line.sound.done():
        line.sound.set_exception(FailedTry(failure))
    return False


async def _end_of(process: EngineProcess) -> str:
    """How the program ended; what it prints until then goes to the log."""
    while True:
        try:
            await process.receive()
        except EngineDiedError as error:
            return str(error)
