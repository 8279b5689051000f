"""An engine as a process that speaks JSON lines, and that never outlives the one who started it.

It leads a session of its own, so that a Ctrl-C of the terminal does not reach it, and so that all of its
children are ended with it. A guard (a few kilobytes of shell that wait for the end of a pipe) ends them where
this process is killed, and also those that left for a session of their own: a mark in their environment tells
whose they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import uuid
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence

from omnieval.backends.engines.lines import Lines
from omnieval.backends.engines.log import EngineLog
from omnieval.types import JsonDict

_LONGEST_OF_LOG = 2**20
_MARK = "OMNIEVAL_ENGINE"
# Its standard input ends with the process that holds the other end, however that one ends. It looks twice,
# for what was begun meanwhile.
_GUARD = """
while read -r line; do :; done
kill -s KILL -- "-$1"
for round in 1 2; do
    for file in $(grep -ls "$2" /proc/[0-9]*/environ); do
        file=${file#/proc/}
        kill -s KILL "${file%%/*}"
    done
done
"""
# One that hangs in its device's driver cannot be killed, and must not hang the run.
_KILLED_S = 20.0
# Reading of a process that hangs in its device may hang itself.
_GUARD_S = 5.0
# What a process has printed can be read at once; its children may hold its output open for long.
_LAST_WORDS_S = 0.5
_POLL_S = 0.1


class EngineDiedError(Exception):
    """The process ended, or closed its output. Its text says how."""


class EngineProcess:
    """Made by `start`; used by one event loop; ended by `end`."""

    def __init__(self, process: Process, guard: Process, log: EngineLog) -> None:
        self._process = process
        self._guard = guard
        self._log = log
        assert process.stdout is not None
        self._output = Lines(process.stdout)
        self._errors = asyncio.create_task(self._keep_errors())

    @classmethod
    async def start(cls, command: Sequence[str], *, env: Mapping[str, str], log: EngineLog) -> EngineProcess:
        """Start a command. Raises OSError where it cannot be executed."""
        starting = asyncio.ensure_future(_start(command, env))
        try:
            process, guard = await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                await _end(*await starting)
            raise
        log.begin(" ".join(command))
        return cls(process, guard, log)

    @property
    def pid(self) -> int:
        """Of the process, which is also that of its group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None as long as it runs; less than 0 where a signal ended it."""
        return self._process.returncode

    async def send(self, message: Mapping[str, object]) -> None:
        """Write one line. Raises EngineDiedError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise EngineDiedError(await self._how_it_ended()) from error

    async def receive(self) -> JsonDict:
        """The next JSON object with a `type`; whatever else is printed goes to the log.

        Raises EngineDiedError at the end of the output.
        """
        while True:
            line = await self._line()
            if not line.endswith(b"\n"):
                self._log.add(line)
                raise EngineDiedError(await self._how_it_ended())
            message = _message(line)
            if message is not None:
                return message
            self._log.add(line)

    async def end(self, *, grace_s: float = 0.0) -> None:
        """End the process and its group; it may take so long to do it by itself, once its input has ended."""
        if grace_s and self._process.returncode is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await _exit_of(self._process)
        await _end(self._process, self._guard)
        await self.drop_output()
        await asyncio.wait({self._errors}, timeout=_LAST_WORDS_S)
        self._errors.cancel()
        await asyncio.gather(self._errors, return_exceptions=True)
        self._log.close()

    async def drop_output(self) -> None:
        """Of a process that was ended: what nobody reads any more."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._output.drop_rest()

    async def _line(self) -> bytes:
        """The next line, or what there is of it at the end, which may be held up by a child that lives on."""
        line = self._output.at_once()
        if line is not None:
            return line
        reading = asyncio.ensure_future(self._output.next())
        ended = asyncio.ensure_future(_exit_of(self._process))
        try:
            await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait({reading}, timeout=_LAST_WORDS_S)
            return reading.result() if reading.done() else b""
        finally:
            for task in (reading, ended):
                task.cancel()
            await asyncio.gather(reading, ended, return_exceptions=True)

    async def _keep_errors(self) -> None:
        assert self._process.stderr is not None
        lines = Lines(self._process.stderr, longest=_LONGEST_OF_LOG)
        while line := await lines.next():
            self._log.add(line)

    async def _how_it_ended(self) -> str:
        """After its output ended: wait a moment for the rest."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await _exit_of(self._process)
                await asyncio.shield(self._errors)
        code = self._process.returncode
        if code is None:
            return "it closed its output"
        return f"it was ended by {_signal_name(-code)}" if code < 0 else f"it ended with exit code {code}"


async def _start(command: Sequence[str], env: Mapping[str, str]) -> tuple[Process, Process]:
    mark = uuid.uuid4().hex
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env={**env, _MARK: mark},
        start_new_session=True,
    )
    try:
        guard = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", _GUARD, "guard", str(process.pid), f"{_MARK}={mark}",
            stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True,
        )  # fmt: skip
    except BaseException:
        _kill_group(process)
        await _exit_of(process)
        raise
    return process, guard


async def _exit_of(process: Process) -> None:
    """Wait for the process alone: `Process.wait` may also wait for children that hold its pipes."""
    while process.returncode is None:
        await asyncio.sleep(_POLL_S)


async def _end(process: Process, guard: Process) -> None:
    """The group first: as long as the guard lives, a sudden death of ours leaves nothing behind."""
    _kill_group(process)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_KILLED_S):
            await _exit_of(process)
    assert guard.stdin is not None
    guard.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GUARD_S):
            await _exit_of(guard)
    with contextlib.suppress(ProcessLookupError):
        guard.kill()
    await _exit_of(guard)


def _kill_group(process: Process) -> None:
    # Children may be left of a process that has ended; then the group still has its number.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _message(line: bytes) -> JsonDict | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and isinstance(content.get("type"), str) else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
