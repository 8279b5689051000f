"""`omnieval export` as a process, and the real trackers without a network."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from omnieval import api
from omnieval.errors import ConfigError
from tests.command import command, environment, omnieval
from tests.runs import choice_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "monday"
    server = "http://inner.example:8000/v1"
    choice_run(folder, ["correct", "wrong", "timeout", "not selected"], base_url=server)
    return folder


@pytest.mark.parametrize("kind", ["csv", "parquet", "vllm-bench", "lm-eval"])
def test_a_file_is_written_and_named(run: Path, tmp_path: Path, kind: str) -> None:
    done = omnieval("export", run, "--format", kind, "--out", tmp_path / "file")
    assert done.returncode == 0, done.stderr
    named = [Path(line.removeprefix("written: ")) for line in done.stdout.splitlines()]
    assert named and all(path.stat().st_size for path in named)


def test_what_cannot_be_done_says_why(run: Path, tmp_path: Path) -> None:
    asked = {
        2: [("export", run), ("export", run, "--format", "csv", "--to", "mlflow")],
        3: [("export", tmp_path, "--format", "csv")],
        1: [("export", run, "--format", "csv", "--out", tmp_path / "nowhere" / "file.csv")],
    }
    for code, commands in asked.items():
        for arguments in commands:
            done = omnieval(*arguments)
            assert done.returncode == code, done.stderr
            assert "Traceback" not in done.stderr and done.stderr


def test_standard_output_is_written_to_and_stays_what_it_is(run: Path, tmp_path: Path) -> None:
    exported = ("export", run, "--format", "csv", "--out")
    assert omnieval(*exported, tmp_path / "plain.csv").returncode == 0
    plain = (tmp_path / "plain.csv").read_bytes().decode()
    piped = omnieval(*exported, "/dev/stdout")
    assert (piped.stdout, piped.stderr) == (plain.replace("\r\n", "\n"), "written: /dev/stdout\n")
    target = tmp_path / "log"
    target.write_text("before\n")
    for arguments in (exported, ("gate", run, "--gate", "minicpm-challenge", "--html")):
        with target.open("ab") as file:
            subprocess.run(command(*arguments, "/dev/stdout"), env=environment(), stdout=file, timeout=100)
    held = target.read_bytes().decode()
    assert held.startswith(f"before\n{plain}") and held.rstrip().endswith("</html>")
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.parametrize("arguments", [("export", "--format", "csv", "--out"), ("report", "--html")])
def test_a_full_disk_names_the_command_as_the_next_step(run: Path, arguments: tuple[str, ...]) -> None:
    done = omnieval(arguments[0], run, *arguments[1:], "/dev/full")
    assert done.returncode == 1
    assert "free some space, then give the same command again" in done.stderr
    assert not Path("/dev/full").is_file()


@pytest.mark.slow
def test_mlflow_holds_settings_figures_and_samples(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the file store needs no database
    import mlflow

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    logged = mlflow.get_run(api.track(run, "mlflow", project="omni"))
    assert logged.data.metrics["accuracy"] == 0.5
    assert logged.data.metrics["accuracy_low"] < 0.5 < logged.data.metrics["accuracy_high"]
    assert logged.data.params["plan"] == "minicpm"
    table = mlflow.artifacts.load_dict(f"{logged.info.artifact_uri}/samples.json")
    assert len(table["data"]) == 4 and "outcome" in table["columns"]
    assert not any("inner.example" in path.read_text(errors="ignore") for path in files(tmp_path / "store"))


@pytest.mark.slow
def test_wandb_keeps_the_run_offline(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    name = api.track(run, "wandb", project="omni")
    [kept] = (tmp_path / "wandb").glob(f"offline-run-*-{name}")
    content = b"".join(path.read_bytes() for path in files(kept))
    assert b"strict_accuracy_low" in content and b"minicpm" in content
    assert b"inner.example" not in content and b"k" * 40 not in content
    [table] = kept.rglob("samples*.table.json")
    assert len(json.loads(table.read_text())["data"]) == 4


@pytest.mark.slow
def test_a_tracker_that_refuses_is_told(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))  # no key of the user's
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    for tracker, way, place in (
        ("wandb", "WANDB_MODE", ""),
        ("mlflow", "set MLFLOW_TRACKING_URI", "nonsense://nowhere"),
        ("mlflow", "set MLFLOW_TRACKING_URI", "http://127.0.0.1:1"),
    ):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", place)
        done = omnieval("export", run, "--to", tracker)
        assert done.returncode == 2, done.stderr
        assert way in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_mlflow_that_fails_on_the_way_is_told(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())

    def refuse(_: object) -> None:
        raise mlflow.exceptions.MlflowException("too many parameters")

    monkeypatch.setattr(mlflow, "log_params", refuse)
    with pytest.raises(ConfigError, match="MLflow refuses: too many parameters; set MLFLOW_TRACKING_URI"):
        api.track(run, "mlflow")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
