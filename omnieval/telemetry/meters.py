"""What can be measured here: the machine itself, Ascend NPUs by `npu-smi`, NVIDIA GPUs by NVML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from omnieval.errors import ConfigError
from omnieval.telemetry import npu_smi, nvml
from omnieval.telemetry.errors import MeterError
from omnieval.telemetry.machine import Machine

__all__ = ["Meter", "MeterError", "find_meters"]


class Meter(Protocol):
    """Something that is read again and again, in a thread of its own.

    name: for messages and the configuration, such as `npu:0`.
    """

    name: str

    def read(self) -> Mapping[str, Mapping[str, float]]:
        """device -> metric -> value. Metrics end with their unit. Raises MeterError."""

    def stop(self) -> None:
        """End a reading that goes on in another thread and may never end by itself."""


def find_meters(
    devices: Literal["auto", "none"] | Sequence[str], *, model_is_here: bool
) -> tuple[list[Meter], list[str]]:
    """The meters that a configuration asks for, and what the reader must know of those that are missing.

    devices: `auto` takes this machine and, where the model runs on it, every accelerator; a sequence names
    them (`machine`, `npu:N`, `gpu:N`). Raises ConfigError for a named one that is not there.
    """
    if devices == "none":
        return [], []
    if devices == "auto":
        if not model_is_here:
            return [Machine()], []
        npus, trouble = npu_smi.find()
        gpus, missing = nvml.find()
        return [Machine(), *npus, *gpus], trouble + missing
    return [_named(device) for device in dict.fromkeys(devices)], []


def _named(device: str) -> Meter:
    kind, _, number = device.partition(":")
    known: dict[str, Meter] = {}
    trouble: list[str] = []
    if device == "machine":
        return Machine()
    if kind == "npu" and number.isdecimal():
        npus, trouble = npu_smi.find()
        known = {meter.name: meter for meter in npus}
    elif kind == "gpu" and number.isdecimal():
        gpus, trouble = nvml.find()
        known = {meter.name: meter for meter in gpus}
    else:
        raise ConfigError(f"telemetry.devices: expected machine, npu:N or gpu:N, found {device!r}")
    if device not in known:
        found = f"found {', '.join(known)}" if known else "none found on this machine"
        reason = "".join(f" ({line})" for line in trouble)
        raise ConfigError(f"telemetry.devices: no {device} here, {found}{reason}; set telemetry.devices=auto")
    return known[device]
