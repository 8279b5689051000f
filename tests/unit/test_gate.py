"""A gate passes only what is surely good enough, and says why for every line."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval import api
from omnieval.errors import ConfigError, ScoringError
from omnieval.report.gate import GateResult, find_gate, gate_page, load_gate, to_junit
from omnieval.report.gate.line import FIGURES, parse_line
from omnieval.report.markdown import to_markdown
from omnieval.types import Timing
from tests.runs import choice_run, speech_run

GOLDEN = Path(__file__).parent / "golden"


def judged(folder: Path, *lines: str, run: str = "run") -> GateResult:
    path = folder / "gate.yaml"
    path.write_text("".join(f"- {line}\n" for line in lines))
    return api.gate(folder / run, path)


def verdicts(result: GateResult) -> list[str]:
    return [line.verdict for line in result.lines]


def test_a_line_passes_where_its_whole_interval_does(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"] * 780 + ["wrong"] * 220, per_video=1)
    result = judged(
        tmp_path, "accuracy >= 0.75", "accuracy >= 0.775", "accuracy >= 0.80", "accuracy < 0.9",
        "strict >= 77.5 %", "accuracy >= 0.775 by value", "accuracy > 0.78 by value",
    )  # fmt: skip
    assert verdicts(result) == ["pass", "undecided", "undecided", "pass", "undecided", "pass", "fail"]
    first, second, third, *_ = result.lines
    assert first.value == pytest.approx(0.78)
    assert first.low is not None
    assert first.low == pytest.approx(0.753, abs=1e-3)
    assert second.reason.startswith("the value meets the line, but its 95 % interval straddles it (780/1000")
    assert third.reason.startswith("the value misses the line, but")
    assert result.verdict == "fail"
    assert json.loads((tmp_path / "run" / "gate.json").read_text())["verdict"] == "fail"


def test_the_interval_is_the_one_that_allows_for_shared_videos(tmp_path: Path) -> None:
    outcomes = (["correct"] * 10) * 78 + (["wrong"] * 10) * 22
    choice_run(tmp_path / "alone", outcomes, per_video=1)
    choice_run(tmp_path / "shared", outcomes, per_video=10)
    assert judged(tmp_path, "accuracy >= 0.75", run="alone").verdict == "pass"
    assert judged(tmp_path, "accuracy >= 0.75", run="shared").verdict == "undecided"


def test_the_worst_line_decides(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"] * 40)
    assert judged(tmp_path, "coverage == 1.0").verdict == "pass"
    assert judged(tmp_path, "coverage == 1.0", "accuracy >= 0.95").verdict == "undecided"
    assert judged(tmp_path, "coverage == 1.0", "accuracy >= 0.95", "rows == 41").verdict == "fail"


def test_counts_are_exact(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"] * 8 + ["timeout", "not selected"])
    result = judged(tmp_path, "coverage == 1.0", "coverage >= 0.8", "coverage == 80 %", "rows == 10")
    assert verdicts(result) == ["fail", "pass", "pass", "pass"]
    assert result.lines[0].reason == "the value misses the line (8/10)"


def test_rows_without_a_usable_answer_cannot_be_covered(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "run", ["correct"] * 9 + ["wrong"])
    samples = run.directory / "samples.jsonl"
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows[3]["sample"]["gold"] = None
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    api.score(api.load_run(run.directory))
    (line,) = judged(tmp_path, "coverage == 1.0").lines
    assert (line.verdict, line.reason) == ("pass", "the value meets the line (9/9)")


def test_an_unfinished_run_is_judged_by_its_counts_only(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "run", ["correct"] * 100)
    log = run.directory / "responses.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    api.score(api.load_run(run.directory))
    result = judged(tmp_path, "accuracy >= 0.5", "coverage == 1.0", "e2e.p99 < 1")
    assert verdicts(result) == ["undecided", "fail", "undecided"]
    assert result.lines[0].reason == "the run has not ended; resume it"


def test_a_drop_is_paired_and_undecided_where_runs_cannot_be_compared(tmp_path: Path) -> None:
    before = (["correct"] * 8 + ["wrong"] * 2) * 100
    after = ["wrong" if i % 100 == 0 else outcome for i, outcome in enumerate(before)]
    choice_run(tmp_path / "base", before, per_video=1)
    choice_run(tmp_path / "run", after, per_video=1)
    choice_run(tmp_path / "other", before, fingerprint="g")
    result = judged(
        tmp_path, "drop_vs(base) <= 2.0 points", "drop_vs(base) <= 1", "drop_vs(base) < 0.1 points",
        "drop_vs(other) <= 2.0 points",
    )  # fmt: skip
    assert verdicts(result) == ["pass", "undecided", "fail", "undecided"]
    assert result.lines[0].value == pytest.approx(1.0)
    assert "different data" in result.lines[3].reason
    (same,) = judged(tmp_path, "drop_vs(run) <= 2.0 points").lines
    assert (same.value, str(same.value)) == (0, "0.0")
    assert same.reason.startswith(
        "the whole 95 % interval meets the line (over 1000 questions answered by both"
    )
    assert "ONE RUN" in same.reason
    with pytest.raises(ConfigError, match=r"gate.yaml, line 1: .*not a run directory"):
        judged(tmp_path, "drop_vs(nowhere) <= 2.0 points")


def utterances(count: int) -> list[dict[str, float]]:
    return [{"wer": 0.02 * (i % 2), "sim[wavlm-sv]": 0.69 + 0.02 * (i % 2)} for i in range(count)]


def test_speech_is_judged_in_percent_and_by_the_encoder_that_is_named(tmp_path: Path) -> None:
    speech_run(tmp_path / "run", utterances(400), rtf=0.44)
    result = judged(
        tmp_path, "wer <= 1.56", "wer <= 1.0", "sim[wavlm-sv] >= 0.689", "sim[ge2e] >= 0.5", "coverage == 1.0",
        "rtf.median < 1.087", "rtf.p99 < 0.45", "rtf.mean < 0.48", "ttfp.median < 986 ms",
    )  # fmt: skip
    assert verdicts(result) == [
        "pass", "undecided", "pass", "undecided", "pass", "pass", "undecided", "undecided", "pass",
    ]  # fmt: skip
    assert result.lines[3].reason == "voices were compared by wavlm-sv"
    assert "noise of 0.03" in result.lines[6].reason
    assert "0.05" in result.lines[7].reason


def test_a_few_faultless_utterances_pass_no_line(tmp_path: Path) -> None:
    speech_run(tmp_path / "few", [{"wer": 0.02 * (i % 2), "sim[wavlm-sv]": 0.7 + 0.01 * i} for i in range(9)])
    speech_run(tmp_path / "alike", [{"wer": 0.0, "sim[wavlm-sv]": 0.7}] * 40)
    for run in ("few", "alike"):
        result = judged(tmp_path, "wer <= 1.56", "sim[wavlm-sv] >= 0.689", run=run)
        assert verdicts(result) == ["undecided"] * 2
        assert "the value meets the line, but" in result.lines[0].reason
        assert "no interval" in result.lines[0].reason
    assert judged(tmp_path, "wer <= 1.56 by value", run="alike").verdict == "pass"


def test_sounds_that_nobody_heard_yet_are_undecided(tmp_path: Path) -> None:
    speech_run(tmp_path / "run", [{}] * 3, recogniser=None, encoder=None)
    result = judged(tmp_path, "wer <= 1.56", "sim[wavlm-sv] >= 0.689", "coverage == 1.0", "lenient_wer <= 1")
    assert verdicts(result) == ["undecided"] * 4
    assert "omnieval score" in result.lines[0].reason


def test_times_of_repetitions_are_judged_by_their_median(tmp_path: Path) -> None:
    for i, e2e in enumerate([9.0, 0.30, 0.50, 0.31]):
        choice_run(
            tmp_path / "run" / f"r{i}", ["correct"], timing=Timing(e2e_s=e2e), started=f"2026-12-01T1{i}"
        )
    (line,) = judged(tmp_path, "e2e.median < 0.4").lines
    assert (line.verdict, line.value) == ("pass", 0.31)
    assert "median of 3 runs" in line.reason


def test_a_time_that_one_repetition_lacks_is_undecided(tmp_path: Path) -> None:
    for i, e2e in enumerate([0.3, 0.3, None, 0.3]):
        timing = Timing(e2e_s=e2e, ttft_s=0.1)
        choice_run(tmp_path / "run" / f"r{i}", ["correct"], timing=timing, started=f"2026-12-01T1{i}")
    result = judged(tmp_path, "e2e.median < 1", "ttft.median < 1")
    assert verdicts(result) == ["undecided", "pass"]
    assert result.lines[0].reason == "no e2e was measured"


def test_settings_must_be_what_the_line_was_drawn_for(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"], decode={"max_tokens": 128, "constrain": None}, subtitles=False)
    result = judged(
        tmp_path, "config.plan == minicpm", "config.plan == omnievalkit", "config.decode.max_tokens == 128",
        "config.decode.constrain == null", "config.subtitles == false", "config.plam == minicpm",
    )  # fmt: skip
    assert verdicts(result) == ["pass", "fail", "pass", "pass", "pass", "fail"]
    assert result.lines[1].reason == 'the run has "minicpm"'
    assert "did you mean 'plan'" in result.lines[5].reason


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "acuracy >= 0.775",
            r"unknown figure 'acuracy' \(did you mean 'accuracy'\?\); known: accuracy, strict",
        ),
        ("accuracy >= 77.5", "write 0.775, or 77.5 %"),
        ("accuracy >= 0.775 %", "write 0.775 without %"),
        ("coverage == 1 %", "next to nothing"),
        ("drop_vs(base) <= 2 %", "drop_vs is in points of accuracy, which has no unit '%'"),
        ("accuracy == 0.775", "never quite equals"),
        ("accuracy >= high", "expected a figure, an operator and a number"),
        ("sim >= 0.689", r"write sim\[ENCODER\]"),
        ("sim(wavlm-sv) >= 0.689", r"write sim\[ENCODER\]"),
        ("drop_vs <= 2 points", r"write drop_vs\(RUN\)"),
        ("accuracy[careful] >= 0.5", "write accuracy, with nothing else"),
        ("rows >= 10 points", "rows is a count, which has no unit 'points'"),
        ("rtf.mode < 1", "unknown figure 'rtf.mode'"),
        ("rtf.p50 < 1", r"unknown figure 'rtf.p50' \(did you mean 'rtf.median'\?\)"),
        ("__import__('os').system('x') >= 1", "expected a figure"),
        ("accuracy: 0.7", "found a list or a mapping"),
    ],
)
def test_a_bad_line_is_named_with_its_file_and_number(tmp_path: Path, line: str, told: str) -> None:
    choice_run(tmp_path / "run", ["correct"])
    with pytest.raises(ConfigError, match=rf"gate.yaml, line 3: .*{told}"):
        judged(tmp_path, "coverage == 1.0", "rows >= 1", line)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "found an empty file"),
        ("accuracy >= 0.775", "begin each line with a dash"),
        ("[]", "no line in it"),
        ("all: []", "no line in it"),
        ("- [", "not valid YAML"),
        ("daily-omni: accuracy >= 0.5", "line 1: expected a list of lines"),
        ("a:\n  - rows >= 1\na:\n  - rows >= 2\n", "line 3: the section 'a' is there twice"),
        ("video-mme:\n  - rows >= 1\n", r"no section for the recipe 'daily-omni' \(sections: video-mme\)"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: str, told: str) -> None:
    choice_run(tmp_path / "run", ["correct"])
    (tmp_path / "gate.yaml").write_text(content)
    with pytest.raises(ConfigError, match=f"gate.yaml.*{told}"):
        api.gate(tmp_path / "run", tmp_path / "gate.yaml")


def test_files_and_names_that_do_not_exist_are_named(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"])
    with pytest.raises(ConfigError, match=r"none.yaml: cannot read the gate"):
        api.gate(tmp_path / "run", tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="did you mean 'minicpm-challenge'"):
        api.gate(tmp_path / "run", "minicpm-chalenge")
    with pytest.raises(ScoringError, match="not a run directory"):
        api.gate(tmp_path / "nothing", "minicpm-challenge")


def test_lines_go_by_recipe_and_those_for_all_apply_to_each(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"])
    path = tmp_path / "gate.yaml"
    path.write_text("daily-omni:\n  - rows >= 1\nvideo-mme:\n  - rows >= 2\nall:\n  - coverage == 1.0\n")
    assert [line.text for line in api.gate(tmp_path / "run", path).lines] == ["rows >= 1", "coverage == 1.0"]
    assert verdicts(api.gate(tmp_path / "run", path, section="video-mme")) == ["fail", "pass"]
    with pytest.raises(ConfigError, match="did you mean 'video-mme'"):
        api.gate(tmp_path / "run", path, section="video-me")


def test_a_figure_of_the_other_kind_of_run_is_a_fault_of_the_gate(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"])
    speech_run(tmp_path / "speech", utterances(2))
    with pytest.raises(ConfigError, match="line 1: a choice run has no wer"):
        judged(tmp_path, "wer <= 1.56")
    with pytest.raises(ConfigError, match="line 1: a speech run has no accuracy"):
        judged(tmp_path, "accuracy >= 0.5", run="speech")


@given(st.text(max_size=60))
def test_any_text_is_a_line_or_a_value_error(text: str) -> None:
    try:
        line = parse_line(text, 1)
    except ValueError:
        return
    assert line.name == "config" or line.name in FIGURES


def test_the_gate_of_the_challenge_takes_the_reference_run_for_undecided(tmp_path: Path) -> None:
    gate = load_gate(find_gate("minicpm-challenge"))
    assert set(gate.sections) == {"daily-omni", "video-mme", "seed-tts-en", "seed-tts-duplex", "all"}
    assert [
        section for section in gate.sections for line in gate.sections[section] if line.name == "rtf.median"
    ] == ["seed-tts-duplex"]
    setting = {
        "packing": "minicpm-interleave", "input_mode": "all", "media": "full", "decode": {"constrain": None},
    }  # fmt: skip
    outcomes = ["correct"] * 937 + ["wrong"] * 260
    choice_run(tmp_path / "run", outcomes, per_video=1, **setting)
    result = api.gate(tmp_path / "run", "minicpm-challenge")
    assert {line.text: line.verdict for line in result.lines if line.verdict != "pass"} == {
        "accuracy >= 0.775": "undecided"
    }


def test_junit_says_which_line_failed_and_holds_no_forbidden_character(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"] * 9 + ["wrong"], plan="a\x00<b>\x1b")
    result = judged(tmp_path, "rows == 10", "accuracy >= 0.8", "config.plan == minicpm")
    root = ElementTree.fromstring(to_junit(result))
    assert root.attrib == {"tests": "3", "failures": "2", "errors": "0", "skipped": "0"}
    cases = root.findall("./testsuite/testcase")
    assert [case.get("name") for case in cases] == ["rows == 10", "accuracy >= 0.8", "config.plan == minicpm"]
    types = [failure.get("type") for case in cases for failure in case]
    assert types == ["undecided", "fail"]
    with_interval, without = [str(failure.text) for case in cases for failure in case]
    assert with_interval.startswith("line 2: value 0.9, 95 % interval 0.46225")
    assert without == "line 3"


def test_junit_counts_a_member_that_could_not_be_judged_as_a_failure(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"])
    root = ElementTree.fromstring(
        to_junit(judged(tmp_path, "rows == 1"), unjudged={"video-mme": "not begun"})
    )
    assert root.attrib == {"tests": "2", "failures": "1", "errors": "0", "skipped": "0"}
    (failure,) = root.findall("./testsuite/testcase/failure")
    assert failure.get("message") == "undecided: not begun"


def test_the_page_is_as_it_was(tmp_path: Path) -> None:
    choice_run(tmp_path / "run", ["correct"] * 78 + ["wrong"] * 21 + ["timeout"])
    result = judged(tmp_path, "accuracy >= 0.5", "strict >= 0.8", "coverage == 1.0", "e2e.p99 < 2.0 s")
    assert to_markdown(gate_page(result)) == (GOLDEN / "gate.md").read_text()


def test_verdicts_that_cannot_be_kept_are_shown_and_say_so(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "run", ["correct"] * 4).directory
    (run / "gate.json").mkdir()
    result = judged(tmp_path, "coverage == 1.0")
    assert result.verdict == "pass"
    [warning] = gate_page(result).warnings
    assert warning.startswith(f"NOT KEPT with the run: {run / 'gate.json'}: cannot be written")
    (run / "gate.json").rmdir()
    assert judged(tmp_path, "coverage == 1.0").not_kept is None
