"""What the backend `transformers-minicpmo` needs of this machine: packages, the device, the model's files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from omnieval import own_process
from omnieval.backends.base import Need
from omnieval.backends.engines.model_folder import code_files, model_config, troubles

WORKER = own_process.command("omnieval.backends.minicpmo.worker")
_EXPECTED = ("tokenizer_config.json",)
_ASK_DEVICES_S = 180.0
INSTALL = "pip install 'omnieval[minicpmo]' from PyPI"
_FOR_CUDA = "; for another release of CUDA first torch, from PyTorch's own index"
_FOR_ASCEND = "with CANN and, on x86-64, torch for processors, from PyTorch's own index"


def needs(model: str, devices: Sequence[str], env: Mapping[str, str], *, trusted: bool) -> list[Need]:
    """The packages; the devices, where the packages are there to tell; the folder; consent to its code."""
    packages = _packages(devices)
    rows = [packages]
    if packages.fix is None:
        rows.append(_device(devices, env))
    return [*rows, _folder(model), _consent(model, trusted=trusted)]


def _packages(devices: Sequence[str]) -> Need:
    wanted = ["torch", "transformers"]
    if any(device.startswith("npu") for device in devices):
        wanted.append("torch_npu")
    missing = [name for name in wanted if find_spec(name) is None]
    if missing == ["torch_npu"]:
        release = _version("torch").partition("+")[0]
        fix = f"pip install torch-npu=={release} from PyPI, {_FOR_ASCEND}"
        return Need("packages", "torch_npu is missing", fix)
    if missing:
        more = f", then torch-npu of torch's release, {_FOR_ASCEND}" if "torch_npu" in wanted else _FOR_CUDA
        return Need("packages", f"{' and '.join(missing)} missing", INSTALL + more)
    return Need("packages", ", ".join(f"{name} {_version(name)}" for name in wanted))


def _device(devices: Sequence[str], env: Mapping[str, str]) -> Need:
    """Asked of a process of its own: torch is heavy, and a driver may hang."""
    try:
        done = subprocess.run(
            [*WORKER, "--devices"],
            capture_output=True,
            text=True,
            timeout=_ASK_DEVICES_S,
            env=env,
            check=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        return Need("device", f"torch cannot tell: {said[-1] if said else error}", "reinstall torch")
    counts = {"cpu": 1, **{kind: n if isinstance(n, int) else 0 for kind, n in found.items()}}
    shown = ", ".join(f"{n} {kind}" for kind, n in counts.items() if kind != "cpu" and n) or "no npu, no cuda"
    if isinstance(found["npu"], str) and any(device.startswith("npu") for device in devices):
        return Need("device", f"torch_npu cannot be loaded: {found['npu']}", "source CANN's set_env.sh first")
    for device in devices:
        kind, _, card = device.partition(":")
        if int(card or 0) >= counts[kind]:
            fix = "name one that there is: --set 'engine.devices=[cpu]', [cuda:0] or [npu:0]"
            return Need("device", f"{device} is not there; torch sees {shown}", fix)
    return Need("device", f"{', '.join(devices) or 'the first that torch sees'}; torch sees {shown}")


def _folder(model: str) -> Need:
    folder = Path(model).expanduser()
    if not folder.exists() and _is_hub_name(model):
        return Need("model", f"{model}, of the Hugging Face hub or its local cache")
    found = troubles(folder, _EXPECTED)
    if found:
        return Need(
            "model", f"{folder}: {'; '.join(found)}", "fetch it again, or name its folder with --model"
        )
    names = model_config(folder).get("architectures") or ["unknown class"]
    return Need("model", f"{folder}: {', '.join(map(str, names))}, all files there")


def _consent(model: str, *, trusted: bool) -> Need:
    files = ", ".join(code_files(Path(model).expanduser())) or "its modeling files"
    if trusted:
        return Need("code of the model", f"{files}: allowed to run here")
    return Need(
        "code of the model",
        f"{files} would run on this machine with your rights",
        "read it, then --set engine.trust_remote_code=true",
    )


def _is_hub_name(model: str) -> bool:
    return model.count("/") == 1 and not model.startswith(("/", ".", "~"))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
