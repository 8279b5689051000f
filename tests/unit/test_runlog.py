"""A run directory holds whole lines only, whatever happens to the process or the disk."""

from __future__ import annotations

import errno
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.errors import ConfigError, ScoringError, StorageError
from omnieval.runlog import PlannedSample, Run, RunWriter
from omnieval.runlog.files import RESUME, LineLog, read_lines, replace_json, storage_error
from omnieval.runlog.schema import from_line, to_line
from omnieval.runlog.store import exists, new_directory
from omnieval.types import Failure, JsonDict, Response, Sample, Score, SpokenAudio, Timing, Usage

SAMPLE = Sample("s1", "b", "q", ("A", "B"), "A", {"type": "t"}, "c", {"video": Path("v.mp4")}, 0)
RESPONSE = Response(
    "s1",
    text="B\u2028\n",
    usage=Usage(1, 2, {"image": 3}),
    timing=Timing(1.5, 0.1, (0.2, 0.3), 0.9),
    attempt=2,
)
INFO: JsonDict = {
    "config": {"recipe": "r"}, "recipe_hash": "h", "headline": {}, "group_keys": [], "dataset": {"rows": 1},
    "server": {}, "versions": {}, "started": "now",
}  # fmt: skip


def begin(folder: Path) -> RunWriter:
    return RunWriter.begin(folder, INFO, [PlannedSample(SAMPLE, selected=True)])


@pytest.mark.parametrize(
    "record",
    [
        PlannedSample(SAMPLE, selected=False),
        RESPONSE,
        Response("s2", error=Failure("busy", "m", True, 429, "h", 2.0)),
        Score("s1", "wrong", answer="B", rule="r", metrics={"accuracy": 0.0}, details={"span": [0, 1]}),
    ],
)
def test_a_record_survives_its_line(record: object) -> None:
    line = to_line(record)
    assert line.count(b"\n") == 1
    assert to_line(from_line(type(record), line)) == line


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    with begin(tmp_path / "run") as writer:
        writer.add_response(RESPONSE)
        writer.add_response(Response("s1", text="later"))
        writer.add_event("started", detail=1)
    run = Run.load(tmp_path / "run")
    assert list(run.samples()) == [PlannedSample(SAMPLE, selected=True)]
    assert len(list(run.responses())) == 2
    assert run.last_responses()["s1"].text == "later"
    assert [event["event"] for event in run.events()] == ["started"]


def append_to_log(path: Path) -> LineLog:
    return LineLog(path)


def test_whatever_a_server_says_makes_a_line_that_can_be_read(tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    metrics = {"\ud800": {"half": "x\udc00", "none": float("nan"), "deep": deep, "n": 3, "yes": True}}
    odd = Response(
        "s", text="A", model="m\ud800", finish_reason="\ud800", server_metrics=metrics, usage=Usage(7, 1),
        audio=SpokenAudio(24_000, 1, 5), error=Failure("server", "bad \ud800"),
    )  # fmt: skip
    with RunWriter.begin(tmp_path / "run", INFO, []) as writer:
        writer.add_response(odd)
        writer.add_response(Response("next"))
        writer.add_event("warmup", error="bad \ud800")
    run = Run.load(tmp_path / "run")
    read, after = run.responses()
    assert (read.text, read.usage, read.audio, after.sample_id) == ("A", odd.usage, odd.audio, "next")
    assert read.server_metrics["?"]["n"] == 3 and read.server_metrics["?"]["none"] is None
    assert read.error == Failure("server", "bad ?")
    assert [event["error"] for event in run.events()] == ["bad ?"]


@given(text=st.text(max_size=40), cut=st.integers(0, 400))
def test_a_torn_end_is_mended_and_whole_lines_stay(
    text: str, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "responses.jsonl"
    written = [to_line(Response(f"s{i}", text=text.encode("utf-8", "replace").decode())) for i in range(3)]
    whole = b"".join(written)
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    before = list(read_lines(path, Response))
    with LineLog(path) as log:
        log.append(to_line(Response("new")))
    after = list(read_lines(path, Response))
    assert after == [*before, Response("new")]
    assert len(before) == sum(len(b"".join(written[: i + 1])) - 1 <= len(whole) - cut for i in range(3))


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_bytes(to_line(RESPONSE) + b'{"sample_id": \n' + to_line(RESPONSE))
    with pytest.raises(ScoringError, match=r"responses\.jsonl: line 2 is damaged"):
        list(read_lines(path, Response))


def test_only_one_process_writes_to_a_run(tmp_path: Path) -> None:
    with begin(tmp_path / "run"), pytest.raises(ConfigError, match="another process is writing"):
        RunWriter(tmp_path / "run")
    RunWriter(tmp_path / "run").close()


def test_a_directory_with_anything_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"not empty \(found notes\.txt\)"):
        begin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


KILLED_WHILE_BEGINNING = """
import os, signal, sys
from pathlib import Path
from typing import Any
import omnieval.runlog.store as store
def killed(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(store, sys.argv[2], killed)
store.RunWriter.begin(Path(sys.argv[1]), {"config": {}}, [])
"""


@pytest.mark.parametrize("step", ["replace_file", "replace_json", "LineLog"])
def test_a_run_killed_while_it_began_can_be_begun_again(step: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_BEGINNING, folder, step], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert not exists(folder)
    begin(folder).close()
    assert exists(folder)


FILLED_DISK = """
import resource, signal, sys
from pathlib import Path
from typing import Any
from omnieval.errors import StorageError
from omnieval.runlog.files import LineLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = LineLog(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for i in range(100):
    try:
        log.append(b'{"line": %d, "pad": "%s"}\\n' % (i, b"x" * 90))
    except StorageError as error:
        print(i, error)
        break
"""


def test_a_disk_that_is_full_keeps_whole_lines_and_raises(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FILLED_DISK, path], capture_output=True, text=True, timeout=60
    )
    count, message = done.stdout.split(" ", 1)
    assert str(path) in message
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == int(count) > 0
    assert all(json.loads(line)["line"] == i for i, line in enumerate(lines))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_full_disk_says_what_to_do_then(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("/dev/full")
    with pytest.raises(StorageError, match="free some space, then give the same command again"):
        replace_json(tmp_path / "log", {})
    assert (tmp_path / "log").is_symlink()
    full = OSError(errno.ENOSPC, "No space left on device")
    assert "then resume the run" in str(storage_error(tmp_path, full, then=RESUME))


def test_replacing_a_file_keeps_the_old_one_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    replace_json(path, {"a": 1})
    with pytest.raises(TypeError):
        replace_json(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1}
    with pytest.raises(StorageError, match="cannot be written"):
        replace_json(path / "below a file", {})
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "not a run directory"),
        ("{", "cannot be read as JSON"),
        ('{"format": 99}', "does not read"),
        ("[]", "does not"),
        ("[" * 100_000, "cannot be read as JSON"),
    ],
)
def test_what_is_no_run_is_named(content: str | None, words: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(ScoringError, match=words):
        Run.load(tmp_path)


def test_lost_rows_are_noticed(tmp_path: Path) -> None:
    begin(tmp_path / "run").close()
    (tmp_path / "run" / "samples.jsonl").write_bytes(b"")
    with pytest.raises(ScoringError, match=r"samples\.jsonl: 0 rows, but run\.json says 1"):
        list(Run.load(tmp_path / "run").samples())


@pytest.mark.parametrize("key", list(INFO))
def test_a_run_file_without_a_key_is_named(key: str, tmp_path: Path) -> None:
    begin(tmp_path / "run").close()
    replace_json(tmp_path / "run" / "run.json", {"format": 1, **{k: v for k, v in INFO.items() if k != key}})
    with pytest.raises(ScoringError, match=f"expected the keys {key}"):
        Run.load(tmp_path / "run")


def test_a_run_without_report_says_what_to_do(tmp_path: Path) -> None:
    begin(tmp_path / "run").close()
    with pytest.raises(ScoringError, match="omnieval score"):
        Run.load(tmp_path / "run").report()


def test_names_of_run_directories_do_not_collide(tmp_path: Path) -> None:
    import time

    moment = time.gmtime(0)
    first = new_directory(tmp_path, "r", moment)
    assert first.name == "19700101-000000-r"
    first.mkdir()
    assert new_directory(tmp_path, "r", moment).name == "19700101-000000-r-2"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("headline.plan", 5),
        ("group_keys.0", [1]),
        ("dataset.notes", -1.5),
        ("dataset.fingerprint", None),
        ("config.decode", None),
        ("config.parser", {}),
        ("server.version", "\ud800"),
        ("versions.omnieval", []),
    ],
)
def test_a_run_file_with_a_value_of_another_kind_is_named(place: str, value: Any, tmp_path: Path) -> None:
    begin(tmp_path / "run").close()
    part, key = place.split(".")
    damaged = {"format": 1, **INFO, part: [value] if part == "group_keys" else {**INFO[part], key: value}}
    (tmp_path / "run" / "run.json").write_text(json.dumps(damaged))
    with pytest.raises(
        ScoringError,
        match=rf"run\.json: damaged, expected the keys {place}; restore the file|hex escape.*; restore the file",
    ):
        Run.load(tmp_path / "run")


@pytest.mark.parametrize("content", ["[" * 100_000, "[]", "5", "{"])
def test_a_report_that_is_none_is_made_again(content: str, tmp_path: Path) -> None:
    begin(tmp_path / "run").close()
    (tmp_path / "run" / "report.json").write_text(content)
    with pytest.raises(ScoringError, match=r"report\.json: .*; run `omnieval score` again"):
        Run.load(tmp_path / "run").report()


def test_a_file_in_the_place_of_a_run_directory_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match=r"file: cannot be written: .*; name another place"):
        begin(tmp_path / "file")
    with pytest.raises(ScoringError, match=r"file: not a run directory .*; name one that"):
        Run.load(tmp_path / "file")


def test_a_folder_of_runs_is_told_from_a_run(tmp_path: Path) -> None:
    for position, name in enumerate(("old", "new")):
        begin(tmp_path / name).close()
        os.utime(tmp_path / name / "run.json", (position, position))
    with pytest.raises(ScoringError, match=f"name one of the 2 in it, such as the newest, {tmp_path}/new$"):
        Run.load(tmp_path)


def test_a_run_without_a_report_says_how_to_go_on(tmp_path: Path) -> None:
    begin(tmp_path).close()
    told = f"no report yet.*`omnieval run --resume {tmp_path}` .* `omnieval score {tmp_path}`"
    with pytest.raises(ScoringError, match=told):
        Run.load(tmp_path).report()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=f"no folder {tmp_path}/reports; make it first"):
        replace_json(tmp_path / "reports" / "monday.json", {})


def test_commands_in_errors_can_be_copied_into_a_shell(tmp_path: Path) -> None:
    begin(tmp_path / "mon day's").close()
    with pytest.raises(ScoringError) as raised:
        Run.load(tmp_path / "mon day's").report()
    quoted = shlex.quote(str(tmp_path / "mon day's"))
    assert f"`omnieval run --resume {quoted}`" in str(raised.value)
    assert f"`omnieval score {quoted}`" in str(raised.value)


def test_a_large_json_file_is_written_in_blocks_and_is_the_same(tmp_path: Path) -> None:
    value = {"numbers": list(range(100_000)), "text": "ä\ud800 \u2028", "empty": [{}, [], None]}
    expected = json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    tracemalloc.start()
    try:
        replace_json(tmp_path / "a.json", value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (tmp_path / "a.json").read_bytes() == expected
    assert peak < 4 * len(expected), "all parts at once take 20 times the file"
    with pytest.raises(TypeError, match="not JSON serializable"):
        replace_json(tmp_path / "a.json", {"numbers": [*range(50_000), object()]})
    assert (tmp_path / "a.json").read_bytes() == expected
