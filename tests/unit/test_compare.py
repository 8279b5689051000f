"""Runs of one data set are compared question by question, and nothing is compared that must not be."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from omnieval import api
from omnieval.errors import ConfigError, ScoringError
from omnieval.report.compare import Comparison, comparison_page, comparisons_markdown
from omnieval.report.html import comparisons_html
from omnieval.report.terminal import show
from omnieval.runlog import Run
from omnieval.runlog.store import SCORES
from omnieval.stats import holm
from omnieval.types import Timing
from tests.runs import choice_run, speech_run

GOLDEN = Path(__file__).parent / "golden"


def compared(folder: Path, first: list[str], second: list[str], **config: str) -> Comparison:
    choice_run(folder / "a", first)
    choice_run(folder / "b", second, **config)
    (comparison,) = api.compare(folder / "a", folder / "b")
    return comparison


def test_every_question_goes_into_one_of_four_cells(tmp_path: Path) -> None:
    first = ["correct", "correct", "wrong", "wrong", "unparsed", "timeout", "correct", "not selected"]
    second = ["correct", "wrong", "correct", "wrong", "correct", "correct", "timeout", "correct"]
    found = compared(tmp_path, first, second)
    choice = found.choice
    assert choice is not None
    assert choice.official.paired is not None
    assert choice.strict.paired is not None
    assert (choice.official.first.correct, choice.official.second.correct) == (2, 3)
    assert (choice.official.paired.count, choice.official.paired.gained, choice.official.paired.lost) == (
        5,
        2,
        1,
    )
    assert (choice.strict.paired.count, choice.strict.paired.gained, choice.strict.paired.lost) == (7, 3, 2)
    assert [(flip.sample_id, flip.first, flip.second) for flip in choice.lost] == [
        ("s1", "A", "B"), ("s6", "A", "failed: timeout"),
    ]  # fmt: skip
    assert [(flip.sample_id, flip.first, flip.second) for flip in choice.gained] == [
        ("s2", "B", "A"), ("s4", "no letter", "A"), ("s5", "failed: timeout", "A"),
    ]  # fmt: skip
    assert (found.questions, found.only_first, found.only_second) == (7, 0, 1)
    assert any("1 question that one run alone asks is left out" in line for line in found.warnings)


def test_groups_add_up_and_their_p_values_are_raised_together(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    first = random.choice(["correct", "wrong"], 300).tolist()
    second = ["correct" if i % 3 == 0 else outcome for i, outcome in enumerate(first)]
    choice = compared(tmp_path, first, second).choice
    assert choice is not None
    groups = choice.groups["type"]
    assert sum(change.first.total for change in groups.values()) == 300
    assert choice.official.paired is not None
    assert (
        sum(change.paired.gained for change in groups.values() if change.paired)
        == choice.official.paired.gained
    )
    better = groups["t0"]
    assert better.paired is not None
    assert better.p_adjusted == pytest.approx(min(1, 3 * better.paired.p_value), abs=0)
    assert better.p_adjusted < 0.001
    assert groups["t1"].p_adjusted == 1


def test_equal_runs_differ_in_nothing_and_the_interval_says_how_little_is_known(tmp_path: Path) -> None:
    outcomes = ["correct", "wrong"] * 20
    choice = compared(tmp_path, outcomes, outcomes).choice
    assert choice is not None
    paired = choice.official.paired
    assert paired is not None
    assert (paired.difference, paired.p_value, choice.lost, choice.gained) == (0, 1, (), ())
    assert paired.low < 0 < paired.high
    assert choice.visible is None


@pytest.mark.parametrize("same", ["the folder again", "a link to it", "a folder of it alone"])
def test_a_run_beside_itself_is_said_to_be_one(tmp_path: Path, same: str) -> None:
    choice_run(tmp_path / "a", ["correct", "wrong"])
    (tmp_path / "alone").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "alone" / "1").symlink_to(tmp_path / "a")
    other = {"the folder again": "a", "a link to it": "link", "a folder of it alone": "alone"}[same]
    (found,) = api.compare(tmp_path / "a", tmp_path / other)
    assert found.warnings == (
        "ONE RUN: A and B are the same directory, so that no answer can differ; name another run",
    )
    assert found.warnings[0] in comparisons_markdown([found])


def test_what_was_measured_differently_is_listed(tmp_path: Path) -> None:
    found = compared(tmp_path, ["correct"], ["correct"], plan="omnievalkit", model="n")
    assert [(s.key, s.first, s.second, s.expected) for s in found.settings] == [
        ("plan", '"minicpm"', '"omnievalkit"', False),
        ("model", '"m"', '"n"', True),
        ("server.model", '"m"', '"n"', True),
    ]
    assert found.warnings == ("MEASURED DIFFERENTLY: plan; the differences below are not the model's alone",)


def test_other_data_other_benchmarks_and_other_kinds_are_refused(tmp_path: Path) -> None:
    choice_run(tmp_path / "a", ["correct"])
    choice_run(tmp_path / "data", ["correct"], fingerprint="g")
    choice_run(tmp_path / "benchmark", ["correct"], benchmark="video-mme")
    speech_run(tmp_path / "kind", [{"wer": 0.1}])
    for name, words in {
        "data": "different data",
        "benchmark": "benchmark daily-omni",
        "kind": "speech run",
    }.items():
        with pytest.raises(ConfigError, match=words):
            api.compare(tmp_path / "a", tmp_path / name)
    with pytest.raises(ScoringError, match="not a run directory"):
        api.compare(tmp_path / "a", tmp_path / "nothing")


@pytest.mark.parametrize(
    ("flips", "told"),
    [
        (["wrong", "correct"], "3 questions are too few to show any difference with a power of 80 %"),
        (["wrong", "correct"] * 20, "41 questions that change as often as these show a difference of"),
    ],
)
def test_what_so_few_questions_can_show_is_told_while_it_is_possible(
    tmp_path: Path, flips: list[str], told: str
) -> None:
    found = compared(tmp_path, ["correct", *flips], ["correct", *reversed(flips)])
    assert told in " ".join(comparison_page(found).notes)


def test_runs_scored_by_two_parsers_are_read_by_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        choice_run(tmp_path / name, ["read otherwise", "correct", "wrong"])
    api.score(api.load_run(tmp_path / "b"), parser="careful")
    (found,) = api.compare(tmp_path / "a", tmp_path / "b")
    assert found.choice is not None
    assert found.choice.parser == "daily-omni-official"
    assert found.choice.official.first == found.choice.official.second
    assert found.warnings == ("b was scored by the parser careful, and is read by daily-omni-official here",)
    (careful,) = api.compare(tmp_path / "a", tmp_path / "b", parser="careful")
    assert careful.choice is not None
    assert careful.choice.parser == "careful"
    assert careful.choice.official.first.correct == careful.choice.official.second.correct == 2
    with pytest.raises(ConfigError, match="did you mean 'careful'"):
        api.compare(tmp_path / "a", tmp_path / "b", parser="carefull")


def test_a_run_without_scores_says_what_to_do(tmp_path: Path) -> None:
    choice_run(tmp_path / "a", ["correct", "wrong"])
    run = choice_run(tmp_path / "b", ["correct", "wrong"])
    scores = run.directory / SCORES
    scores.write_bytes(scores.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ScoringError, match="run `omnieval score` on it"):
        api.compare(tmp_path / "a", tmp_path / "b")


def test_a_run_that_has_not_ended_is_named_above_the_figures(tmp_path: Path) -> None:
    choice_run(tmp_path / "a", ["correct", "wrong"])
    run = choice_run(tmp_path / "b", ["correct", "wrong"])
    log = run.directory / "responses.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    api.score(api.load_run(run.directory))
    (found,) = api.compare(tmp_path / "a", tmp_path / "b")
    assert found.warnings == ("INCOMPLETE: b has not ended",)
    assert found.choice is not None
    assert (found.choice.official.second.total, found.choice.strict.second.total) == (1, 2)


def test_questions_asked_in_every_order_count_once(tmp_path: Path) -> None:
    first = choice_run(tmp_path / "a", ["correct", "wrong"])
    lines = (first.directory / "samples.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        row["sample"]["origin"] = "q"
    (first.directory / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (found,) = api.compare(tmp_path / "a", tmp_path / "a")
    assert found.choice is not None
    assert (found.choice.official.first.correct, found.choice.official.first.total) == (0, 1)


def wers(count: int, seed: int) -> list[dict[str, float]]:
    random = np.random.default_rng(seed)
    rates = random.gamma(1, 0.02, count).round(4)
    return [{"wer": float(rate), "sim[wavlm-sv]": 0.7 + float(rate)} for rate in rates]


def test_word_errors_and_voices_are_compared_utterance_by_utterance(tmp_path: Path) -> None:
    first = wers(200, 0)
    second = [{"wer": row["wer"] + 0.01, "sim[wavlm-sv]": row["sim[wavlm-sv]"]} for row in first]
    speech_run(tmp_path / "a", [*first, {"wer": 0.5, "sim[wavlm-sv]": 0.1}, "timeout"])
    speech_run(tmp_path / "b", [*second, "timeout", {"wer": 0.5, "sim[wavlm-sv]": 0.1}])
    (found,) = api.compare(tmp_path / "a", tmp_path / "b")
    speech = found.speech
    assert speech is not None
    wer, similarity = speech.means["wer"], speech.means["sim[wavlm-sv]"]
    assert (wer.paired.count, wer.paired.mean) == (200, pytest.approx(0.01))
    assert wer.paired.p_value is not None
    assert wer.paired.p_value < 0.01
    assert (similarity.paired.mean, similarity.paired.p_value) == (0, 1)
    assert len(speech.changed) == 200
    assert speech.changed[0].first_heard == f"heard {speech.changed[0].sample_id[1:]}"
    assert speech.refused == ()


def in_groups(run: Run, key: str, values: Sequence[str]) -> None:
    """Give the samples of a run these values of a group, in turn."""
    for name in ("run.json", "samples.jsonl"):
        path = run.directory / name
        lines = [json.loads(line) for line in path.read_text().splitlines()] if name != "run.json" else [
            json.loads(path.read_text()) | {"group_keys": [key]}
        ]  # fmt: skip
        for i, line in enumerate(lines if name != "run.json" else []):
            line["sample"]["groups"] = {key: values[i % len(values)]}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_groups_of_speech_add_up_and_one_too_small_to_test_raises_no_others(tmp_path: Path) -> None:
    for name, more in (("a", 0.0), ("b", 0.01)):
        run = speech_run(
            tmp_path / name,
            [row | {"wer": row["wer"] + (more if i % 2 else 0.0)} for i, row in enumerate(wers(45, 0))],
        )
        in_groups(run, "accent", ["x", "y", "x", "y", "x", "y", "x", "y", "z"])
    (found,) = api.compare(tmp_path / "a", tmp_path / "b")
    assert found.speech is not None
    groups = found.speech.groups["accent"]["wer"]
    assert {value: change.paired.count for value, change in groups.items()} == {"x": 20, "y": 20, "z": 5}
    assert groups["z"].paired.p_value is None
    assert groups["z"].p_adjusted is None
    for value in ("x", "y"):
        assert groups[value].paired.p_value is not None
    raised = [groups[value].p_adjusted for value in ("x", "y")]
    assert raised == pytest.approx(holm([groups[value].paired.p_value or 0.0 for value in ("x", "y")]))
    assert "- | - |" in comparisons_markdown([found]), "a group too small shows neither interval nor p-value"


@pytest.mark.parametrize(
    ("count", "told"), [(9, "too few voices for an interval"), (20, "all pairs differ alike")]
)
def test_the_page_says_why_there_is_no_interval(tmp_path: Path, count: int, told: str) -> None:
    places = (tmp_path / "a", tmp_path / "b")
    for place in places:
        speech_run(place, wers(count, 0))
    page = comparisons_html(api.compare(*places), [places], folder=tmp_path)
    reasons = ("too few voices for an interval", "all pairs differ alike")
    assert [reason for reason in reasons if reason in page] == [told]


def test_figures_of_other_judges_are_refused_by_name_and_the_others_compared(tmp_path: Path) -> None:
    speech_run(tmp_path / "a", wers(20, 0))
    speech_run(tmp_path / "encoder", [{"wer": 0.1, "sim[ge2e]": 0.9}] * 20, encoder="ge2e")
    speech_run(tmp_path / "recogniser", wers(20, 0), recogniser="whisper")
    speech_run(tmp_path / "unheard", [{"sim[wavlm-sv]": 0.7}] * 20, recogniser=None)
    speech_run(tmp_path / "small", wers(20, 0), size="2 layers of 16")
    expected = {
        "encoder": (["wer"], "SIM was compared by wavlm-sv of 24 layers of 1024 and by ge2e"),
        "small": (["wer"], "SIM was compared by wavlm-sv of 24 layers of 1024 and by wavlm-sv of 2 layers"),
        "recogniser": (["sim[wavlm-sv]"], "WER was heard by whisper-hf and by whisper"),
        "unheard": (["sim[wavlm-sv]"], "WER was not measured in the second run"),
    }
    for name, (kept, reason) in expected.items():
        (found,) = api.compare(tmp_path / "a", tmp_path / name)
        assert found.speech is not None
        assert list(found.speech.means) == kept
        assert found.refused[0].startswith(reason)
        assert found.warnings[0].startswith("NOT COMPARED: ")


def test_latencies_of_single_runs_are_noise_or_undecided(tmp_path: Path) -> None:
    for name, rtf in {"a": 0.40, "b": 0.41, "c": 0.60}.items():
        speech_run(tmp_path / name, wers(5, 0), rtf=rtf)
    near, far = api.compare(tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert {row.figure for row in near.latency} == {"ttfp_s", "rtf"}
    assert [row.change.verdict for row in near.latency if row.figure == "rtf"] == ["noise"] * 2
    assert [row.change.verdict for row in far.latency if row.figure == "rtf"] == ["undecided"] * 2


def test_a_folder_of_repetitions_counts_by_its_medians_and_a_cold_start_apart(tmp_path: Path) -> None:
    for side, times in {"old": [9.0, 0.30, 0.31, 0.32], "new": [9.0, 0.40, 0.42, 0.41]}.items():
        for i, e2e in enumerate(times):
            started = f"2026-12-01T1{i}:00:00"
            choice_run(
                tmp_path / side / f"r{i}", ["correct", "wrong"], timing=Timing(e2e_s=e2e), started=started
            )
    (found,) = api.compare(tmp_path / "old", tmp_path / "new")
    median = found.latency[0].change
    assert (median.first, median.second, median.first_runs, median.verdict) == (0.31, 0.41, 3, "real")
    for i, e2e in enumerate([0.9, 0.30, 0.31, 0.32, 0.33]):
        choice_run(
            tmp_path / "warm" / f"r{i}", ["correct", "wrong"], timing=Timing(e2e_s=e2e),
            started=f"2026-12-01T1{i}:00:00", warmup=2,
        )  # fmt: skip
    (warm,) = api.compare(tmp_path / "old", tmp_path / "warm")
    counted = warm.latency[0].change
    assert (counted.second, counted.second_runs) == (0.32, 5), (
        "after warm-up requests the first run counts too"
    )
    choice_run(tmp_path / "mixed" / "r0", ["correct"])
    choice_run(tmp_path / "mixed" / "r1", ["correct"], fingerprint="g")
    with pytest.raises(ConfigError, match="r0 and r1 are not repetitions"):
        api.compare(tmp_path / "old", tmp_path / "mixed")


def test_the_page_is_as_it_was(tmp_path: Path) -> None:
    first = (["correct"] * 6 + ["wrong"] * 3 + ["unparsed", "timeout", "wrong"]) * 3
    second = (["correct"] * 4 + ["wrong"] * 2 + ["correct"] * 3 + ["wrong", "correct", "timeout"]) * 3
    found = compared(tmp_path, first, second, model="n", plan="omnievalkit")
    assert comparisons_markdown([found]) == (GOLDEN / "compare.md").read_text()


def test_no_word_of_a_group_is_cut_on_a_narrow_terminal(tmp_path: Path) -> None:
    from rich.console import Console

    outcomes = ["correct", "wrong"] * 600
    found = compared(tmp_path, outcomes, outcomes)
    for width, cell in ((80, "50.00 %\n"), (120, "50.00 % (600/1200)")):
        out = io.StringIO()
        show(comparison_page(found), Console(file=out, width=width))
        assert "denominator" in out.getvalue()
        assert cell.strip() in out.getvalue()
        assert ("50.00 % (600/1200)" in out.getvalue()) == (width == 120)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    from rich.console import Console

    hostile = "[red]x[/red] <script>alert(1)</script> \x1b[31m | `code`"
    found = compared(tmp_path, ["correct"], ["wrong"], model=hostile)
    out = io.StringIO()
    show(comparison_page(found), Console(file=out, width=300))
    assert "[red]x[/red]" in out.getvalue()
    assert "\x1b[31m" not in out.getvalue()
    assert "<script>" not in comparisons_markdown([found])
