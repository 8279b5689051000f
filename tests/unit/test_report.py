"""A report counts every row once and shows hostile text as text."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.report.build import Report, build_report
from omnieval.report.markdown import to_markdown
from omnieval.report.pages import page_of
from omnieval.report.reference import Reference, ReferenceTable, load_references
from omnieval.report.tables import tables
from omnieval.report.terminal import show
from omnieval.runlog import PlannedSample, Run, RunWriter
from omnieval.scoring.choice import score_choices
from omnieval.types import FAILURE_KINDS, Failure, Response, Sample, Timing

RULE = "daily-omni-official"
OUTCOMES = ["correct", "wrong", "unparsed", "no_gold", "not selected", "not finished", *FAILURE_KINDS]


def reported(
    folder: Path, outcomes: list[str], references: ReferenceTable | None = None, **info: Any
) -> Report:
    """The report of a run whose row i ended as outcomes[i]; groups alternate over the rows."""
    planned, responses = [], []
    for i, outcome in enumerate(outcomes):
        problem = Failure("data", "row is broken") if outcome == "data" else None
        sample = Sample(
            f"s{i}", "daily-omni", "?", ("A. x", "B. y"), None if outcome == "no_gold" else "A",
            {"type": f"t{i % 3}", "duration": "30s" if i % 2 else "60s"}, f"v{i // 2}", {}, i, problem,
        )  # fmt: skip
        planned.append(PlannedSample(sample, selected=outcome != "not selected"))
        text = {"correct": "A", "wrong": "B", "unparsed": "?"}.get(outcome)
        if text is not None:
            responses.append(Response(sample.id, text=text, timing=Timing(0.0, 0.1, (0.1,), 0.2)))
        elif outcome in FAILURE_KINDS and outcome != "data":
            responses.append(
                Response(sample.id, error=Failure(outcome, f"{outcome} happened", hint="mend it"))
            )
    content = {
        "config": {"recipe": "daily-omni", "benchmark": "daily-omni", "backend": "b", "model": "m", "plan": "minicpm"},
        "recipe_hash": "h", "headline": {"plan": "minicpm"}, "group_keys": ["type", "duration"],
        "dataset": {"fingerprint": "f", "notes": ["a note"], "selected": len(outcomes), "rows": len(outcomes)},
        "server": {"model": "m", "version": None}, "started": "now", "versions": {"omnieval": "0"}, **info,
    }  # fmt: skip
    with RunWriter.begin(folder, content, planned) as writer:
        for response in responses:
            writer.add_response(response)
        writer.add_event("media", sample_id="s0", notes=["mended"])
    run = Run.load(folder)
    last = run.last_responses()
    return _reported(run, last, references)


def _reported(run: Run, last: Mapping[str, Response], references: ReferenceTable | None = None) -> Report:
    planned = list(run.samples())
    scores = score_choices(run, planned, last, rule=RULE)
    return build_report(run, planned, scores, last, references, parser=RULE)


@given(outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=40))
def test_every_row_is_counted_once_and_groups_add_up(
    outcomes: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    report = reported(tmp_path_factory.mktemp("run") / "run", outcomes)
    count = Counter(outcomes)
    assert sum(line.count for line in report.accounting) == report.rows == len(outcomes)
    answered = count["correct"] + count["wrong"] + count["unparsed"]
    assert (report.official.correct, report.official.total) == (count["correct"], answered)
    strict = len(outcomes) - count["no_gold"] - count["not selected"]
    assert (report.strict.correct, report.strict.total) == (count["correct"], strict)
    assert report.complete == (count["not finished"] == 0)
    assert sum(row.count for row in report.failures) == sum(count[kind] for kind in FAILURE_KINDS)
    for rows in report.groups.values():
        for name in ("official", "strict"):
            whole = getattr(report, name)
            assert sum(getattr(row, name).correct for row in rows) == whole.correct
            assert sum(getattr(row, name).total for row in rows) == whole.total


def test_official_and_strict_differ_by_what_failed(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["correct"] * 6 + ["wrong"] * 2 + ["unparsed"] + ["timeout"] * 3)
    assert report.official.value == pytest.approx(6 / 9)
    assert report.strict.value == pytest.approx(6 / 12)
    assert report.official.low is not None
    assert report.official.high is not None
    assert report.official.low < 6 / 9 < report.official.high
    (failure,) = report.failures
    assert (failure.kind, failure.count, failure.hint) == ("timeout", 3, "mend it")
    assert failure.sample_ids == ("s9", "s10", "s11")


def test_nothing_answered_is_no_accuracy_and_not_zero(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["server", "no_gold"])
    assert report.official.value is None
    assert report.strict.value == 0.0
    assert "- (0/0)" in to_markdown(page_of(report))


def test_latency_counts_answers_only_and_missing_is_missing(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["correct", "wrong", "server"])
    assert {name: figure.count for name, figure in report.latency.items()} == {
        "ttft_s": 2,
        "itl_s": 2,
        "e2e_s": 2,
    }
    assert report.latency["e2e_s"].median == pytest.approx(0.2)
    assert reported(tmp_path / "other", ["server"]).latency == {}


def test_references_stand_beside_the_run_or_say_why_not(tmp_path: Path) -> None:
    same = Reference("same", 0.5, 1, 2, {"plan": "minicpm"}, {"type": {"t0": (1, 2)}})
    other = Reference("other", 0.6, None, None, {"plan": "omnievalkit"}, {})
    untold = Reference("untold", 0.7, None, None, {}, {})
    table = ReferenceTable((2,), (same, other, untold))
    report = reported(tmp_path / "a", ["correct", "wrong"], table)
    assert [row.caveat for row in report.references] == [
        None, "measured with plan omnievalkit", "its setting was not published",
    ]  # fmt: skip
    assert report.groups["type"][0].reference == (1, 2)
    assert "50.00 % (1/2)" in to_markdown(page_of(report))
    another = reported(tmp_path / "b", ["correct"], table)
    assert another.references[0].caveat == "another data set (2 questions, here 1)"
    part = {"fingerprint": "f", "notes": [], "selected": 1, "rows": 2}
    partial = reported(tmp_path / "c", ["correct", "not selected"], table, dataset=part)
    assert partial.references[0].caveat == "this run asks a part of the set"


def test_notes_of_data_and_media_are_repeated(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["correct"])
    assert report.notes == ("a note", "mended (1 sample, for example s0)")


HOSTILE = "[red]x[/red] | <script>alert(1)</script>\n# head `code` **bold** \x1b[31m"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    notes = {"fingerprint": "f", "notes": [HOSTILE], "selected": 1, "rows": 1}
    report = reported(tmp_path / "run", ["correct"], dataset=notes, headline={"plan": HOSTILE})
    markdown = to_markdown(page_of(report))
    assert "<script>" not in markdown
    assert "\n# head" not in markdown
    assert len({line.count(" | ") for line in markdown.splitlines() if line.startswith("| type")}) <= 1
    from rich.console import Console

    out = io.StringIO()
    show(page_of(report), Console(file=out, width=200, force_terminal=False))
    assert "[red]x[/red]" in out.getvalue()
    assert "\x1b[31m" not in out.getvalue()


def test_tables_without_rows_are_left_out(tmp_path: Path) -> None:
    titles = [table.title for table in tables(reported(tmp_path / "run", ["correct"]))]
    assert "Failures" not in titles
    assert "Reference results" not in titles
    assert titles[:2] == ["Accuracy", "Every row of the data set"]


def test_the_bundled_reference_is_read(tmp_path: Path) -> None:
    report = reported(tmp_path / "run", ["correct"], load_references("daily-omni"))
    assert report.references[0].correct == 937


def failed(folder: Path, failures: list[Failure]) -> Report:
    planned, responses = [], []
    for i, failure in enumerate(failures):
        planned.append(PlannedSample(Sample(f"s{i}", "b", "?", ("x", "y"), "A", {}, f"v{i}", {}, i), True))
        responses.append(Response(f"s{i}", error=failure))
    content = {
        "config": {"recipe": "mcq", "benchmark": "mcq", "backend": "b", "model": "m"}, "recipe_hash": "h",
        "headline": {}, "group_keys": [], "server": {}, "started": "now", "versions": {"omnieval": "0"},
        "dataset": {"fingerprint": "f", "notes": [], "rows": len(failures)},
    }  # fmt: skip
    with RunWriter.begin(folder, content, planned) as writer:
        for response in responses:
            writer.add_response(response)
    run = Run.load(folder)
    last = run.last_responses()
    return _reported(run, last)


def test_failures_of_one_kind_are_told_by_their_different_reasons(tmp_path: Path) -> None:
    texts = [f"/data/v{i}.mp4: the file is empty" for i in range(50)]
    texts += ["/data/v50.mp4: cannot be decoded", "/x/y.png: not a file", "sample s53: odd", "strange"]
    report = failed(tmp_path / "run", [Failure("media", text, hint="fetch it again") for text in texts])
    (row,) = report.failures
    assert (row.count, row.reasons) == (54, 5)
    assert row.message == texts[0]
    assert row.others == (f"{texts[50]} (fetch it again)", f"{texts[51]} (fetch it again)")
    (table,) = (table for table in tables(report) if table.title == "Failures")
    assert table.rows[0][2] == (
        f"{texts[0]} (fetch it again) · {texts[50]} (fetch it again) · {texts[51]} (fetch it again) · "
        "and 2 other reasons"
    )


def test_control_characters_reach_neither_the_markdown_nor_the_terminal(tmp_path: Path) -> None:
    from rich.console import Console

    steering = "a\x1b[31mb\x9b2Jc\x07\u202ed\x00"
    notes = {"fingerprint": "f", "notes": [steering], "selected": 1, "rows": 1}
    report = reported(tmp_path / "run", ["correct"], dataset=notes, headline={"plan": steering}, group_keys=[steering])  # fmt: skip
    out = io.StringIO()
    show(page_of(report), Console(file=out, width=200, force_terminal=False))
    for text in (to_markdown(page_of(report)), out.getvalue()):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "b\ufffd2Jc\ufffd\ufffdd\ufffd" in text
    assert report.notes[0] == steering


def test_a_group_of_very_many_values_shows_the_first(tmp_path: Path) -> None:
    planned = [
        PlannedSample(Sample(f"s{i}", "b", "?", ("x", "y"), "A", {"type": f"t{i:03}"}, "c", {}, i), True)
        for i in range(150)
    ]
    content = {
        "config": {"recipe": "mcq", "benchmark": "mcq", "backend": "b", "model": "m"}, "recipe_hash": "h",
        "headline": {}, "group_keys": ["type"], "server": {}, "started": "now", "versions": {"omnieval": "0"},
        "dataset": {"fingerprint": "f", "notes": [], "rows": 150},
    }  # fmt: skip
    RunWriter.begin(tmp_path / "run", content, planned).close()
    run = Run.load(tmp_path / "run")
    report = _reported(run, {})
    assert len(report.groups["type"]) == 150
    (table,) = (table for table in tables(report) if table.title.startswith("By type"))
    assert len(table.rows) == 100
    assert table.title == "By type (the first 100 of 150; all are in report.json)"


def test_intervals_allow_for_questions_that_share_a_video(tmp_path: Path) -> None:
    # Both questions of a video end alike, so that they tell as much as one.
    alike = reported(tmp_path / "run", ["correct", "correct", "wrong", "wrong"] * 50)
    clustered = alike.official.clustered
    assert clustered is not None
    assert clustered.clusters == 100
    assert clustered.effective == pytest.approx(100, rel=0.05)
    assert alike.official.low is not None
    assert clustered.low < alike.official.low
    (table,) = (table for table in tables(alike) if table.title == "Accuracy")
    assert table.rows[0] == (
        "official: answered questions", "50.00 % (100/200)", "40.2 to 59.8", "43.1 to 56.9"
    )  # fmt: skip
    assert [row.official.clustered is None for row in alike.groups["duration"]] == [True, True]
