"""A run that ends once its gate is decided says so, is judged by what it decided, and can ask the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from omnieval import api
from omnieval.errors import ConfigError
from omnieval.report.build import Report
from omnieval.report.markdown import to_markdown
from omnieval.report.pages import page_of
from omnieval.runlog import Run
from omnieval.scoring.early import EarlyLine, EarlyPlan, Tally, asking_order
from omnieval.types import Failure, Sample, Score
from tests.command import omnieval

LINES = ("accuracy >= 0.8", "coverage == 1.0", "unhealthy <= 0.01", "rows == 23")


def gate_file(folder: Path, *lines: str) -> Path:
    path = folder / "gate.yaml"
    path.write_text("".join(f"- {line}\n" for line in lines))
    return path


def ended(folder: Path, cache: Path, **settings: Any) -> Run:
    """Guesses at 23 questions of 8 videos, which surely miss 80 %."""
    given = {"gate": str(gate_file(folder, *LINES)), "stop_when": "gate", "concurrency": 1, **settings}
    return api.run("daily-omni", sample=True, backend="chance", cache_dir=cache, out=folder / "run", **given)


def choice_report(run: Run) -> Report:
    report = api.load_report(run)
    assert isinstance(report, Report)
    return report


def test_a_run_ends_when_its_line_is_decided_and_says_that_it_is_partial(
    tmp_path: Path, cache_dir: Path
) -> None:
    run = ended(tmp_path, cache_dir)
    report = choice_report(run)
    early = report.early
    assert early is not None
    assert (early.ended, early.questions, early.error) == (True, 23, 0.025)
    assert early.counted <= early.asked < 23
    assert sum(count.count for count in report.accounting) == report.rows == 23
    assert {count.label: count.count for count in report.accounting}[
        "not asked: ended early"
    ] == 23 - early.asked
    assert report.strict.total == early.asked
    page = page_of(report)
    told = f"PARTIAL: ended after {early.asked} of 23 questions ({23 - early.asked} saved)"
    assert page.warnings[0].startswith(told)
    assert "at most 2.5 %" in page.warnings[0]
    assert "PARTIAL" in (run.directory / "report.md").read_text() == to_markdown(page)
    planned = asking_order([planned.sample for planned in run.samples()], early.seed)
    assert [response.sample_id for response in run.responses()] == [s.id for s in planned[: early.asked]]


def test_the_order_is_drawn_anew_by_every_seed_and_keeps_videos_whole() -> None:
    samples = [Sample(f"s{i}", "b", "?", (), "A", {}, f"v{i // 3}", {}, i) for i in range(30)]
    firsts = []
    for seed in range(400):
        order = asking_order(samples, seed)
        assert sorted(sample.row for sample in order) == list(range(30))
        assert [sample.row % 3 for sample in order] == [0, 1, 2] * 10
        firsts.append(order[0].cluster)
    most = binom.ppf(0.9999, 400, 0.1)
    assert {firsts.count(f"v{i}") <= most for i in range(10)} == {True}


def test_its_gate_goes_by_the_sequence_and_what_is_open_stays_so(tmp_path: Path, cache_dir: Path) -> None:
    run = ended(tmp_path, cache_dir)
    result = api.gate(run.directory)
    assert {line.text: line.verdict for line in result.lines} == dict(
        zip(LINES, ["fail", "pass", "undecided", "pass"], strict=True)
    )
    early = choice_report(run).early
    assert early is not None
    assert (result.lines[0].low, result.lines[0].high) == early.accuracy
    assert "surely misses the line (wrong with a chance of at most 2.5 %)" in result.lines[0].reason
    others = gate_file(tmp_path, "accuracy >= 0.3 by value", "accuracy >= 0.99", "unhealthy <= 0.01 by value")
    verdicts = [line.verdict for line in api.gate(run.directory, others).lines]
    assert verdicts == ["undecided", "fail", "pass"]


def test_what_was_decided_stays_and_the_rest_can_be_asked(tmp_path: Path, cache_dir: Path) -> None:
    run = ended(tmp_path, cache_dir)
    before = (run.directory / "responses.jsonl").read_bytes()
    gate_file(
        tmp_path, "accuracy >= 0.1"
    )  # changed on the way: the run keeps the lines that it was begun with
    again = api.resume(run.directory)
    assert (again.directory / "responses.jsonl").read_bytes() == before
    early = choice_report(again).early
    assert early is not None
    assert [line.text for line in early.lines] == [LINES[0], LINES[2]]
    whole = choice_report(api.resume(run.directory, stop_when=None))
    assert (whole.early, whole.complete, whole.official.total) == (None, True, 23)
    assert "PARTIAL" not in (run.directory / "report.md").read_text()
    assert api.gate(run.directory, gate_file(tmp_path, "coverage == 1.0", "rows == 23")).verdict == "pass"


def test_a_comparison_warns_of_it(tmp_path: Path, cache_dir: Path) -> None:
    run = ended(tmp_path, cache_dir)
    full = api.run(
        "daily-omni",
        sample=True,
        backend="chance",
        cache_dir=cache_dir,
        out=tmp_path / "full",
        backend_seed=1,
    )
    (comparison,) = api.compare(full.directory, run.directory)
    assert any(line.startswith("PARTIAL: run ended early") for line in comparison.warnings)
    assert comparison.questions == choice_report(run).strict.total


@pytest.mark.parametrize(
    ("recipe", "settings", "told"),
    [
        ("daily-omni", {"gate": None}, "name it with --gate"),
        ("daily-omni", {"gate_lines": ("coverage == 1.0",)}, "no line on accuracy, strict or unhealthy"),
        ("seed-tts-en", {}, "spoken answers are heard after the run"),
    ],
)
def test_what_cannot_be_decided_early_is_refused(
    recipe: str, settings: dict[str, Any], told: str, tmp_path: Path, cache_dir: Path
) -> None:
    lines = settings.pop("gate_lines", LINES)
    given = {"gate": str(gate_file(tmp_path, *lines)), "stop_when": "gate", **settings}
    with pytest.raises(ConfigError, match=told):
        api.run(recipe, sample=True, backend="chance", cache_dir=cache_dir, out=tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_a_run_that_was_begun_without_it_cannot_end_early(tmp_path: Path, cache_dir: Path) -> None:
    run = ended(tmp_path, cache_dir, stop_when=None, limit=2)
    with pytest.raises(ConfigError, match="begun without --stop-when gate"):
        api.resume(run.directory, stop_when="gate")


def test_the_command_says_what_it_saved(tmp_path: Path, cache_dir: Path) -> None:
    gate = gate_file(tmp_path, *LINES)
    done = omnieval(
        "run", "daily-omni", "--sample", "--backend", "chance", "--cache-dir", cache_dir, "--out",
        tmp_path / "run", "--gate", gate, "--stop-when", "gate", "--concurrency", "2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ended early: the gate is decided" in done.stdout
    assert "PARTIAL: ended after" in done.stdout
    assert json.loads((tmp_path / "run" / "run.json").read_text())["early"]["lines"][0]["text"] == LINES[0]
    assert omnieval("gate", tmp_path / "run").returncode == 1


def sample(name: str, video: str, **more: Any) -> Sample:
    return Sample(name, "b", "?", ("A. x", "B. y"), "A", {}, video, {}, 0, **more)


def tally(samples: list[Sample], **plan: Any) -> Tally:
    return Tally(
        EarlyPlan("g", (EarlyLine("accuracy >= 0.5", "accuracy", ">=", 0.5),), seed=0, **plan), samples
    )


def test_only_whole_videos_before_the_first_open_one_count() -> None:
    samples = asking_order([sample(f"{video}{i}", video) for video in "abcdef" for i in range(2)], 0)
    found = tally(samples)
    for later in samples[4:]:
        found.add(Score(later.id, "correct"))
    assert found.whole == (0, 0), "what ended first does not count before what was asked first"
    found.add(Score(samples[0].id, "correct"))
    found.add(Score(samples[1].id, "wrong"))
    assert found.whole == (1, 2)
    found.add(Score(samples[2].id, "failed"))
    found.add(Score(samples[3].id, "correct"))
    assert found.whole == (6, 12)
    assert found.interval("strict") == pytest.approx((10 / 12, 10 / 12), abs=1e-6)
    assert found.interval("accuracy") == pytest.approx((10 / 11, 10 / 11), abs=1e-6)
    assert found.verdicts() == {"accuracy >= 0.5": "pass"}


def test_a_question_of_several_orders_is_right_only_if_all_are_and_rows_count_as_they_stand() -> None:
    samples = [
        sample("q-0", "v", origin="q"), sample("q-1", "v", origin="q"), sample("r-0", "w", origin="r"),
        sample("lost", "x", problem=Failure("data", "no options")),
    ]  # fmt: skip
    found = tally(samples)
    for name, outcome in (("q-0", "correct"), ("q-1", "wrong"), ("r-0", "correct")):
        found.add(Score(name, outcome))  # type: ignore[arg-type]
    assert found.whole == (3, 3)
    assert found.interval("strict") == pytest.approx((1 / 3, 1 / 3), abs=1e-6)
    assert found.interval("accuracy") == pytest.approx((1 / 2, 1 / 2), abs=1e-6)


def decided_after(flags: dict[int, tuple[str, ...]], samples: int = 1200) -> tuple[int, dict[str, str]]:
    """Every answer is right; after how many of them the gate is decided, and how."""
    lines = (
        EarlyLine("accuracy >= 0.775", "accuracy", ">=", 0.775),
        EarlyLine("unhealthy <= 0.01", "unhealthy", "<=", 0.01),
    )
    asked = [sample(f"q{index}", f"v{index}") for index in range(samples)]
    found = Tally(EarlyPlan("g", lines, seed=0), asked)
    for count, one in enumerate(asking_order(asked, 0), start=1):
        found.add(Score(one.id, "correct", flags=flags.get(count, ())))
        if found.decided():
            return count, dict(found.verdicts())
    return samples, dict(found.verdicts())


def test_a_gate_on_accuracy_and_health_passes_before_all_is_asked() -> None:
    count, verdicts = decided_after({})
    assert verdicts == {"accuracy >= 0.775": "pass", "unhealthy <= 0.01": "pass"}
    assert 200 < count < 500
    alike, _ = decided_after(dict.fromkeys(range(1, 1201), ("identical",)))
    assert alike == count, "which replies are alike is not known on the way"


def test_a_missed_line_ends_it_while_others_are_open() -> None:
    count, verdicts = decided_after(dict.fromkeys(range(1, 1201), ("empty",)))
    assert verdicts == {"unhealthy <= 0.01": "fail"} and count < 20


def test_a_partial_answer_that_failed_is_no_unhealthy_reply() -> None:
    lines = (EarlyLine("unhealthy <= 0.01", "unhealthy", "<=", 0.01),)
    found = Tally(EarlyPlan("g", lines, seed=0), [sample("a", "v"), sample("b", "w")])
    found.add(Score("a", "failed", flags=("cut",)))
    found.add(Score("b", "correct"))
    assert found.verdicts() == {"unhealthy <= 0.01": "pass"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "sick", "error"),
    [(927, 5, 0.025), (1100, 12, 0.025), (928, 11, 0.05)],
    ids=["inaccurate", "unhealthy", "met"],
)
def test_a_gate_beside_its_lines_errs_no_more_often_than_it_says(right: int, sick: int, error: float) -> None:
    """1 197 questions of 684 videos, of which the gate wants 928 right and no more than 11 unhealthy. Passing
    wrongly takes one line's error, since all must pass; failing wrongly may come of either."""
    rng, runs, errors = np.random.default_rng(right + sick), 120, 0
    lines = (
        EarlyLine("accuracy >= 0.775", "accuracy", ">=", 0.775),
        EarlyLine("unhealthy <= 0.01", "unhealthy", "<=", 0.01),
    )
    met = right >= 928 and sick <= 11
    asked = [sample(f"q{i}", f"v{i % 684}") for i in range(1197)]
    for seed in range(runs):
        correct = set(rng.permutation(1197)[:right].tolist())
        unhealthy = set(rng.permutation(1197)[:sick].tolist())
        found = Tally(EarlyPlan("g", lines, seed), asked)
        for one in asking_order(asked, seed):
            number = int(one.id[1:])
            flags = ("empty",) if number in unhealthy else ()
            found.add(Score(one.id, "correct" if number in correct else "wrong", flags=flags))
            if found.decided():
                break
        verdicts = list(found.verdicts().values())
        errors += "fail" in verdicts if met else verdicts == ["pass", "pass"]
    assert errors <= binom.ppf(0.999, runs, error)
