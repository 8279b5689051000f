"""The viewer's list of runs: suites and benches stand together, with what is known of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from omnieval import api
from omnieval.suite import Suite, SuiteReport, build_suite_report
from omnieval.view import headlines
from omnieval.view.app import make_app
from omnieval.view.folders import find_runs
from tests.runs import choice_run
from tests.unit.test_bench_page import choice_bench


def opened(root: Path, index: Path) -> TestClient:
    """A viewer's client that has shown its token."""
    found = TestClient(make_app(root, index, token="t", port=8000), base_url="http://127.0.0.1:8000")
    assert found.get("/?token=t").status_code == 200
    return found


def test_a_suite_is_one_block_with_its_members_and_verdict(tmp_path: Path) -> None:
    config = {"recipe": "daily-omni", "benchmark": "daily-omni", "backend": "chance"}
    suite = tmp_path / "runs" / "20261202-suite"
    choice_run(suite / "first", ["correct", "wrong"])
    members = [{"name": name, "config": config} for name in ("first", "second")]
    told = {"format": 1, "name": "mine", "gate": None, "started": "2026-12-02T10:00:00", "members": members}
    (suite / "suite.json").write_text(json.dumps(told))
    choice_run(tmp_path / "runs" / "alone", ["correct"])
    client = opened(tmp_path / "runs", tmp_path / "index")
    page = client.get("/").text
    assert "suite 20261202-suite · 1 of 2 members finished" in page
    assert "<bdi>not begun</bdi>" in page
    assert "50.0 % of 2" in page
    assert "100.0 % of 1" in page
    choice_run(suite / "second", ["correct"])
    assert "2 of 2 members finished" in client.get("/").text
    (suite / "suite.json").write_text("{")
    assert "cannot be read" in client.get("/").text


def test_the_list_tells_a_suites_verdict_and_runs_that_are_not_complete(tmp_path: Path) -> None:
    config = {"recipe": "daily-omni", "benchmark": "daily-omni", "backend": "chance"}
    suite = tmp_path / "runs" / "suite"
    choice_run(suite / "first", ["correct"] * 40)
    told = {"format": 1, "name": "mine", "gate": None, "started": "2026-12-02T10:00:00",
            "members": [{"name": "first", "config": config}]}  # fmt: skip
    (suite / "suite.json").write_text(json.dumps(told))
    (tmp_path / "gate.yaml").write_text("daily-omni:\n  - accuracy >= 0.5\n")
    client = opened(tmp_path / "runs", tmp_path / "index")
    assert "badge" not in client.get("/").text
    assert api.gate_suite(suite, tmp_path / "gate.yaml").verdict == "pass"
    judged = client.get("/").text.partition("<bdi>mine</bdi>")[2].partition("</tr>")[0]
    assert '<span class="badge right">pass</span>' in judged
    begun = choice_run(tmp_path / "runs" / "begun", ["correct", "correct"])
    assert "Not complete." not in client.get("/").text
    responses = begun.directory / "responses.jsonl"
    responses.write_text(responses.read_text().splitlines(keepends=True)[0])
    api.score(begun.directory)
    assert "Not complete." in client.get("/").text.partition("<bdi>begun</bdi>")[2].partition("</tr>")[0]


def test_a_bench_is_one_block_with_its_cold_run_and_its_repeats(tmp_path: Path) -> None:
    bench = choice_bench(tmp_path / "runs" / "bench-monday", (2.0, 0.4, 0.6, 0.5))
    places = find_runs(tmp_path / "runs").values()
    assert {place.group for place in places} == {bench.directory.resolve()}
    assert [place.name for place in places] == ["cold", "run-3", "run-2", "run-1"]


def test_a_suites_report_is_made_again_only_when_a_file_of_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def counted(suite: Suite) -> SuiteReport:
        made.append(suite.directory)
        return build_suite_report(suite)

    monkeypatch.setattr(headlines, "build_suite_report", counted)
    suite = tmp_path / "runs" / "suite"
    run = choice_run(suite / "first", ["correct", "wrong"])
    config = {"recipe": "daily-omni", "benchmark": "daily-omni", "backend": "chance"}
    told = {"format": 1, "name": "mine", "gate": None, "started": "2026-12-02T10:00:00",
            "members": [{"name": "first", "config": config}]}  # fmt: skip
    (suite / "suite.json").write_text(json.dumps(told))
    client = opened(tmp_path / "runs", tmp_path / "index")
    assert [client.get("/").status_code for _ in range(3)] == [200] * 3
    assert len(made) == 1
    api.score(run)
    client.get("/")
    assert len(made) == 2
