"""A MiniCPM-o on its device, and the devices that there are."""

from __future__ import annotations

import json
from typing import Any

from omnieval.backends.minicpmo.needs import INSTALL
from omnieval.backends.minicpmo.trouble import hint_of, words
from omnieval.types import JsonDict


class CannotLoadError(Exception):
    """No model, and what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def load(settings: JsonDict) -> tuple[Any, JsonDict]:
    """The model on its device, and what to record of it. Raises CannotLoadError.

    settings: model, device (None: the best that there is), dtype, attention, speaks, trust_remote_code.
    """
    try:
        import torch
        import transformers
        from packaging.version import Version
    except ImportError as error:
        raise CannotLoadError(words(error), INSTALL) from error
    device = _device(settings["device"])
    dtype = "dtype" if Version(transformers.__version__) >= Version("4.56") else "torch_dtype"
    try:
        model = transformers.AutoModel.from_pretrained(
            settings["model"],
            trust_remote_code=settings["trust_remote_code"],
            attn_implementation=settings["attention"],
            init_vision=True,
            init_audio=True,
            init_tts=settings["speaks"],
            **{dtype: getattr(torch, settings["dtype"])},
        )
        model = model.eval().to(device)
        if settings["speaks"]:
            model.init_tts()
    except ImportError as error:
        raise CannotLoadError(words(error), "install what the model's card asks for") from error
    except Exception as error:
        raise CannotLoadError(words(error), hint_of(error)) from error
    if not callable(getattr(model, "chat", None)):
        message = f"{type(model).__name__} has no chat(), so it is no MiniCPM-o"
        raise CannotLoadError(message, "name the folder of a MiniCPM-o with --model")
    return model, {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "device": device,
        "class": type(model).__name__,
    }


def found_devices() -> JsonDict:
    """How many cards of each kind this process may use; for `npu` a sentence where its package cannot be
    loaded."""
    import torch

    return {"cuda": torch.cuda.device_count(), "npu": _npu_count(torch)}


def _npu_count(torch: Any) -> int | str:
    try:
        import torch_npu  # noqa: F401 - adds torch.npu
    except Exception as error:  # noqa: BLE001 - what a driver that is not there raises
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch_npu"
        return 0 if missing else words(error)
    return int(torch.npu.device_count())


def _device(wanted: str | None) -> str:
    """The device as torch names it; of several cards only the wanted one is visible here, as the first."""
    found = found_devices()
    usable = [kind for kind in ("npu", "cuda") if found[kind] and not isinstance(found[kind], str)]
    kind = wanted.partition(":")[0] if wanted else next(iter(usable), "cpu")
    if kind != "cpu" and kind not in usable:
        raise CannotLoadError(
            f"{wanted}: there is no such device here, found {json.dumps(found)}",
            "name another with --set 'engine.devices=[cpu]'",
        )
    return kind if kind == "cpu" else f"{kind}:0"
