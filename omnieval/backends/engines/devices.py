"""The cards that an engine may see, named as elsewhere: npu:0, cuda:1, cpu; npu:0+1 for two."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from omnieval.backends.base import Need

_DEV = Path("/dev")
_FILES: Mapping[str, str] = {"npu": "davinci", "cuda": "nvidia"}
_VARIABLES: Mapping[str, str] = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "cuda": "CUDA_VISIBLE_DEVICES"}


def visible(device: str | None) -> dict[str, str]:
    """The variables that show an engine its cards alone; none where no device is named, or the processor."""
    kind, _, cards = (device or "cpu").partition(":")
    return {_VARIABLES[kind]: cards.replace("+", ",")} if cards else {}


def device_need(device: str) -> Need:
    """Whether this machine has the cards of a device, by the files that its driver makes."""
    kind, _, cards = device.partition(":")
    if not cards:
        return Need(f"device {device}", "the processor")
    there = sorted(
        int(path.name.removeprefix(_FILES[kind]))
        for path in _DEV.glob(f"{_FILES[kind]}[0-9]*")
        if path.name.removeprefix(_FILES[kind]).isdecimal()
    )
    missing = [card for card in map(int, cards.split("+")) if card not in there]
    if not missing:
        return Need(f"device {device}", f"{_DEV / _FILES[kind]}{cards.split('+')[0]} is there")
    found = f"{kind}:{' '.join(map(str, there))}" if there else f"no {kind} at all"
    other = next((name for name in _FILES if name != kind and any(_DEV.glob(f"{_FILES[name]}[0-9]*"))), None)
    hint = f", or {other}:N: this machine has such" if other else ""
    return Need(
        f"device {device}",
        f"this machine has {found}",
        f"name a card that is there in engine.devices{hint}; in a container, pass the card into it",
    )
