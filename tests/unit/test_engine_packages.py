"""A package that an engine needs and that is not installed: which extra, and from which index."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from omnieval.backends.base import Need
from omnieval.backends.minicpmo import needs as minicpmo
from omnieval.backends.minicpmo.loading import CannotLoadError, load
from omnieval.backends.vllm_omni import needs as vllm_omni


def without(*missing: str) -> Callable[[str], object]:
    return lambda name: None if name in missing else object()


def packages(module: Any, monkeypatch: pytest.MonkeyPatch, devices: list[str], *missing: str) -> Need | None:
    """The first need that is not met."""
    monkeypatch.setattr(module, "find_spec", without(*missing))
    found = module._packages(devices)
    rows = [found] if isinstance(found, Need) else found
    return next((row for row in rows if row.fix), None)


@pytest.mark.parametrize(
    ("devices", "missing", "found", "words"),
    [
        ([], ["torch", "transformers"], "torch and transformers missing", ["'omnieval[minicpmo]' from PyPI", "CUDA"]),
        (["npu:0"], ["torch", "torch_npu"], "torch and torch_npu missing",
         ["'omnieval[minicpmo]' from PyPI", "torch-npu of torch's release", "CANN", "PyTorch's own index"]),
        (["npu:0"], ["transformers"], "transformers missing", ["'omnieval[minicpmo]' from PyPI"]),
    ],
)  # fmt: skip
def test_a_model_in_process(
    devices: list[str], missing: list[str], found: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    need = packages(minicpmo, monkeypatch, devices, *missing)
    assert need is not None and need.found == found
    assert all(word in str(need.fix) for word in words), need.fix


def test_of_torch_npu_the_release_of_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minicpmo, "_version", lambda package: {"torch": "2.7.1+cpu"}[package])
    need = packages(minicpmo, monkeypatch, ["npu:0"], "torch_npu")
    assert need is not None and str(need.fix).startswith("pip install torch-npu==2.7.1 from PyPI")


def test_a_graphics_card_needs_no_package_of_ascend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minicpmo, "_version", lambda _: "1")
    assert packages(minicpmo, monkeypatch, ["cuda:0"], "torch_npu") is None
    monkeypatch.setattr(vllm_omni, "installed", lambda _: "0.30.0")
    assert packages(vllm_omni, monkeypatch, ["cuda:0"], "vllm_ascend") is None


@pytest.mark.parametrize(
    ("devices", "missing", "words"),
    [
        ([], ["vllm"], ["'omnieval[vllm-omni]' from PyPI", "for Ascend NPUs"]),
        (["npu:0"], ["vllm_ascend"], ["vllm-ascend of vllm's release, from PyPI"]),
    ],
)
def test_vllm_omni(
    devices: list[str], missing: list[str], words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_omni, "installed", lambda _: "0.30.0")
    need = packages(vllm_omni, monkeypatch, devices, *missing)
    assert need is not None and all(word in str(need.fix) for word in words), need


def test_a_package_that_cannot_be_imported_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(CannotLoadError) as error:
        load({"model": "m", "device": None, "dtype": "float32", "attention": "sdpa", "speaks": False})
    assert error.value.hint == minicpmo.INSTALL
