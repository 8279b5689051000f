"""One engine behind JSON lines, kept up: started when it is needed, and anew after it died or hung.

What it is sent and what it answers, one object a line:

    {"type": "ready", ...}                       once, when it can answer; or {"type": "fatal", "error": ...}
    -> {"type": "infer", "id": ..., ...}
    {"type": "began", "ids": [...]}              optional: what it works on from here
    {"type": "result", "id": ..., "ok": true, ...}  or "ok": false, "error": ...; "last": true: then it ends
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from omnieval.backends.engines.log import EngineLog
from omnieval.backends.engines.process import EngineDiedError, EngineProcess
from omnieval.backends.failed import FailedTry
from omnieval.errors import BackendError
from omnieval.types import Failure, JsonDict

# A sample that ended the engine so often is not tried again.
_DEATHS_OF_ONE = 2
# Characters of what it says of itself that go into a message.
_LONGEST_ERROR = 2000


@dataclass(frozen=True)
class Launch:
    """How to start an engine.

    name: for messages. greeting: sent before anything else. start_s: how long it may take to be ready.
    restarts: how often in a row it may be started anew without an answer in between. at_once: requests that
    it may have. grace_s: how long it may take to end once its input has ended.
    """

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    log: EngineLog
    start_s: float
    restarts: int
    greeting: JsonDict | None = None
    at_once: int = 1
    grace_s: float = 10.0


@dataclass
class _Running:
    """A process that was ready. begun: the ids that it is at work on, if it tells. ends: it said so."""

    process: EngineProcess
    ready: JsonDict
    answers: dict[str, asyncio.Future[JsonDict]] = field(default_factory=dict)
    begun: frozenset[str] | None = None
    ends: bool = False
    reader: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        return self.ends or (self.reader is not None and self.reader.done())

    def at_work_on(self) -> frozenset[str]:
        """The ids of which one may be what ended it."""
        waiting = frozenset(self.answers)
        return waiting if self.begun is None else self.begun & waiting


class Engine:
    """Used from one event loop; `close` ends it."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._places = asyncio.Semaphore(launch.at_once)
        self._starting = asyncio.Lock()
        self._running: _Running | None = None
        self._starts_in_vain = 0
        self._deaths: Counter[str] = Counter()
        self._suspects: set[str] = set()
        self._given_up: Failure | None = None
        self._starting_now: EngineProcess | None = None
        self._closed = False

    @property
    def given_up(self) -> Failure | None:
        """Why it is not started again; None as long as it would be."""
        return self._given_up

    async def up(self) -> JsonDict:
        """What it says when it is ready, after starting it where it does not run. Raises FailedTry."""
        return (await self._up()).ready

    async def alive(self) -> bool:
        """Whether it is running, or can be started anew; starts it where it does not run."""
        try:
            await self.up()
        except FailedTry:
            return False
        return True

    async def first_start(self) -> JsonDict:
        """`up`, where a failure means that no run is possible: raises BackendError."""
        try:
            return await self.up()
        except FailedTry as failed:
            hint = f"; {failed.failure.hint}" if failed.failure.hint else ""
            raise BackendError(f"{failed.failure.message}{hint}") from failed

    async def ask(self, sample_id: str, message: JsonDict, *, limit_s: float) -> JsonDict:
        """The result of one request. Raises FailedTry where the engine ends, or takes longer than limit_s.

        `alone` is added to the message of a sample that is to be worked on by itself, since an engine ended
        while it had that and others.
        """
        async with self._places:
            running = await self._up()
            answer: asyncio.Future[JsonDict] = asyncio.get_running_loop().create_future()
            running.answers[sample_id] = answer
            whole = {**message, "type": "infer", "id": sample_id, "alone": sample_id in self._suspects}
            try:
                async with asyncio.timeout(limit_s):
                    await running.process.send(whole)
                    result = await answer
            except TimeoutError:
                await self._drop(running, blame=running.at_work_on())
                raise FailedTry(self._hung(sample_id, limit_s)) from None
            except EngineDiedError as error:
                await self._drop(running, blame=running.at_work_on())
                raise FailedTry(self._died(sample_id, str(error))) from error
            except asyncio.CancelledError:
                await self._drop(running, blame=frozenset())  # its next answer would be to nobody
                raise
            finally:
                running.answers.pop(sample_id, None)
            if result.get("ok"):
                self._starts_in_vain = 0
            return result

    def suspect(self, sample_id: str) -> None:
        """Have this sample worked on alone from now on."""
        self._suspects.add(sample_id)

    async def close(self) -> None:
        """End the engine, and start it no more."""
        self._closed = True
        running, self._running = self._running, None
        if running is not None:
            await self._end(running, grace_s=self._launch.grace_s)
        if self._starting_now is not None:
            await self._starting_now.end()

    async def _up(self) -> _Running:
        async with self._starting:
            if self._closed:
                raise asyncio.CancelledError
            if self._given_up is not None:
                raise FailedTry(self._given_up)
            if self._running is not None and self._running.ended:  # while nothing was asked of it
                await self._drop(self._running, blame=frozenset())
            if self._running is None:
                self._running = await self._start()
            return self._running

    async def _start(self) -> _Running:
        launch = self._launch
        if self._starts_in_vain > launch.restarts:
            self._given_up = self._no_more()
            raise FailedTry(self._given_up)
        self._starts_in_vain += 1
        try:
            process = await EngineProcess.start(launch.command, env=launch.env, log=launch.log)
        except OSError as error:
            message = f"{launch.command[0]}: cannot be started: {error.strerror or error}"
            raise FailedTry(Failure("connection", message)) from error
        self._starting_now = process
        try:
            ready = await self._first_word(process)
        except TimeoutError:
            await process.end()
            message = f"{launch.name} is not ready after {launch.start_s:g} s{self._reason()}"
            hint = f"see {launch.log.path}, or raise engine.start_s"
            raise FailedTry(Failure("server", message, retryable=True, hint=hint)) from None
        except EngineDiedError as error:
            await process.end()
            raise FailedTry(self._failure(f"{launch.name} cannot start: {error}{self._reason()}")) from error
        except BaseException:
            await process.end()
            raise
        finally:
            self._starting_now = None
        if ready["type"] == "fatal":
            await process.end()
            raise FailedTry(self._failure(f"{launch.name} cannot start: {_told(ready)}", _hint(ready)))
        running = _Running(process, ready)
        running.reader = asyncio.create_task(self._read(running))
        return running

    async def _first_word(self, process: EngineProcess) -> JsonDict:
        """`ready` or `fatal`. Raises EngineDiedError, TimeoutError."""
        if self._closed:
            raise asyncio.CancelledError
        async with asyncio.timeout(self._launch.start_s):
            if self._launch.greeting is not None:
                await process.send(self._launch.greeting)
            message = await process.receive()
            while message["type"] not in ("ready", "fatal"):
                message = await process.receive()
        return message

    async def _read(self, running: _Running) -> None:
        """Hand every result to the one who waits for it; at the end, tell all who still wait."""
        try:
            while True:
                message = await running.process.receive()
                if message["type"] == "began":
                    ids = message.get("ids")
                    running.begun = frozenset(map(str, ids)) if isinstance(ids, list) else None
                elif message["type"] == "fatal":
                    raise EngineDiedError(_told(message))
                elif message["type"] == "result":
                    running.ends = running.ends or bool(message.get("last"))
                    waiting = running.answers.get(str(message.get("id")))
                    if waiting is not None and not waiting.done():
                        waiting.set_result(message)
        except EngineDiedError as error:
            for waiting in running.answers.values():
                if not waiting.done():
                    waiting.set_exception(error)

    async def _drop(self, running: _Running, *, blame: frozenset[str]) -> None:
        """End a process that died, hung or is out of step; the first who comes does it."""
        if self._running is not running:
            return
        self._running = None
        if len(blame) == 1:
            self._deaths.update(blame)
        self._suspects |= blame
        await self._end(running)

    async def _end(self, running: _Running, *, grace_s: float = 0.0) -> None:
        await running.process.end(grace_s=grace_s)
        if running.reader is not None:
            running.reader.cancel()
            await asyncio.gather(running.reader, return_exceptions=True)
            await running.process.drop_output()
        for waiting in running.answers.values():
            if not waiting.done():
                waiting.set_exception(EngineDiedError("it was ended, since another request hung"))

    def _died(self, sample_id: str, how: str) -> Failure:
        return self._failure(
            f"{self._launch.name} died: {how}{self._reason()}",
            again=self._deaths[sample_id] < _DEATHS_OF_ONE,
        )

    def _hung(self, sample_id: str, limit_s: float) -> Failure:
        again = self._deaths[sample_id] < _DEATHS_OF_ONE
        message = f"{self._launch.name} did not answer within {limit_s:g} s and was ended"
        hint = f"see {self._launch.log.path}, or raise timeouts.total_s"
        return Failure("timeout", message, retryable=again, hint=hint)

    def _no_more(self) -> Failure:
        times = f"{self._starts_in_vain} times"
        return Failure(
            "connection",
            f"{self._launch.name} ended {times} in a row without an answer, so it is not started again"
            f"{self._reason()}",
            hint=f"see {self._launch.log.path}; mend it and resume the run, or raise engine.restarts",
        )

    def _failure(self, message: str, hint: str | None = None, *, again: bool = True) -> Failure:
        return Failure("server", message, retryable=again, hint=hint or f"see {self._launch.log.path}")

    def _reason(self) -> str:
        reason = self._launch.log.reason()
        return f" (its log: {reason[-300:]})" if reason else ""


def _told(message: JsonDict) -> str:
    return str(message.get("error"))[:_LONGEST_ERROR]


def _hint(message: JsonDict) -> str | None:
    hint = message.get("hint")
    return hint[:_LONGEST_ERROR] if isinstance(hint, str) else None
