"""The device that a model runs on, by name."""

from __future__ import annotations

from typing import Any

from omnieval.errors import ConfigError


def torch_module() -> Any:
    """torch. Raises ConfigError when it is not installed."""
    try:
        import torch
    except ImportError:
        raise ConfigError("this scorer needs torch: pip install 'omnieval[speech-torch]'") from None
    return torch


def chosen_device(name: str) -> str:
    """The device itself; `auto` takes an NPU, else a GPU, else the CPU.

    Raises ConfigError when the wanted one is not there.
    """
    torch = torch_module()
    npu = _has_npu(torch)
    if name == "auto":
        return "npu:0" if npu else "cuda:0" if torch.cuda.is_available() else "cpu"
    kind = name.partition(":")[0]
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "npu": npu}
    if kind not in there:
        raise ConfigError(f"unknown device {name!r}; expected cpu, cuda:N, npu:N or auto")
    if not there[kind]:
        hint = "install torch_npu" if kind == "npu" else "install a torch build with CUDA"
        raise ConfigError(f"no device {name!r} on this machine; {hint}, or use device=cpu")
    return name


def _has_npu(torch: Any) -> bool:
    try:
        import torch_npu  # noqa: F401 - registers the device
    except ImportError:
        return False
    return bool(torch.npu.is_available())
