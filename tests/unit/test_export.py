"""A run for other tools: every row is there, text is safe and whole, nothing that was not measured is claimed."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from omnieval import api
from omnieval.errors import ConfigError, ScoringError
from omnieval.export.lm_eval import write_lm_eval
from omnieval.export.table import write_csv, write_parquet
from omnieval.export.vllm_bench import vllm_bench
from omnieval.runlog import Run, RunWriter
from omnieval.runlog.rows import columns, rows
from omnieval.types import Failure, Response, SpokenAudio, Timing, Usage
from tests.runs import choice_run, speech_run

OUTCOMES = ["correct", "wrong", "unparsed", "timeout", "not selected", "correct"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return choice_run(
        tmp_path / "r", OUTCOMES, timing=Timing(started=10.0, ttft_s=0.1, e2e_s=0.5), concurrency=2
    )


def add(run: Run, *responses: Response) -> None:
    with RunWriter(run.directory) as writer:
        for response in responses:
            writer.add_response(response)
    api.score(run)


def test_every_row_of_the_data_set_is_a_row(run: Run) -> None:
    found = list(rows(run))
    assert [row["outcome"] for row in found] == [
        "correct",
        "wrong",
        "unparsed",
        "failed",
        "not_asked",
        "correct",
    ]
    assert [row["correct"] for row in found] == [True, False, False, None, None, True]
    assert [row["attempts"] for row in found] == [1, 1, 1, 1, 0, 1]
    assert [row["group_type"] for row in found] == ["t0", "t1", "t2", "t0", "t1", "t2"]
    assert (found[3]["failure_kind"], found[3]["failure_message"]) == ("timeout", "timeout happened")
    assert (found[0]["span_start"], found[0]["span_end"]) == (0, 1)
    assert found[4]["not_asked_reason"] == "not selected"
    assert all(set(row) == {column.name for column in columns(run)} for row in found)


def test_the_last_try_counts_and_all_are_counted(run: Run) -> None:
    add(run, Response("s3", error=Failure("busy", "b"), attempt=2), Response("s3", text="A", attempt=3))
    row = list(rows(run))[3]
    assert (row["outcome"], row["reply"], row["attempts"], row["failure_kind"]) == ("correct", "A", 3, None)


def test_a_spoken_run_has_its_word_errors_and_similarity(tmp_path: Path) -> None:
    run = speech_run(tmp_path / "s", [{"wer": 0.5, "sim[wavlm-sv]": 0.7}, "no_audio"])
    first, second = rows(run)
    assert (first["wer"], first["sim"], first["sim_encoder"], first["transcript"]) == (
        0.5,
        0.7,
        "wavlm-sv",
        "heard 0",
    )
    assert (first["substitutions"], first["ttfp_s"], first["rtf"]) == (1, 0.9, 0.4)
    assert (second["outcome"], second["failure_kind"], second["wer"]) == ("failed", "no_audio", None)


@pytest.mark.parametrize(
    "reply", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", '=cmd|"/c calc"!A1']
)
def test_no_cell_of_a_csv_starts_a_formula(run: Run, tmp_path: Path, reply: str) -> None:
    add(run, Response("s0", text=reply))
    write_csv(run, tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert read[0]["reply"] == f"'{reply}"


def test_a_csv_holds_line_ends_quotes_and_any_script(run: Run, tmp_path: Path) -> None:
    reply = 'line 1\nline "2",\r\n答案 \u202eA'
    add(run, Response("s0", text=reply))
    write_csv(run, tmp_path / "r.csv")
    raw = (tmp_path / "r.csv").read_bytes()
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file, strict=True))
    assert raw.endswith(b"\r\n") and len(read) == len(OUTCOMES)
    assert (read[0]["reply"], read[1]["correct"], read[3]["correct"]) == (reply, "false", "")


def test_parquet_is_typed_and_says_of_which_run_it_is(run: Run, tmp_path: Path) -> None:
    add(run, Response("s0", text="=A", usage=Usage(7, 2)))
    write_parquet(run, tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    assert table.to_pylist() == list(rows(run))
    types = {
        name: str(table.schema.field(name).type) for name in ("reply", "prompt_tokens", "ttft_s", "correct")
    }
    assert types == {"reply": "string", "prompt_tokens": "int64", "ttft_s": "double", "correct": "bool"}
    assert table.schema.metadata[b"omnieval.run_id"] == b"r"
    assert table.schema.metadata[b"omnieval.recipe_hash"] == b"h"
    assert all(field.metadata[b"meaning"] for field in table.schema)


def test_a_table_of_pandas_is_the_same(run: Run) -> None:
    pytest.importorskip("pandas")
    frame = run.to_pandas()
    assert list(frame.columns) == [column.name for column in columns(run)]
    assert len(frame) == len(OUTCOMES)
    assert int(frame["correct"].sum()) == 2 and int(frame["correct"].isna().sum()) == 2
    assert str(frame["attempts"].dtype) == "Int64"


def test_a_run_whose_scores_are_not_of_its_rows_is_refused_and_leaves_no_file(
    run: Run, tmp_path: Path
) -> None:
    scores = run.directory / "scores.jsonl"
    scores.write_bytes(b"".join(scores.read_bytes().splitlines(keepends=True)[:-1]))
    folder = tmp_path / "out"
    folder.mkdir()
    for write in (write_csv, write_parquet):
        with pytest.raises(ScoringError, match="omnieval score"):
            write(run, folder / "file")
    assert list(folder.iterdir()) == []


def test_vllm_bench_says_what_was_measured_and_null_for_the_rest(run: Run) -> None:
    result = vllm_bench(run)
    assert (result["num_prompts"], result["completed"], result["failed"]) == (5, 4, 1)
    assert result["date"] == "20261201-100000"
    assert result["mean_ttft_ms"] == pytest.approx(100) and result["p99_e2el_ms"] == pytest.approx(500)
    assert result["duration"] == pytest.approx(0.5) and result["request_throughput"] == pytest.approx(8)
    assert result["max_concurrency"] == 2 and result["accuracy"] == 0.5
    unknown = ("total_input_tokens", "output_throughput", "mean_tpot_ms", "mean_itl_ms", "tokenizer_id")
    assert [result[name] for name in unknown] == [None] * len(unknown)
    assert "ttfts" not in result
    detailed = vllm_bench(run, detailed=True)
    assert sorted(detailed["errors"]) == ["", "", "", "", "timeout happened"]
    assert len(detailed["generated_texts"]) == len(detailed["ttfts"]) == 5


def test_vllm_bench_has_the_sound_of_spoken_answers_by_the_names_of_vllm_omni(tmp_path: Path) -> None:
    spoken = speech_run(tmp_path / "s", [{"wer": 0.0}, {"wer": 0.5}, "no_audio"])
    assert vllm_bench(spoken)["total_audio_duration_s"] is None
    with RunWriter(spoken.directory) as writer:
        for name, started, frames in (("u0", 0.0, 48_000), ("u1", 1.0, 24_000)):
            timing = Timing(started=started, e2e_s=3.0, ttfp_s=0.9, rtf=1.5)
            writer.add_response(Response(name, audio=SpokenAudio(24_000, 1, frames), timing=timing))
    result = vllm_bench(spoken)
    assert result["total_audio_duration_s"] == 3 and result["audio_throughput"] == 0.75
    assert result["median_audio_duration_s"] == 1.5
    assert result["mean_audio_rtf"] == 1.5 and result["p99_audio_ttfp_ms"] == pytest.approx(900)


def test_a_continued_run_has_no_throughput(run: Run) -> None:
    with RunWriter(run.directory) as writer:
        writer.add_event("resumed", changed=[], server=None)
    result = vllm_bench(run)
    assert (result["duration"], result["request_throughput"]) == (None, None)
    assert result["completed"] == 4


def test_the_busiest_seconds_are_those_of_vllm(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "r", ["correct"] * 3)
    for name, started, e2e, gaps in (
        ("s0", 100.5, 2.0, (0.1, 0.1)),
        ("s1", 101.0, 0.5, ()),
        ("s2", 105.0, 0.5, ()),
    ):
        add(run, Response(name, text="A", timing=Timing(started, ttft_s=0.4, itl_s=gaps, e2e_s=e2e)))
    result = vllm_bench(run)  # from 100.5 on: s0 in seconds 0 to 2, s1 in 0 to 1, s2 in 4 to 5
    assert (result["max_concurrent_requests"], result["max_output_tokens_per_s"]) == (2, 4)
    add(run, Response("s1", text="A", timing=Timing(2e9, e2e_s=0.5)))  # the clock jumped; not streamed
    result = vllm_bench(run)
    assert (result["max_concurrent_requests"], result["max_output_tokens_per_s"]) == (1, None)


def test_token_totals_are_of_all_answers_or_none(run: Run) -> None:
    last = run.last_responses()
    answered = [response for response in last.values() if response.answered]
    add(run, *(replace(response, usage=Usage(10, 3)) for response in answered[:-1]))
    assert vllm_bench(run)["total_input_tokens"] is None
    add(run, replace(answered[-1], usage=Usage(10, 3)))
    result = vllm_bench(run)
    assert (result["total_input_tokens"], result["total_output_tokens"]) == (40, 12)
    assert result["output_throughput"] == pytest.approx(24)


def test_lm_eval_samples_average_to_the_result(run: Run, tmp_path: Path) -> None:
    results, samples = write_lm_eval(run, tmp_path / "out")
    assert (results.name, samples.name) == (
        "results_2026-12-01T10-00-00.000000.json", "samples_daily-omni_2026-12-01T10-00-00.000000.jsonl",
    )  # fmt: skip
    told = json.loads(results.read_text())
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    assert told["results"]["daily-omni"]["acc,none"] == sum(line["acc"] for line in lines) / len(lines)
    assert told["n-samples"]["daily-omni"] == {"original": 6, "effective": 4}
    assert told["results"]["daily-omni"]["acc_strict,none"] == pytest.approx(0.4)
    assert (lines[0]["doc_id"], lines[0]["target"], lines[0]["resps"], lines[0]["filtered_resps"]) == (
        0, "A", [["A"]], ["A"],
    )  # fmt: skip


def test_lm_eval_names_task_hashes_times_and_settings_as_the_harness_does(tmp_path: Path) -> None:
    timing = Timing(started=10.0, e2e_s=0.5)
    prompt = {"system_prompt": "Be short.", "concurrency": 3, "select": {"limit": 9}}
    run = choice_run(tmp_path / "r", OUTCOMES, timing=timing, **prompt)
    results, samples = write_lm_eval(run, tmp_path / "out")
    told = json.loads(results.read_text())
    hashed = hashlib.sha256()
    for line in map(json.loads, samples.read_text().splitlines()):
        assert line["target_hash"] == hashlib.sha256(line["target"].encode()).hexdigest()
        hashed.update((line["doc_hash"] + line["prompt_hash"] + line["target_hash"]).encode())
    assert told["task_hashes"] == {"daily-omni": hashed.hexdigest()}
    assert (told["start_time"], told["end_time"], told["total_evaluation_time_seconds"]) == (10, 10.5, "0.5")
    assert told["system_instruction_sha"] == hashlib.sha256(b"Be short.").hexdigest()
    assert (told["config"]["batch_size"], told["config"]["limit"]) == (3, 9)
    unknown = ("chat_template", "chat_template_sha", "git_hash")
    assert [told[name] for name in unknown] == [None] * len(unknown)
    with RunWriter(run.directory) as writer:
        writer.add_event("resumed", changed=[], server=None)
    results, _ = write_lm_eval(run, tmp_path / "out")
    assert json.loads(results.read_text())["total_evaluation_time_seconds"] is None


def test_lm_eval_of_a_spoken_run_has_word_errors_and_voices(tmp_path: Path) -> None:
    run = speech_run(tmp_path / "s", [{"wer": 0.5, "sim[wavlm-sv]": 0.7}, {"wer": 0.0}, "no_audio"])
    results, samples = write_lm_eval(run, tmp_path / "out")
    told = json.loads(results.read_text())
    assert told["results"]["seed-tts"] == {
        "name": "seed-tts", "alias": "seed-tts", "sample_len": 2, "wer,none": 0.25, "sim,none": pytest.approx(0.7),
    }  # fmt: skip
    assert told["higher_is_better"] == {"seed-tts": {"wer": False, "sim": True}}
    assert told["configs"]["seed-tts"]["metric_list"] == [
        {"metric": "wer", "aggregation": "mean", "higher_is_better": False}
    ], "a reader takes each of these from every sample"
    first, second = map(json.loads, samples.read_text().splitlines())
    assert (first["metrics"], first["wer"], first["sim"]) == (["wer", "sim"], 0.5, 0.7)
    assert (second["metrics"], "sim" in second) == (["wer"], False)


def test_other_questions_have_another_task_hash(tmp_path: Path) -> None:
    hashes = set()
    for name, question in (("a", "?"), ("b", "?"), ("c", "!")):
        results, _ = write_lm_eval(choice_run(tmp_path / name, ["correct"], question=question), tmp_path)
        hashes.add(json.loads(results.read_text())["task_hashes"]["daily-omni"])
    assert len(hashes) == 2


def test_the_model_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "r", ["correct"], model="../../up")
    for path in write_lm_eval(run, tmp_path / "out"):
        assert path.resolve().is_relative_to(tmp_path / "out")


def test_wrong_requests_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown format 'xls'"):
        api.export(run, "xls")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="is a folder"):
        api.export(run, "csv", out=tmp_path)
    (tmp_path / "device").symlink_to("/dev/null")
    with pytest.raises(ConfigError, match="parquet cannot be written into a device or a pipe"):
        api.export(run, "parquet", out=tmp_path / "device")
    with pytest.raises(ConfigError, match="detailed"):
        api.export(run, "csv", detailed=True)
