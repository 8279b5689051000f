"""A program that prints a little and ends at once; it may do neither.

Used for tools that are asked for a few lines: `npu-smi`, and the `--help` of an engine.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_BYTES = 2**20


class NoOutputError(Exception):
    """It cannot be started, hangs, or prints without end. Its text says which, as the rest of a sentence."""


@dataclass(frozen=True)
class Output:
    """text: what was printed, on either output."""

    exit_code: int
    text: str


class ShortProgram:
    """One command, run as often as `output` is called, by one thread at a time; `stop` is for any other."""

    def __init__(self, command: Sequence[str], *, limit_s: float) -> None:
        self.command = command
        self._limit_s = limit_s
        self._running: subprocess.Popen[bytes] | None = None

    def output(self) -> Output:
        """Raises NoOutputError. When this returns, the program and its children are ended."""
        try:
            process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise NoOutputError(f"cannot be started: {reason or error}") from error
        self._running = process
        try:
            said = _read_all(process, self._limit_s)
        finally:
            self._running = None
            _end(process)
        return Output(process.returncode, said.decode(errors="replace"))

    def stop(self) -> None:
        """End what is running now, if anything is."""
        if (process := self._running) is not None:
            _kill_group(process)


def shortened(text: str) -> str:
    """A text for the inside of a message."""
    line = " ".join(text[:400].split())
    return repr(line if len(line) <= 80 else f"{line[:77]}...") if line else "nothing"


def _read_all(process: subprocess.Popen[bytes], limit_s: float) -> bytes:
    """Until it ends. Its children may hold the output open for longer; they are not waited for."""
    assert process.stdout is not None
    output = process.stdout.fileno()
    poll = select.poll()
    poll.register(output, select.POLLIN)
    said = bytearray()
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        ended = process.poll() is not None
        if poll.poll(0 if ended else 50):
            piece = os.read(output, 2**16)
            said += piece
            if len(said) > _MOST_BYTES:
                raise NoOutputError(f"prints without end: {shortened(said[:400].decode(errors='replace'))}")
            if piece:
                continue
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, ends - time.monotonic()))
                return bytes(said)
        elif ended:
            return bytes(said)
    raise NoOutputError(f"gave no answer within {limit_s:g} s")


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill_group(process)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # Children may be left of a process that has ended; then the group still has its number.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
