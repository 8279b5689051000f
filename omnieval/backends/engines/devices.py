"""The cards that an engine may see, named as elsewhere: npu:0, cuda:1, cpu; npu:0+1 for two.

Cards are counted among those that this process may see, as the drivers count them: where its own
`CUDA_VISIBLE_DEVICES` is 2,3, `cuda:0` is card 2.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

from omnieval.backends.base import Need
from omnieval.errors import ConfigError
from omnieval.wording import counted

_DEV = Path("/dev")
_FILES: Mapping[str, str] = {"npu": "davinci", "cuda": "nvidia"}
_VARIABLES: Mapping[str, str] = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "cuda": "CUDA_VISIBLE_DEVICES"}


def visible(device: str | None, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that show an engine its cards alone; none where no device is named, or the processor.

    env: of this process. Raises ConfigError where that hides a card.
    """
    kind, _, cards = (device or "cpu").partition(":")
    return {_VARIABLES[kind]: ",".join(_names(kind, cards, env))} if cards else {}


def device_need(device: str, env: Mapping[str, str] = os.environ) -> Need:
    """Whether this machine has the cards of a device, by the files that its driver makes."""
    kind, _, cards = device.partition(":")
    if not cards:
        return Need(f"device {device}", "the processor")
    try:
        names = _names(kind, cards, env)
    except ConfigError as error:
        return Need(f"device {device}", str(error), "name a card that is there in engine.devices")
    there = sorted(
        int(path.name.removeprefix(_FILES[kind]))
        for path in _DEV.glob(f"{_FILES[kind]}[0-9]*")
        if path.name.removeprefix(_FILES[kind]).isdecimal()
    )
    # In a container that was given card 3 alone, its file may keep its number while drivers count it as 0.
    known = {*map(str, there), *map(str, range(len(there)))}
    if there and all(name in known or not name.isdecimal() for name in names):
        return Need(f"device {device}", f"this machine has {kind}:{' '.join(map(str, there))}")
    found = f"{kind}:{' '.join(map(str, there))}" if there else f"no {kind} at all"
    other = next((name for name in _FILES if name != kind and any(_DEV.glob(f"{_FILES[name]}[0-9]*"))), None)
    hint = f", or {other}:N: this machine has such" if other else ""
    return Need(
        f"device {device}",
        f"this machine has {found}",
        f"name a card that is there in engine.devices{hint}; in a container, pass the card into it",
    )


def _names(kind: str, cards: str, env: Mapping[str, str]) -> list[str]:
    """How the drivers name the cards `0`, or `0+1`: by number, or by an id such as GPU-8932f937."""
    numbers, variable = cards.split("+"), _VARIABLES[kind]
    if variable not in env:
        return numbers
    # The drivers leave out a number below zero and all that follows it.
    shown = list(
        takewhile(lambda name: name and not name.startswith("-"), map(str.strip, env[variable].split(",")))
    )
    hidden = [number for number in numbers if int(number) >= len(shown)]
    if hidden:
        count = counted(len(shown), "card", "cards")
        raise ConfigError(
            f"engine.devices: {kind}:{hidden[0]} is not among the {count} that {variable}={env[variable]} "
            "shows; cards are counted from 0 among those, or unset the variable"
        )
    return [shown[int(number)] for number in numbers]
