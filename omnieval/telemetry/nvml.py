"""NVIDIA GPUs, read through NVML, the library behind `nvidia-smi`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnieval.telemetry.errors import MeterError

_DEVICES = Path("/dev")


class Gpu:
    """One GPU, in NVML's order, which is that of the bus.

    gpu_pct: of the time that a kernel ran. memory_bandwidth_pct: of the time that memory was read or written.
    memory_pct: in use. power_w.
    """

    def __init__(self, library: Any, number: int) -> None:
        self.name = f"gpu:{number}"
        self._library = library
        self._handle = library.nvmlDeviceGetHandleByIndex(number)

    def read(self) -> Mapping[str, Mapping[str, float]]:
        library = self._library
        try:
            rates = library.nvmlDeviceGetUtilizationRates(self._handle)
        except library.NVMLError as error:
            raise MeterError(f"{self.name}: NVML: {error}; look at nvidia-smi") from error
        values = {
            "gpu_pct": float(rates.gpu),
            "memory_bandwidth_pct": float(rates.memory),
        }
        # Not every board has memory of its own, or measures its power.
        with contextlib.suppress(library.NVMLError, ZeroDivisionError):
            memory = library.nvmlDeviceGetMemoryInfo(self._handle)
            values["memory_pct"] = round(100 * memory.used / memory.total, 1)
        with contextlib.suppress(library.NVMLError):
            values["power_w"] = library.nvmlDeviceGetPowerUsage(self._handle) / 1000
        return {self.name: values}

    def stop(self) -> None:
        """See `Meter`."""


def find() -> tuple[list[Gpu], list[str]]:
    """(the GPUs of this machine, why some or all cannot be measured); none without the driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        trouble = f"this machine has GPUs, which are not measured: NVML: {error}; look at nvidia-smi"
        return [], [trouble] if any(_DEVICES.glob("nvidia[0-9]*")) else []
    found, missing = [], []
    for number in range(count):
        try:
            found.append(Gpu(pynvml, number))
        except pynvml.NVMLError as error:
            missing.append(f"gpu:{number} is not measured: NVML: {error}; look at nvidia-smi")
    return found, missing
