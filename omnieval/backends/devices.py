"""The cards that an engine may see, named as elsewhere: npu:0, cuda:1, cpu; npu:0+1 for two."""

from __future__ import annotations

from collections.abc import Mapping

_VARIABLES: Mapping[str, str] = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "cuda": "CUDA_VISIBLE_DEVICES"}


def visible(device: str | None) -> dict[str, str]:
    """The variables that show an engine its cards alone; none where no device is named, or the processor."""
    kind, _, cards = (device or "cpu").partition(":")
    return {_VARIABLES[kind]: cards.replace("+", ",")} if cards else {}
