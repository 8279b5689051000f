"""Ascend NPUs, read with `npu-smi info -t usages -i N`.

It prints one `name : value` a line, once a chip, each chip's lines ended by its `Chip ID`; which lines there
are depends on the chip and on the driver.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from omnieval.program_output import NoOutputError, ShortProgram, shortened
from omnieval.telemetry.errors import MeterError

_TOOL = "npu-smi"
_DEVICES = Path("/dev")
_LIMIT_S = 10.0
_LONGEST_LINE = 200
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
_NUMBER = re.compile(r"[0-9]{1,6}")
_PERCENTAGE = re.compile(r"[0-9]{1,3}(\.[0-9]+)?")
_LINE = re.compile(r"^\s*([A-Za-z][^:]*?)\s*(?:\(\s*%\s*\))?\s*:\s*(\S.*?)\s*$")


class Npu:
    """One card; its chips are `npu:N`, or `npu:N.C` where it has several."""

    def __init__(self, number: int) -> None:
        self.name = f"npu:{number}"
        self._number = number
        self._tool = _tool("info", "-t", "usages", "-i", str(number))

    def read(self) -> Mapping[str, Mapping[str, float]]:
        text = _printed(self._tool)
        chips = usages(text)
        if not chips:
            raise MeterError(
                f"{self.name}: npu-smi printed no usage that is known, but {shortened(text)}; "
                "compare with `npu-smi info -t usages -i " + f"{self._number}`"
            )
        if len(chips) == 1:
            return {self.name: next(iter(chips.values()))}
        return {f"{self.name}.{chip}": values for chip, values in chips.items()}

    def stop(self) -> None:
        """See `Meter`."""
        self._tool.stop()


def find() -> tuple[list[Npu], list[str]]:
    """(the cards of this machine, why some or all cannot be measured)."""
    if shutil.which(_TOOL) is None:
        nodes = any(_DEVICES.glob("davinci[0-9]*"))
        missing = "this machine has NPUs, but npu-smi is not on the PATH, so they are not measured"
        return [], [missing] if nodes else []
    try:
        text = _printed(_tool("info", "-l"))
    except MeterError as error:
        return [], [f"the NPUs are not measured: {error}"]
    numbers = [int(value) for name, value in _pairs(text) if name == "npu id" and _NUMBER.fullmatch(value)]
    if not numbers:
        return [], [f"the NPUs are not measured: `npu-smi info -l` names none, but {shortened(text)}"]
    return [Npu(number) for number in dict.fromkeys(numbers)], []


def usages(text: str) -> dict[int, dict[str, float]]:
    """The metrics by chip. text: what `npu-smi info -t usages` prints; lines that are not known, and values
    that are no percentages (`NA`), are left out."""
    chips: dict[int, dict[str, float]] = {}
    values: dict[str, float] = {}
    announced: int | None = None

    def close(chip: int | None) -> None:
        if values:
            chips[len(chips) if chip is None else chip] = dict(values)
            values.clear()

    for name, value in _pairs(text):
        if name == "chip id" and _NUMBER.fullmatch(value):
            if values and announced is None:
                close(int(value))
            else:  # it stands before its lines
                close(announced)
                announced = int(value)
            continue
        metric = _METRICS.get(name)
        if metric is None or not _PERCENTAGE.fullmatch(value) or float(value) > 100:
            continue
        if metric in values:
            close(announced)
        values[metric] = float(value)
    close(announced)
    return chips


def _pairs(text: str) -> list[tuple[str, str]]:
    """(name in small letters without `(%)`, value) of every line that has both."""
    found = (_LINE.match(line) for line in text.splitlines() if len(line) <= _LONGEST_LINE)
    return [(" ".join(match[1].lower().split()), match[2]) for match in found if match]


def _tool(*arguments: str) -> ShortProgram:
    return ShortProgram((_TOOL, *arguments), limit_s=_LIMIT_S)


def _printed(program: ShortProgram) -> str:
    command = " ".join(program.command)
    try:
        output = program.output()
    except NoOutputError as error:
        raise MeterError(f"`{command}` {error}; try it by hand") from error
    if output.exit_code != 0:
        said = shortened(output.text)
        raise MeterError(f"`{command}` ended with {output.exit_code}: {said}; try it by hand")
    return output.text
