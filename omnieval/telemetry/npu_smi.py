"""Ascend NPUs, read with `npu-smi info -t usages -i N`.

It prints one `name : value` a line, once a chip, each chip's lines ended by its `Chip ID`; which lines there
are depends on the chip and on the driver.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from omnieval.telemetry.errors import MeterError

_TOOL = "npu-smi"
_LIMIT_S = 10.0
_METRICS = {
    "aicore usage rate": "aicore_pct",
    "aivector usage rate": "aivector_pct",
    "aicube usage rate": "aicube_pct",
    "npu utilization": "npu_pct",
    "hbm bandwidth usage rate": "hbm_bandwidth_pct",
    "hbm usage rate": "hbm_pct",
    "ddr bandwidth usage rate": "ddr_bandwidth_pct",
    "memory bandwidth usage rate": "memory_bandwidth_pct",
    "ddr usage rate": "ddr_pct",
    "aicpu usage rate": "aicpu_pct",
}
_LINE = re.compile(r"^\s*([A-Za-z][^:]*?)\s*(?:\(\s*%\s*\))?\s*:\s*(\S.*?)\s*$")


class Npu:
    """One card; its chips are `npu:N`, or `npu:N.C` where it has several."""

    def __init__(self, number: int) -> None:
        self.name = f"npu:{number}"
        self._number = number

    def read(self) -> Mapping[str, Mapping[str, float]]:
        text = _run("info", "-t", "usages", "-i", str(self._number))
        chips = usages(text)
        if not chips:
            raise MeterError(
                f"{self.name}: npu-smi printed no usage that is known, but {_shortened(text)}; "
                "compare with `npu-smi info -t usages -i " + f"{self._number}`"
            )
        if len(chips) == 1:
            return {self.name: next(iter(chips.values()))}
        return {f"{self.name}.{chip}": values for chip, values in chips.items()}


def find() -> tuple[list[Npu], list[str]]:
    """(the cards of this machine, why some or all cannot be measured)."""
    if shutil.which(_TOOL) is None:
        nodes = any(Path("/dev").glob("davinci[0-9]*"))
        missing = "this machine has NPUs, but npu-smi is not on the PATH, so they are not measured"
        return [], [missing] if nodes else []
    try:
        text = _run("info", "-l")
    except MeterError as error:
        return [], [f"the NPUs are not measured: {error}"]
    numbers = [int(value) for name, value in _pairs(text) if name == "npu id" and value.isdecimal()]
    if not numbers:
        return [], [f"the NPUs are not measured: `npu-smi info -l` names none, but {_shortened(text)}"]
    return [Npu(number) for number in dict.fromkeys(numbers)], []


def usages(text: str) -> dict[int, dict[str, float]]:
    """The metrics by chip. text: what `npu-smi info -t usages` prints; lines that are not known, and values
    that are no numbers (`NA`), are left out."""
    chips: dict[int, dict[str, float]] = {}
    values: dict[str, float] = {}
    announced: int | None = None

    def close(chip: int | None) -> None:
        if values:
            chips[len(chips) if chip is None else chip] = dict(values)
            values.clear()

    for name, value in _pairs(text):
        if name == "chip id" and value.isdecimal():
            if values and announced is None:
                close(int(value))
            else:  # it stands before its lines
                close(announced)
                announced = int(value)
            continue
        metric = _METRICS.get(name)
        if metric is None or not re.fullmatch(r"\d+(\.\d+)?", value):
            continue
        if metric in values:
            close(announced)
        values[metric] = float(value)
    close(announced)
    return chips


def _pairs(text: str) -> list[tuple[str, str]]:
    """(name in small letters without `(%)`, value) of every line that has both."""
    found = (_LINE.match(line) for line in text.splitlines())
    return [(" ".join(match[1].lower().split()), match[2]) for match in found if match]


def _run(*arguments: str) -> str:
    command = " ".join((_TOOL, *arguments))
    try:
        done = subprocess.run(
            (_TOOL, *arguments), capture_output=True, text=True, errors="replace",
            timeout=_LIMIT_S, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise MeterError(f"`{command}` gave no answer within {_LIMIT_S:g} s; try it by hand") from None
    except OSError as error:
        raise MeterError(f"`{command}` cannot be started: {error.strerror or error}") from error
    if done.returncode != 0:
        said = _shortened(done.stderr or done.stdout)
        raise MeterError(f"`{command}` ended with {done.returncode}: {said}; try it by hand")
    return done.stdout


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else f"{line[:77]}...") if line else "nothing"
