"""What data and replies hold never steers the terminal, and stays as it is in the records."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import lines, omnieval, report

STEERING = "\x1b]0;title\x07\x9b31m"


def test_control_characters_stay_in_the_records_alone(tmp_path: Path) -> None:
    row = {"id": "q", "question": "?", "options": [f"a{STEERING}", "b"], "answer": "A", "level": STEERING}
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    arguments = ["--data", tmp_path / "q.jsonl", "--backend", "chance", "--cache-dir", tmp_path / "cache"]
    groups = "columns.groups={level: level}"
    done = omnieval("run", "mcq", *arguments, "--out", tmp_path / "run", "--set", groups)
    assert done.returncode == 0, done.stderr
    as_json = omnieval("report", tmp_path / "run", "--json").stdout
    wrong = omnieval("run", "mcq", *arguments, "--filter", f"level=x{STEERING}")
    assert wrong.returncode == 2
    shown = [done.stdout, as_json, wrong.stderr, (tmp_path / "run" / "report.md").read_text()]
    assert all(c.isprintable() or c == "\n" for text in shown for c in text)
    assert report(tmp_path / "run")["groups"]["level"][0]["value"] == STEERING
    assert json.loads(as_json)["groups"]["level"][0]["value"] == STEERING
    assert STEERING in lines(tmp_path / "run" / "samples.jsonl")[0]["sample"]["options"][0]
