"""A model's folder is looked at before anything heavy is loaded."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from omnieval.backends.engines.model_folder import code_files, model_name, troubles


def safetensors(path: Path, length: int = 8) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(length))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "modeling_x.X"}}))
    (tmp_path / "modeling_x.py").write_text("")
    safetensors(tmp_path / "model.safetensors")
    return tmp_path


def test_a_whole_folder_has_no_trouble(folder: Path) -> None:
    assert troubles(folder) == []
    assert code_files(folder) == ["modeling_x.py"]
    assert troubles(folder, ["tokenizer_config.json"]) == ["tokenizer_config.json is missing"]


def test_a_model_is_named_after_its_folder_or_as_on_the_hub(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert model_name(f"{folder}/") == folder.name
    assert model_name("openbmb/MiniCPM-o-4_5") == "openbmb/MiniCPM-o-4_5"
    monkeypatch.chdir(folder)
    assert model_name(".") == folder.name


def test_a_folder_that_is_not_there(folder: Path) -> None:
    assert troubles(folder / "no") == ["no such folder"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff"])
def test_a_config_that_is_none(content: bytes, folder: Path) -> None:
    (folder / "config.json").write_bytes(content)
    assert troubles(folder) == ["config.json is no JSON"]
    (folder / "config.json").unlink()
    assert troubles(folder) == ["config.json is missing"]


def test_code_that_is_missing_or_elsewhere(folder: Path) -> None:
    (folder / "modeling_x.py").unlink()
    assert troubles(folder) == ["modeling_x.py is missing"]
    (folder / "config.json").write_text(
        json.dumps({"auto_map": {"AutoModel": "a/b--modeling_x.X", "Z": None}})
    )
    assert troubles(folder) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "is a Git LFS pointer"),
        (b"", "is cut short"),
        (b"\x00" * 7, "is cut short"),
        (b"\xff" * 64, "is cut short, or no safetensors file"),
        (struct.pack("<Q", 4) + b"????", "is no safetensors file"),
        (struct.pack("<Q", 2) + b"[]", "is no safetensors file"),
    ],
)
def test_weights_that_are_none(content: bytes, words: str, folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(content)
    [found] = troubles(folder)
    assert found.startswith(f"model.safetensors {words}")


def test_weights_that_are_cut_short_or_missing(folder: Path) -> None:
    safetensors(folder / "model.safetensors", length=7)
    assert troubles(folder) == ["model.safetensors is cut short"]
    (folder / "model.safetensors").unlink()
    [found] = troubles(folder)
    assert found.startswith("there are no weights")


def test_weights_in_several_files(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {f"w{i}": f"{i % 6}.safetensors" for i in range(12)}}))
    safetensors(folder / "0.safetensors")
    assert troubles(folder) == [*(f"{i}.safetensors is missing" for i in (1, 2, 3)), "and 2 more of 6"]
    index.write_text("{}")
    assert troubles(folder) == ["model.safetensors.index.json is no index of weights"]
