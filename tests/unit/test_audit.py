"""What a report says beside the accuracy: other parsers, letters, sick replies, floors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.report.build import Report, build_report
from omnieval.report.markdown import to_markdown
from omnieval.report.pages import page_of
from omnieval.report.tables import status
from omnieval.runlog import PlannedSample, Run, RunWriter
from omnieval.scoring.choice import score_choices
from omnieval.types import Response, Sample

OPTIONS = ("A. a red bicycle", "B. a window", "C. two dogs", "D. nothing")


def reported(
    folder: Path, replies: list[str], *, options: tuple[str, ...] = OPTIONS, **config: Any
) -> Report:
    """The report of a run with these replies; A is right on every second row, else C."""
    planned = []
    for i in range(len(replies)):
        gold = "A" if i % 2 else "C"
        planned.append(PlannedSample(Sample(f"s{i}", "x", "?", options, gold, {}, f"v{i}", {}, i), True))
    content = {
        "config": {"recipe": "x", "benchmark": "x", "backend": "b", "model": "m", **config},
        "recipe_hash": "h", "headline": {}, "group_keys": [],
        "dataset": {"fingerprint": "f", "notes": [], "selected": len(replies), "rows": len(replies)},
        "server": {"model": "m", "version": None}, "started": "now", "versions": {"omnieval": "0"},
    }  # fmt: skip
    with RunWriter.begin(folder, content, planned) as writer:
        for i, reply in enumerate(replies):
            writer.add_response(Response(f"s{i}", text=reply))
    run = Run.load(folder)
    last = run.last_responses()
    rule = "videomme-official"
    planned = list(run.samples())
    scores = score_choices(run, planned, last, rule=rule)
    return build_report(run, planned, scores, last, None, parser=rule)


def test_every_rule_that_applies_is_shown_with_what_it_reads_otherwise(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["C", "ANSWER: A", "A man walks in, so C", "none of them"])
    by_rule = {row.rule: row for row in report.rules}
    assert report.rules[0].rule == "videomme-official"
    assert report.official == by_rule["videomme-official"].accuracy
    assert by_rule["careful"].accuracy.correct == 3
    assert (by_rule["careful"].none, by_rule["careful"].differs) == (1, 1)
    assert {row.sample_id for row in report.disagreements} >= {"s2"}
    (row,) = (row for row in report.disagreements if row.sample_id == "s2")
    assert (row.readings["careful"], row.readings["videomme-official"]) == ("C", "A")
    assert "A man walks in, so C" in to_markdown(page_of(report))


def test_rules_that_know_four_letters_stay_out_where_there_are_more(tmp_path: Path) -> None:
    options = tuple(f"{letter}. thing {letter}" for letter in "ABCDEF")
    report = reported(tmp_path / "run", ["C", "F"], options=options)
    assert {row.rule for row in report.rules} == {"careful", "lmms-eval", "omnievalkit", "vlmevalkit"}


def test_letters_are_counted_as_picked_and_as_right(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["A", "A", "A", "C"])
    letters = {row.letter: (row.picked, row.gold, row.correct) for row in report.letters}
    assert letters == {"A": (3, 2, 1), "B": (0, 0, 0), "C": (1, 2, 0), "D": (0, 0, 0)}
    assert report.chance == pytest.approx(0.25)


def test_a_model_that_knows_one_letter_is_named(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["A"] * 30)
    assert any(line.startswith("ONE LETTER: 30 of 30 answers are A") for line in status(report))
    assert not status(reported(tmp_path / "other", ["A", "C"] * 15))


def test_many_sick_replies_are_in_the_headline_and_few_are_in_a_table(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["A"] * 17 + ["", "", "?" * 40])
    assert status(report)[0] == "UNHEALTHY: 15.0 % of the replies (3/20): 2 empty, 1 repetition"
    markdown = to_markdown(page_of(report))
    assert markdown.index("## Unhealthy replies") < markdown.index("## Accuracy")
    few = reported(tmp_path / "few", ["A", "C"] * 15 + [""])
    assert few.unhealthy is not None
    assert few.unhealthy.correct == 1
    assert not status(few)
    assert "## Unhealthy replies" in to_markdown(page_of(few))


def test_the_floor_without_media_stands_beside_a_run_of_the_same_setting(tmp_path: Path) -> None:
    def run(name: str, **settings: Any) -> Run:
        return api.run("daily-omni", sample=True, backend="chance", out=tmp_path / name, **settings)

    whole = run("whole")
    run("floor", media="none", backend_seed=0)
    run("constrained", decode={"constrain": "choice"})
    run("other-plan", plan="uniform")
    run("two-things", media="none", plan="uniform")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    report = api.score(whole)
    assert {c.directory: c.name for c in report.companions} == {
        "floor": "without media: what the text alone gives away",
        "constrained": "constrained to a letter",
    }
    assert "what the text alone gives away" in (whole.directory / "report.md").read_text()
    stored = json.loads((whole.directory / "report.json").read_text())
    assert len(stored["companions"]) == 2
    floor = api.load_report(api.load_run(tmp_path / "floor"))
    assert floor.headline["media"] == "none"


def test_a_run_without_media_prepares_and_sends_none(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run = api.run("daily-omni", sample=True, backend="embedded", media="none", limit=3, cache_dir=cache, out=tmp_path / "run")  # fmt: skip
    assert api.load_report(run).official.total == 3
    assert not list(cache.rglob("*.jpg"))
