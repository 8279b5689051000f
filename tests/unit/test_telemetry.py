"""Measuring this machine and its accelerators while a run goes on, and what the report makes of it."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import time
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from omnieval import api
from omnieval.errors import ConfigError
from omnieval.report.busy import busy_lines, busy_rows
from omnieval.report.measurements import measurements
from omnieval.report.phases import Phases
from omnieval.runlog import Run
from omnieval.telemetry import MeterError, Recorder, find_meters, npu_smi, nvml
from omnieval.telemetry.machine import Machine
from omnieval.types import Timing

# As the tool prints them: one chip of an Atlas A2 card; a card with two chips; an inference card without HBM.
A2 = """
\tNPU ID                         : 0
\tChip Count                     : 1

\tDDR Capacity(MB)               : 15171
\tDDR Usage Rate(%)              : 3
\tDDR Hugepages Total(page)      : 0
\tHBM Capacity(MB)               : 65536
\tHBM Usage Rate(%)              : 87
\tAicore Usage Rate(%)           : 42
\tAicpu Usage Rate(%)            : 0
\tCtrlcpu Usage Rate(%)          : 9
\tDDR Bandwidth Usage Rate(%)    : 0
\tHBM Bandwidth Usage Rate(%)    : 31
\tNPU Utilization(%)             : 44
\tChip ID                        : 0
"""
TWO_CHIPS = """
\tNPU ID                         : 2
\tChip Count                     : 2

\tHBM Usage Rate(%)              : 42
\tAicore Usage Rate(%)           : 71
\tHBM Bandwidth Usage Rate(%)    : 33
\tChip ID                        : 0

\tHBM Usage Rate(%)              : 43
\tAicore Usage Rate(%)           : NA
\tHBM Bandwidth Usage Rate(%)    : 31
\tChip ID                        : 1
"""
NO_HBM = """
NPU ID : 1
Chip Count : 1
DDR Usage Rate( % ) : 4
Aicore Usage Rate( % ) : 12
Vectorcore Usage Rate( % ) : 0
DDR Bandwidth Usage Rate( % ) : 51
"""
CHIP_FIRST = """
Chip ID : 4
Aicore Usage Rate(%) : 1
Chip ID : 5
Aicore Usage Rate(%) : 2
"""
LISTED = """
\tTotal Count                    : 2

\tNPU ID                         : 0
\tProduct Name                   : IT21DMDA
\tNPU ID                         : 2
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (A2, {0: {"ddr_pct": 3, "hbm_pct": 87, "aicore_pct": 42, "aicpu_pct": 0, "ddr_bandwidth_pct": 0,
                  "hbm_bandwidth_pct": 31, "npu_pct": 44}}),
        (TWO_CHIPS, {0: {"hbm_pct": 42, "aicore_pct": 71, "hbm_bandwidth_pct": 33},
                     1: {"hbm_pct": 43, "hbm_bandwidth_pct": 31}}),
        (TWO_CHIPS.replace("\tChip ID                        : 0\n", ""),
         {0: {"hbm_pct": 42, "aicore_pct": 71, "hbm_bandwidth_pct": 33},
          1: {"hbm_pct": 43, "hbm_bandwidth_pct": 31}}),
        (NO_HBM, {0: {"ddr_pct": 4, "aicore_pct": 12, "ddr_bandwidth_pct": 51}}),
        (CHIP_FIRST, {4: {"aicore_pct": 1}, 5: {"aicore_pct": 2}}),
        ("", {}),
        ("This device does not support querying usages.\n", {}),
        ("Aicore Usage Rate(%) : -\nChip ID : 0\n", {}),
    ],
)  # fmt: skip
def test_usages_are_read_from_what_npu_smi_prints(text: str, expected: dict[int, dict[str, float]]) -> None:
    assert npu_smi.usages(text) == expected


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a stand-in for npu-smi is to be written; it is the only tool of that name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return folder / "npu-smi"


def write_tool(tool: Path, usages: str, listed: str = LISTED) -> None:
    tool.with_name("usages").write_text(usages)
    tool.with_name("listed").write_text(listed)
    tool.write_text(
        f'#!/bin/sh\ncase "$*" in\n"info -l") cat {tool.with_name("listed")} ;;\n'
        f'"info -t usages -i "*) cat {tool.with_name("usages")} ;;\n*) exit 3 ;;\nesac\n'
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)


def test_every_npu_of_the_machine_is_found_and_read(tool: Path) -> None:
    write_tool(tool, A2)
    meters, notes = find_meters("auto", model_is_here=True)
    assert [meter.name for meter in meters] == ["machine", "npu:0", "npu:2"] and not notes
    assert meters[1].read()["npu:0"]["aicore_pct"] == 42
    write_tool(tool, TWO_CHIPS)
    assert sorted(meters[2].read()) == ["npu:2.0", "npu:2.1"]
    assert [meter.name for meter in find_meters(["npu:2", "npu:2"], model_is_here=False)[0]] == ["npu:2"]
    assert [meter.name for meter in find_meters("auto", model_is_here=False)[0]] == ["machine"]
    assert find_meters("none", model_is_here=True) == ([], [])


def test_a_tool_that_changed_or_fails_says_so(tool: Path) -> None:
    write_tool(tool, "an output of the future\n")
    meters, _ = find_meters(["npu:0"], model_is_here=True)
    with pytest.raises(MeterError, match="no usage that is known, but 'an output of the future'"):
        meters[0].read()
    write_tool(tool, A2, listed="no device\n")
    assert find_meters("auto", model_is_here=True)[1] == [
        "the NPUs are not measured: `npu-smi info -l` names none, but 'no device'"
    ]
    tool.write_text("#!/bin/sh\necho 'DrvMngGetConsoleLogLevel failed' >&2\nexit 255\n")
    _, notes = find_meters("auto", model_is_here=True)
    assert "ended with 255: 'DrvMngGetConsoleLogLevel failed'" in notes[0]
    tool.write_text("not a program")
    assert "cannot be started" in find_meters("auto", model_is_here=True)[1][0]


def test_a_tool_that_hangs_is_not_waited_for(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tool(tool, A2)
    monkeypatch.setattr(npu_smi, "_LIMIT_S", 0.3)
    meters, _ = find_meters(["npu:0"], model_is_here=True)
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(MeterError, match=r"gave no answer within 0\.3 s"):
        meters[0].read()


def test_a_tool_that_prints_without_end_is_ended_with_its_children(tool: Path) -> None:
    write_tool(tool, A2)
    meters, _ = find_meters(["npu:0"], model_is_here=True)
    children = tool.with_name("children")
    tool.write_text(f"#!/bin/sh\nsleep 300 &\necho $! >> {children}\nyes garbage\n")
    with pytest.raises(MeterError, match="prints without end: 'garbage garbage"):
        meters[0].read()
    until(lambda: not psutil.pid_exists(int(children.read_text())))


def test_a_child_that_holds_the_output_open_is_not_waited_for(tool: Path) -> None:
    write_tool(tool, A2)
    meters, _ = find_meters(["npu:0"], model_is_here=True)
    tool.write_text(f"#!/bin/sh\nsleep 60 &\ncat {tool.with_name('usages')}\n")
    began = time.monotonic()
    assert meters[0].read()["npu:0"]["aicore_pct"] == 42
    assert time.monotonic() - began < 50


@pytest.mark.parametrize(
    "text",
    [
        "NPU ID : " + "9" * 5000,
        "\tAicore Usage Rate(%) : " + "9" * 500,
        "\tAicore Usage Rate(%) : 101\n\tHBM Usage Rate(%) : -3\n\tHBM Bandwidth Usage Rate(%) : NaN",
        "Aicore" + " " * 300_000 + "Usage",
        "\x00\x1b[2J: : : (%) : 4",
    ],
)
def test_garbage_is_no_usage_and_takes_no_time(tool: Path, text: str) -> None:
    began = time.monotonic()
    assert npu_smi.usages(text) == {}
    assert time.monotonic() - began < 30
    write_tool(tool, text, listed=text)
    found, notes = find_meters("auto", model_is_here=True)
    assert [meter.name for meter in found] == ["machine"]
    assert "names none" in notes[0]


def test_a_reading_that_hangs_leaves_no_process_behind(tool: Path, tmp_path: Path) -> None:
    write_tool(tool, A2)
    meters, _ = find_meters(["npu:0"], model_is_here=True)
    pid = tmp_path / "pid"
    tool.write_text(f"#!/bin/sh\necho $$ > {pid}\nexec sleep 300\n")
    with Recorder(tmp_path / "telemetry.jsonl", meters, 0.05):
        until(lambda: pid.exists() and pid.read_text())
    assert not psutil.pid_exists(int(pid.read_text()))


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("npu:7", r"no npu:7 here, found npu:0, npu:2; set telemetry.devices=auto"),
        ("gpu:0", "no gpu:0 here, none found on this machine"),
        ("tpu:0", "expected machine, npu:N or gpu:N, found 'tpu:0'"),
        ("npu:x", "expected machine, npu:N or gpu:N"),
    ],
)
def test_a_device_that_is_not_there_is_refused(tool: Path, device: str, message: str) -> None:
    write_tool(tool, A2)
    with pytest.raises(ConfigError, match=message):
        find_meters([device], model_is_here=True)


class StandInNvml(types.ModuleType):
    """Stands in for pynvml: two GPUs, of which the second has no memory of its own and no power meter; they may
    fall off the bus."""

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.lost = False
        self.unfit: str | None = None
        self.hidden: int | None = None
        self.memory_bytes = 4 * 2**30

    def nvmlInit(self) -> None:
        if self.unfit is not None:
            raise self.NVMLError(self.unfit)

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index == self.hidden:
            raise self.NVMLError("Insufficient Permissions")
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        if self.lost:
            raise self.NVMLError("GPU is lost")
        return types.SimpleNamespace(gpu=97, memory=40 + handle)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        if handle:
            raise self.NVMLError("Not Supported")
        return types.SimpleNamespace(used=3 * 2**30, total=self.memory_bytes)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        if handle:
            raise self.NVMLError("Not Supported")
        return 310_500


def test_gpus_are_read_through_nvml(monkeypatch: pytest.MonkeyPatch, tool: Path) -> None:
    library = StandInNvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    meters, _ = find_meters("auto", model_is_here=True)
    assert [meter.name for meter in meters] == ["machine", "gpu:0", "gpu:1"]
    assert meters[1].read() == {
        "gpu:0": {"gpu_pct": 97, "memory_bandwidth_pct": 40, "memory_pct": 75, "power_w": 310.5}
    }
    assert meters[2].read() == {"gpu:1": {"gpu_pct": 97, "memory_bandwidth_pct": 41}}
    library.memory_bytes = 0
    assert "memory_pct" not in meters[1].read()["gpu:0"]
    library.lost = True
    with pytest.raises(MeterError, match="GPU is lost"):
        meters[1].read()


def test_gpus_that_nvml_does_not_give_are_named(
    monkeypatch: pytest.MonkeyPatch, tool: Path, tmp_path: Path
) -> None:
    library = StandInNvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    library.hidden = 0
    meters, notes = find_meters("auto", model_is_here=True)
    assert [meter.name for meter in meters] == ["machine", "gpu:1"]
    assert notes == ["gpu:0 is not measured: NVML: Insufficient Permissions; look at nvidia-smi"]
    with pytest.raises(ConfigError, match=r"no gpu:0 here, found gpu:1 \(gpu:0 is not measured"):
        find_meters(["gpu:0"], model_is_here=True)
    library.unfit = "Driver/library version mismatch"
    monkeypatch.setattr(nvml, "_DEVICES", tmp_path)
    assert [meter.name for meter in find_meters("auto", model_is_here=True)[0]] == ["machine"]
    assert find_meters("auto", model_is_here=True)[1] == []
    (tmp_path / "nvidia0").touch()
    assert find_meters("auto", model_is_here=True)[1] == [
        "this machine has GPUs, which are not measured: NVML: Driver/library version mismatch; look at nvidia-smi"
    ]


def test_npus_without_their_tool_are_named(
    monkeypatch: pytest.MonkeyPatch, tool: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(npu_smi, "_DEVICES", tmp_path)
    assert find_meters("auto", model_is_here=True)[1] == []
    (tmp_path / "davinci0").touch()
    assert find_meters("auto", model_is_here=True)[1] == [
        "this machine has NPUs, but npu-smi is not on the PATH, so they are not measured"
    ]


def test_no_gpu_is_found_without_the_driver(tool: Path) -> None:
    assert [meter.name for meter in find_meters("auto", model_is_here=True)[0]] == ["machine"]


def test_work_of_this_process_is_seen() -> None:
    meter = Machine()
    ends = time.monotonic() + 0.3
    while time.monotonic() < ends:
        pass
    values = meter.read()["machine"]
    assert values["omnieval_cpu_pct"] > 0
    assert 0 < values["memory_pct"] <= 100 and 0 < values["cpu_pct"] <= 100


class Scripted:
    """A meter that gives what it is told, one after the other, and then the last for ever."""

    def __init__(self, name: str, *readings: Mapping[str, float] | Exception | float) -> None:
        self.name, self._readings, self.count = name, list(readings), 0
        self.released = threading.Event()

    def read(self) -> Mapping[str, Mapping[str, float]]:
        reading = self._readings[min(self.count, len(self._readings) - 1)]
        self.count += 1
        if isinstance(reading, Exception):
            raise reading
        if isinstance(reading, float):
            self.released.wait(reading)
            return {}
        return {self.name: reading}

    def stop(self) -> None:
        """It cannot be ended."""


def until(met: Any, limit_s: float = 10.0) -> None:
    ends = time.monotonic() + limit_s
    while not met():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_readings_are_kept_line_by_line_and_a_hiccup_costs_one(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    path.write_text('{"t": 1.0, "device": "npu:0", "aicore_pct": 1}\n{"t": 2.0, "devi')
    steady = Scripted("machine", {"cpu_pct": 5.0})
    shaky = Scripted("npu:0", {"aicore_pct": 7.0}, MeterError("odd"), {"aicore_pct": 8.0})
    began = time.time()
    with Recorder(path, [steady, shaky], 0.05) as recorder:
        until(lambda: shaky.count >= 6 and steady.count >= 6)
    assert not recorder.notes
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["t"] == 1.0 and all(began <= line["t"] <= time.time() for line in lines[1:])
    values = [line["aicore_pct"] for line in lines if line["device"] == "npu:0"]
    assert values[:3] == [1, 7, 8]
    assert not any(thread.name.startswith("telemetry") for thread in threading.enumerate())


def test_a_meter_that_fails_again_and_again_is_given_up_and_named(tmp_path: Path) -> None:
    broken = Scripted("npu:0", MeterError("npu:0: gone"))
    with Recorder(tmp_path / "telemetry.jsonl", [broken], 0.05) as recorder:
        until(lambda: recorder.notes)
        time.sleep(0.2)
    assert recorder.notes == ["telemetry: npu:0: gone (given up after 5 readings that failed)"]
    assert broken.count == 5


def test_an_error_of_a_driver_is_a_failed_reading_too(tmp_path: Path) -> None:
    odd = Scripted("gpu:0", ZeroDivisionError("division by zero"))
    with Recorder(tmp_path / "telemetry.jsonl", [odd], 0.05) as recorder:
        until(lambda: recorder.notes)
    assert recorder.notes[0].startswith("telemetry: gpu:0: ZeroDivisionError('division by zero') (given up")


def test_a_reading_that_hangs_holds_nothing_up(tmp_path: Path) -> None:
    hanging = Scripted("npu:0", 60.0)
    with Recorder(tmp_path / "telemetry.jsonl", [hanging], 0.05):
        until(lambda: hanging.count == 1)
        began = time.monotonic()
    assert time.monotonic() - began < 50
    hanging.released.set()


def test_a_file_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    with Recorder(
        tmp_path / "missing" / "telemetry.jsonl", [Scripted("machine", {"x": 1.0})], 0.05
    ) as recorder:
        pass
    assert "telemetry.jsonl: cannot be written" in recorder.notes[0]


def test_a_full_disk_ends_the_telemetry_and_not_the_run(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    path = tmp_path / "telemetry.jsonl"
    path.symlink_to("/dev/full")
    with Recorder(path, [Scripted("machine", {"cpu_pct": 1.0})], 0.05) as recorder:
        until(lambda: recorder.notes)
    assert any("telemetry" in note for note in recorder.notes)


def test_phases_follow_from_when_answers_began_and_ended() -> None:
    phases = Phases(
        [
            Timing(started=100.0, ttft_s=2.0, e2e_s=5.0),
            Timing(started=101.0, ttft_s=3.0, e2e_s=6.0),
            Timing(started=110.0, ttfp_s=1.0, e2e_s=2.0),
            Timing(started=120.0, e2e_s=4.0),
            Timing(started=130.0),
            Timing(),
        ]
    )
    found = [
        phases.at(t) for t in (99.9, 100.0, 101.9, 102.0, 104.9, 106.9, 107.0, 110.5, 111.5, 121.0, 130.1)
    ]
    assert found == [
        "idle", "prefill", "prefill", "decode", "decode", "decode", "idle", "prefill", "decode", "answer",
        "idle",
    ]  # fmt: skip


def write_telemetry(run: Run, lines: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run.directory / "telemetry.jsonl").write_text(text + '{"torn')


def test_the_report_says_how_busy_the_accelerator_was(tmp_path: Path) -> None:
    run = api.run(
        "mcq-pictures", sample=True, backend="chance", out=tmp_path / "run", telemetry={"devices": "none"}
    )
    assert busy_rows(run) == ()
    busy = {"aicore_pct": 60, "hbm_bandwidth_pct": 20}
    idle = {"aicore_pct": 60, "hbm_bandwidth_pct": 5}
    lines = [{"t": 1000 + i / 2, "device": "npu:0", **(busy if i < 3 else idle)} for i in range(10)]
    lines += [{"t": 1000 + i / 2, "device": "machine", "cpu_pct": 99} for i in range(10)]
    lines += [{"t": 1000 + i, "device": "gpu:0", "gpu_pct": 50} for i in range(4)]
    write_telemetry(run, lines)
    rows = busy_rows(run)
    assert [(row.device, row.run.busy, row.run.measured, row.every_s) for row in rows] == [
        ("gpu:0", 4, 4, 1.0), ("npu:0", 3, 10, 0.5),
    ]  # fmt: skip
    assert set(rows[1].phases) == {"idle"}
    told = busy_lines(rows)
    assert told[0].startswith("gpu:0 was busy 100 % of the run; measured only every 1.0 s")
    assert told[1] == "npu:0 was busy 30 % of the run"
    api.score(run.directory)
    text = (run.directory / "report.md").read_text()
    assert "npu:0 was busy 30 % of the run" in text and "Busy accelerators" in text
    assert run.report()["busy"][1]["run"] == {"busy": 3, "measured": 10}
    page = (run.directory / "report.html").read_text()
    assert "npu:0 was busy 30 % of the run" in page
    assert "telemetry.jsonl: 1 line is no measurement; left out" in page


@pytest.mark.parametrize(
    ("values", "busy"),
    [
        ({"aicore_pct": 5.1, "hbm_bandwidth_pct": 5.1}, 1),
        ({"aicore_pct": 5, "hbm_bandwidth_pct": 80}, 0),
        ({"aicore_pct": 80, "hbm_bandwidth_pct": 5}, 0),
        ({"aicore_pct": 6}, 1),
        ({"hbm_bandwidth_pct": 31, "hbm_pct": 43}, 1),  # as of a chip whose cores are told as NA
        ({"hbm_bandwidth_pct": 0, "hbm_pct": 43}, 0),
        ({"gpu_pct": 60, "memory_bandwidth_pct": 4}, 0),
        ({"aicore_pct": 0, "hbm_bandwidth_pct": 90, "npu_pct": 90}, 0),
        ({"hbm_pct": 90, "power_w": 300, "cpu_pct": 99}, None),
    ],
)
def test_busy_are_cores_and_bandwidth_above_five_percent(
    tmp_path: Path, values: dict[str, float], busy: int | None
) -> None:
    """No other figure counts; where one of the two is not told, the other does."""
    run = Run(tmp_path, {})
    (tmp_path / "responses.jsonl").touch()
    write_telemetry(run, [{"t": 1000.0, "device": "npu:0", **values}])
    found = [row.run.busy for row in busy_rows(run)]
    assert found == ([] if busy is None else [busy])


def test_decode_time_is_told_apart(tmp_path: Path) -> None:
    run = api.run(
        "mcq-pictures", sample=True, backend="chance", out=tmp_path / "run", telemetry={"devices": "none"}
    )
    (run.directory / "responses.jsonl").write_text(
        "".join(
            json.dumps(line | {"timing": {"started": 1000.0, "ttft_s": 10.0, "e2e_s": 20.0}}) + "\n"
            for line in map(json.loads, (run.directory / "responses.jsonl").read_text().splitlines())
        )
    )
    busy = {"aicore_pct": 6, "hbm_bandwidth_pct": 6}
    idle = {"aicore_pct": 0, "hbm_bandwidth_pct": 0}
    write_telemetry(
        run,
        [{"t": 1000.25 + i / 2, "device": "npu:0", **(busy if 20 <= i < 35 else idle)} for i in range(50)],
    )
    (row,) = busy_rows(run)
    counted = {phase: (duty.busy, duty.measured) for phase, duty in row.phases.items()}
    assert counted == {"prefill": (0, 20), "decode": (15, 20), "idle": (0, 10)}
    assert busy_lines([row]) == ["npu:0 was busy 75 % of the decode time (30 % of the run)"]


def test_a_run_measures_its_machine_and_keeps_what_it_could_not(tmp_path: Path, tool: Path) -> None:
    write_tool(tool, "an output of the future\n")
    run = api.run(
        "mcq-pictures", sample=True, backend="chance", out=tmp_path / "run", telemetry={"every_s": 0.05},
        retry={"attempts": 1}, request_rate=10,
    )  # fmt: skip
    found = [line for line in measurements(run.directory / "telemetry.jsonl") if line is not None]
    assert {line.device for line in found} == {"machine"}
    assert {"cpu_pct", "memory_pct"} <= set(found[0].values)
    text = (run.directory / "report.md").read_text()
    assert "npu:0: npu-smi printed no usage that is known" in text


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"telemetry\.every_s"):
        api.configure("mcq-pictures", [("telemetry.every_s", 2)], sample=True)
    with pytest.raises(ConfigError, match=r"telemetry\.devices"):
        api.configure("mcq-pictures", [("telemetry.devices", 3)], sample=True)


def test_a_line_that_is_no_measurement_is_none(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    lines = [
        "[" * 100_000,
        "7",
        '{"t": true, "device": "a"}',
        f'{{"t": 1{"0" * 400}}}',
        '{"device": "a"}',
        '{"t": NaN}',
    ]
    path.write_text("\n".join([*lines, f'{{"t": 5, "device": "npu:0", "x": 1{"0" * 400}, "y": 2}}']))
    *none, last = measurements(path)
    assert none == [None] * len(lines)
    assert last is not None
    assert last.values == {"y": 2.0}
