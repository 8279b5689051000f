"""Reads meters while a run goes on, each in a thread of its own, and keeps what they say."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from omnieval.errors import StorageError
from omnieval.runlog.files import LineLog
from omnieval.telemetry.errors import MeterError
from omnieval.telemetry.meters import Meter

# Readings that fail in a row before a meter is given up.
_GIVE_UP = 5
_JOIN_S = 1.0


class Recorder:
    """Appends a line a device and reading to a file, as a context manager.

    path: of `telemetry.jsonl`. every_s: from one reading to the next; one that takes longer makes the next
    come at once. A line has `t` (seconds since the epoch, the middle of the reading), `device`, and the
    metrics. Nothing that goes wrong here stops a run: after the end, `notes` says it, a sentence each.
    """

    def __init__(self, path: Path, meters: Sequence[Meter], every_s: float) -> None:
        self.notes: list[str] = []
        self._path = path
        self._every_s = every_s
        self._ends = threading.Event()
        self._lock = threading.Lock()
        self._log: LineLog | None = None
        self._threads = {
            threading.Thread(
                target=self._follow, args=(meter,), name=f"telemetry {meter.name}", daemon=True
            ): meter
            for meter in meters
        }

    def __enter__(self) -> Recorder:
        try:
            self._log = LineLog(self._path) if self._threads else None
        except StorageError as error:
            self._note(str(error))
            return self
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.set()
        for thread, meter in self._threads.items():
            if thread.ident is not None:
                thread.join(_JOIN_S)
                if thread.is_alive():
                    meter.stop()
                    thread.join(_JOIN_S)
        with self._lock:
            self._close()

    def _follow(self, meter: Meter) -> None:
        failures = 0
        due = time.monotonic() + self._every_s
        while not self._ends.wait(max(0.0, due - time.monotonic())):
            due = max(due + self._every_s, time.monotonic())
            began = time.time()
            try:
                readings = meter.read()
            except Exception as error:  # noqa: BLE001 - a driver may fail in any way; it costs a reading
                failures += 1
                if failures == _GIVE_UP:
                    told = error if isinstance(error, MeterError) else f"{meter.name}: {error!r}"
                    self._note(f"telemetry: {told} (given up after {failures} readings that failed)")
                    return
                continue
            failures = 0
            moment = round((began + time.time()) / 2, 3)
            for device, values in readings.items():
                self._keep({"t": moment, "device": device, **values})

    def _keep(self, line: dict[str, float | str]) -> None:
        with self._lock:
            if self._log is None:
                return
            try:
                self._log.append(json.dumps(line).encode() + b"\n")
            except (StorageError, OSError) as error:
                self._close()
                self._ends.set()
                self.notes.append(f"telemetry ended: {error}")

    def _note(self, note: str) -> None:
        with self._lock:
            self.notes.append(note)

    def _close(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            try:
                log.close()
            except OSError as error:
                self.notes.append(f"telemetry: {self._path}: {error.strerror or error}")
