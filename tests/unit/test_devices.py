"""Which cards an engine is shown: those of `engine.devices`, among those that omnieval itself may see."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnieval import api
from omnieval.backends.engines import devices
from omnieval.backends.engines.devices import device_need, visible
from omnieval.backends.minicpmo.backend import MiniCPMO
from omnieval.errors import ConfigError


@pytest.mark.parametrize(
    ("device", "env", "shown"),
    [
        (None, {}, {}),
        ("cpu", {"CUDA_VISIBLE_DEVICES": ""}, {}),
        ("npu:3", {}, {"ASCEND_RT_VISIBLE_DEVICES": "3"}),
        ("npu:0+2", {"ASCEND_RT_VISIBLE_DEVICES": "5, 4,3"}, {"ASCEND_RT_VISIBLE_DEVICES": "5,3"}),
        ("npu:1", {"CUDA_VISIBLE_DEVICES": "0"}, {"ASCEND_RT_VISIBLE_DEVICES": "1"}),
        ("cuda:1", {"CUDA_VISIBLE_DEVICES": "2,3"}, {"CUDA_VISIBLE_DEVICES": "3"}),
        ("cuda:0", {"CUDA_VISIBLE_DEVICES": "GPU-8932f937,0"}, {"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}),
    ],
)
def test_cards_are_counted_among_those_that_the_parent_sees(
    device: str | None, env: dict[str, str], shown: dict[str, str]
) -> None:
    assert visible(device, env) == shown


@pytest.mark.parametrize(
    ("device", "value", "count"),
    [("cuda:2", "2,3", "2 cards"), ("cuda:0+1", "7", "1 card"), ("cuda:0", "", "0 cards"), ("cuda:1", "0,-1,1", "1 card")],
)  # fmt: skip
def test_a_card_that_the_parent_may_not_see_is_refused(device: str, value: str, count: str) -> None:
    with pytest.raises(ConfigError, match=rf"among the {count} that CUDA_VISIBLE_DEVICES={value} shows"):
        visible(device, {"CUDA_VISIBLE_DEVICES": value})
    assert device_need(device, {"CUDA_VISIBLE_DEVICES": value}).fix


def test_an_engine_on_a_hidden_card_is_refused_before_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4")
    config = api.configure("daily-omni-transformers", [("model", "m")])
    with pytest.raises(ConfigError, match="cuda:1 is not among the 1 card"):
        MiniCPMO(config, "m", "cuda:1", tmp_path)


@pytest.mark.parametrize(
    ("files", "device", "env", "there"),
    [
        (["nvidia0", "nvidia1", "nvidiactl"], "cuda:1", {}, True),
        (["nvidia0", "nvidiactl"], "cuda:1", {}, False),
        (["nvidia0", "nvidia1", "nvidia2"], "cuda:0", {"CUDA_VISIBLE_DEVICES": "2"}, True),
        (["nvidia0", "nvidia1"], "cuda:0", {"CUDA_VISIBLE_DEVICES": "2"}, False),
        (["nvidia3"], "cuda:0", {}, True),  # a container with one card of many
        (["nvidia0"], "cuda:0", {"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, True),
        (["davinci0", "davinci_manager"], "npu:0+1", {}, False),
        (["davinci3"], "npu:3", {}, True),
        (["davinci_manager"], "npu:0", {}, False),
        ([], "cuda:0", {"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, False),
    ],
)
def test_whether_a_machine_has_the_cards(
    files: list[str], device: str, env: dict[str, str], there: bool,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr(devices, "_DEV", tmp_path)
    need = device_need(device, env)
    assert (need.fix is None) == there, need


def test_a_machine_with_other_cards_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "davinci0").touch()
    monkeypatch.setattr(devices, "_DEV", tmp_path)
    need = device_need("cuda:0", {})
    assert need.found == "this machine has no cuda at all"
    assert "npu:N: this machine has such" in str(need.fix)
