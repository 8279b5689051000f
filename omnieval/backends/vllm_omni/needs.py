"""What vLLM-Omni's engine needs of this machine, told before it is started."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import yaml

from omnieval.backends.base import Need
from omnieval.backends.engines.devices import device_need
from omnieval.backends.engines.model_folder import code_files, troubles
from omnieval.config import RunConfig

_ASCEND = "vllm_ascend"
_INSTALL = (
    "pip install 'omnieval[vllm-omni]' from PyPI, into the environment of omnieval (NVIDIA GPUs); for Ascend "
    "NPUs install omnieval into the environment, or the container, that has vllm, vllm-ascend and vllm-omni"
)


def engine_needs(config: RunConfig) -> list[Need]:
    """Packages and their versions, cards, the model, the deploy file."""
    return [
        *_packages(config.engine.devices),
        *(device_need(device) for device in config.engine.devices),
        *_model(config.model, trusted=config.engine.trust_remote_code),
        *_deploy_file(config.vllm_omni.deploy_config),
    ]


def installed(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _packages(devices: Sequence[str]) -> list[Need]:
    missing = [name for name in ("vllm", "vllm_omni", "transformers") if find_spec(name) is None]
    if missing:
        return [Need("engine", f"not installed: {', '.join(missing)}", _INSTALL)]
    needs = [_versions(installed("vllm"), installed("vllm-omni"))]
    if any(device.startswith("npu") for device in devices) and find_spec(_ASCEND) is None:
        fix = (
            "pip install --pre vllm-ascend of vllm's release, from PyPI, or take the container in which "
            "Ascend ships both"
        )
        needs.append(Need("Ascend", "vllm-ascend is not installed", fix))
    return needs


def _versions(vllm: str | None, omni: str | None) -> Need:
    """vLLM-Omni replaces parts of vLLM, so that only equal releases fit."""
    found = f"vllm {vllm or 'of unknown version'}, vllm-omni {omni or 'of unknown version'}"
    if vllm is None or omni is None or _release(vllm) == _release(omni):
        return Need("engine", found)
    wanted = ".".join(map(str, _release(omni)))
    return Need("engine", f"{found}: they must be of one release", f"pip install 'vllm=={wanted}.*'")


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def _model(model: str | None, *, trusted: bool) -> list[Need]:
    """A folder must be whole, and its code allowed to run; a name of a hub is left to the engine."""
    if not model:
        return [Need("model", "none is named", "name its folder, or its name on the hub, with --model")]
    folder = Path(model).expanduser()
    if not folder.exists() and model.count("/") == 1 and not model.startswith(("/", ".", "~")):
        return [Need("model", f"{model}: no folder here, so the engine looks for it on the hub")]
    found = troubles(folder, ("tokenizer_config.json",))
    if found:
        fix = "fetch it again, or name its folder with --model"
        return [Need("model", f"{folder}: {'; '.join(found)}", fix)]
    code = code_files(folder)
    if not code or trusted:
        return [Need("model", f"{folder}: all files there")]
    would = f"{', '.join(code)} in {folder} would run on this machine with your rights"
    return [Need("code of the model", would, "read it, then --set engine.trust_remote_code=true")]


def _deploy_file(path: Path | None) -> list[Need]:
    if path is None:
        return []
    name, fix = "deploy file", "name the YAML of the engine's stages: --set vllm_omni.deploy_config=FILE"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        return [Need(name, f"{path}: {error.strerror or error}", fix)]
    except (yaml.YAMLError, ValueError) as error:
        return [Need(name, f"{path}: no valid YAML: {error}", "mend the file")]
    if not isinstance(content, dict) or not content:
        return [Need(name, f"{path}: holds no stages", fix)]
    return [Need(name, str(path))]
