"""A run in the layout of lm-evaluation-harness with `--log_samples`: results and samples of one task.

Layout: that of version 0.4.13 (https://github.com/EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py and
lm_eval/loggers/evaluation_tracker.py). A run directory does not keep the request as it was sent, so
`arguments` holds the question and its options without media and without the recipe's wording. What a client
does not know of the model (its chat template, device, cache) is null, and so is a `system_instruction` that
the recipe leaves to its packing. Times are seconds since the epoch.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from omnieval.config import OPERATIONAL
from omnieval.report.build import Report
from omnieval.report.proportion import Proportion
from omnieval.report.speech import SpeechReport
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.files import replace_file, replace_json, storage_error
from omnieval.runlog.rows import rows
from omnieval.types import JsonDict

_JUDGED = ("correct", "wrong", "unparsed", "scored")


@dataclass(slots=True)
class _Written:
    """What is known of the samples once they are written. hashes: over those of all, in their order. metrics:
    those that every sample has, in their order."""

    count: int = 0
    metrics: list[str] = field(default_factory=list)
    hashes: Any = field(default_factory=hashlib.sha256)
    first_start: float | None = None
    last_end: float | None = None

    def add(self, sample: JsonDict) -> None:
        self.metrics = [
            name for name in (self.metrics if self.count else sample["metrics"]) if name in sample["metrics"]
        ]
        self.count += 1
        self.hashes.update((sample["doc_hash"] + sample["prompt_hash"] + sample["target_hash"]).encode())

    def add_times(self, start: float | None, length: float | None) -> None:
        if start is not None and length is not None:
            self.first_start = start if self.first_start is None else min(self.first_start, start)
            self.last_end = max(self.last_end or 0.0, start + length)


def write_lm_eval(run: Run, folder: Path) -> tuple[Path, Path]:
    """Write `MODEL/results_TIME.json` and `MODEL/samples_TASK_TIME.jsonl` into a folder; both paths.

    The samples are the answered ones, so that their mean is the result; `n-samples` tells how many rows there
    are, and `acc_strict` counts those without an answer as wrong.
    Raises ScoringError for an unscored run, StorageError.
    """
    report = read_report(run)
    started = datetime.fromisoformat(run.info["started"])
    model = str(run.info["server"].get("model") or run.config["model"])
    safe = re.sub(r'["<>:/|\\?*\[\]\s\x00-\x1f]+', "__", model).lstrip(".")[:200] or "model"
    stamp = started.strftime("%Y-%m-%dT%H-%M-%S.%f")
    task = re.sub(r"[^\w-]", "_", run.config["benchmark"])
    place = folder / safe
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(place, error) from error
    results, samples = place / f"results_{stamp}.json", place / f"samples_{task}_{stamp}.jsonl"
    written = _Written()
    replace_file(samples, _samples(run, written))
    replace_json(results, _results(run, report, task, written) | _model(run, model, safe))
    return results, samples


def _samples(run: Run, written: _Written) -> Iterator[bytes]:
    for row in rows(run):
        written.add_times(row["started_unix_s"], row["e2e_s"])
        if row["outcome"] in _JUDGED:
            sample = _sample(row, run.config["decode"])
            written.add(sample)
            yield json.dumps(sample, ensure_ascii=False).encode() + b"\n"


def _sample(row: JsonDict, decode: Any) -> JsonDict:
    options = json.loads(row["options"] or "[]")
    prompt = "\n".join([row["question"], *options])
    doc = {"id": row["sample_id"], "question": row["question"], "options": options, "answer": row["gold"]}
    doc |= {name: value for name, value in row.items() if name.startswith("group_")}
    spoken = row["outcome"] == "scored"
    metrics = {"wer": row["wer"], "sim": row["sim"]} if spoken else {"acc": float(row["correct"])}
    measured = {name: value for name, value in metrics.items() if value is not None}
    return {
        "doc_id": row["row"],
        "doc": doc,
        "target": str(row["gold"]),
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": dict(decode)}},
        "resps": [[row["transcript"] if spoken else row["reply"]]],
        "filtered_resps": [row["answer"] or ""],
        "filter": "none",
        "metrics": list(measured),
        **sample_hashes(doc, prompt, str(row["gold"])),
        **measured,
    }


def sample_hashes(doc: JsonDict, prompt: str, target: str) -> dict[str, str]:
    """The three hashes of a sample, as the harness makes them."""
    return {
        "doc_hash": _hash(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _hash(prompt),
        "target_hash": _hash(target),
    }


def _results(run: Run, report: Report | SpeechReport, task: str, written: _Written) -> JsonDict:
    figures, better = _figures(report)
    config = run.config
    measured = {key: value for key, value in config.items() if key not in OPERATIONAL}
    start, end = written.first_start, written.last_end
    whole = start is not None and not any(event.get("event") == "resumed" for event in run.events())
    return {
        "results": {task: {"name": task, "alias": task, "sample_len": written.count, **figures}},
        "group_subtasks": {},
        "configs": {
            task: {
                "task": task,
                "output_type": "generate_until",
                "num_fewshot": 0,
                "repeats": 1,
                "metric_list": [
                    {"metric": name, "aggregation": "mean", "higher_is_better": better[name]}
                    for name in written.metrics
                ],
                "generation_kwargs": dict(config["decode"]),
                "metadata": {"omnieval": measured, **run.info["headline"]},
            }
        },
        "versions": {task: run.info["recipe_hash"]},
        "n-shot": {task: 0},
        "higher_is_better": {task: better},
        "n-samples": {task: {"original": report.rows, "effective": written.count}},
        "date": datetime.fromisoformat(run.info["started"]).timestamp(),
        "task_hashes": {task: written.hashes.hexdigest()},
        "start_time": start,
        "end_time": end,
        "total_evaluation_time_seconds": str(end - start) if whole and start and end else None,
        "dataset_fingerprint": run.info["dataset"]["fingerprint"],
    }


def _model(run: Run, model: str, safe: str) -> JsonDict:
    """Who answered, and with what."""
    config, versions = run.config, run.info["versions"]
    environment = versions | run.info.get("hardware", {})
    system: str | None = config.get("system_prompt")
    return {
        "config": {
            "model": config["backend"],
            "model_args": {"model": model},
            "batch_size": config.get("concurrency"),
            "batch_sizes": [],
            "device": None,
            "use_cache": None,
            "limit": config.get("select", {}).get("limit"),
            "bootstrap_iters": 0,  # errors are by formula
            "gen_kwargs": dict(config["decode"]),
            "random_seed": config.get("backend_seed"),
            "numpy_seed": None,
            "torch_seed": None,
            "fewshot_seed": None,
        },
        "git_hash": versions.get("commit"),
        "upper_git_hash": None,
        "omnieval_version": versions["omnieval"],
        "lm_eval_version": None,
        "transformers_version": versions.get("transformers"),
        "pretty_env_info": "\n".join(f"{name}: {value}" for name, value in environment.items()),
        "model_source": config["backend"],
        "model_name": model,
        "model_name_sanitized": safe,
        "system_instruction": system,
        "system_instruction_sha": _hash(system) if system else None,
        "fewshot_as_multiturn": False,
        "chat_template": None,
        "chat_template_sha": None,
    }


def _figures(report: Report | SpeechReport) -> tuple[JsonDict, dict[str, bool]]:
    if isinstance(report, SpeechReport):
        found: JsonDict = {}
        if report.wer is not None and report.wer.official_percent is not None:
            found["wer,none"] = report.wer.official_percent / 100
        if report.similarity is not None:
            found["sim,none"] = report.similarity.mean
        return found, {"wer": False, "sim": True}
    each = report.each_asking
    figures = _accuracy("acc", each or report.official) | _accuracy("acc_strict", report.strict)
    if each is not None:
        figures |= _accuracy("acc_all_orders", report.official)
    return figures, {name.partition(",")[0]: True for name in figures if "_stderr" not in name}


def _accuracy(name: str, proportion: Proportion) -> JsonDict:
    """A value and its standard error: clustered where samples share a video."""
    value, total = proportion.value, proportion.total
    if value is None:
        return {}
    error: float | None = (value * (1 - value) / (total - 1)) ** 0.5 if total > 1 else None
    if proportion.clustered is not None:
        error = proportion.clustered.standard_error
    return {f"{name},none": value, f"{name}_stderr,none": "N/A" if error is None else error}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
