"""Scored runs made of outcomes, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omnieval import api
from omnieval.report.speech import build_speech_report
from omnieval.runlog import PlannedSample, Run, RunWriter
from omnieval.scored import keep
from omnieval.scoring.spoken import SpokenScores
from omnieval.types import Failure, Response, Sample, Score, Timing

OPTIONS = ("A. red", "B. green", "C. blue", "D. none")
# Outcome -> reply, where A is right.
REPLIES = {"correct": "A", "wrong": "B", "unparsed": "?", "read otherwise": "I would say B. Answer: A"}


def information(rows: int, fingerprint: str, *, root: str = "/data", **config: Any) -> dict[str, Any]:
    """The content of run.json."""
    return {
        "config": {
            "recipe": "daily-omni", "benchmark": "daily-omni", "backend": "b", "model": "m", "plan": "minicpm",
            "parser": "daily-omni-official", **config,
        },
        "recipe_hash": "h", "headline": {"plan": "minicpm"}, "group_keys": ["type"], "scoring": "choice",
        "dataset": {"fingerprint": fingerprint, "notes": [], "selected": rows, "rows": rows, "root": root},
        "server": {"model": config.get("model", "m"), "version": None}, "started": "2026-12-01T10:00:00",
        "versions": {"omnieval": "0"},
    }  # fmt: skip


def choice_run(
    folder: Path,
    outcomes: Sequence[str],
    *,
    per_video: int = 2,
    fingerprint: str = "f",
    timing: Timing | None = None,
    started: str = "2026-12-01T10:00:00",
    question: str = "?",
    options: Sequence[str] = OPTIONS,
    replies: Mapping[int, str] | None = None,
    kinds: Sequence[str] = ("t0", "t1", "t2"),
    prefix: str = "s",
    failure: str | None = None,
    **config: Any,
) -> Run:
    """A scored run whose question i ended as outcomes[i]: a key of REPLIES, a kind of failure, or `not selected`.

    per_video: questions that share a video. replies: other texts than REPLIES has, by i. kinds: the types that
    questions belong to in turn. prefix: how the ids of samples begin. failure: what a failed one says.
    """
    planned, responses = [], []
    for i, outcome in enumerate(outcomes):
        name = f"{prefix}{i}"
        sample = Sample(
            name,
            "daily-omni",
            question,
            tuple(options),
            "A",
            {"type": kinds[i % len(kinds)]},
            f"v{i // per_video}",
            {},
            i,
        )
        planned.append(PlannedSample(sample, selected=outcome != "not selected"))
        if outcome in REPLIES:
            text = (replies or {}).get(i, REPLIES[outcome])
            responses.append(Response(name, text=text, timing=timing or Timing(e2e_s=0.2)))
        elif outcome != "not selected":
            responses.append(Response(name, error=Failure(outcome, failure or f"{outcome} happened")))
    run = _written(
        folder, {**information(len(planned), fingerprint, **config), "started": started}, planned, responses
    )
    api.score(run)
    return run


def speech_run(
    folder: Path,
    utterances: Sequence[Mapping[str, float] | str],
    *,
    recogniser: str | None = "whisper-hf",
    encoder: str | None = "wavlm-sv",
    size: str = "24 layers of 1024",
    rtf: float = 0.4,
    per_speaker: int = 1,
    prefix: str = "u",
    reference: str = "a text",
    hypothesis: str = "a test",
    failure: str | None = None,
    **config: Any,
) -> Run:
    """A scored spoken run: metrics of each utterance, or a kind of failure. reference, hypothesis: what is to be said
    and was heard. Otherwise as `choice_run`."""
    planned, responses, scores = [], [], []
    for i, found in enumerate(utterances):
        name, cluster = f"{prefix}{i}", f"speaker{i // per_speaker}"
        planned.append(
            PlannedSample(Sample(name, "seed-tts", reference, (), reference, {}, cluster, {}, i), True)
        )
        if isinstance(found, str):
            responses.append(Response(name, error=Failure(found, failure or f"{found} happened")))
            scores.append(Score(name, "failed", failure_kind=found))
            continue
        responses.append(Response(name, timing=Timing(ttfp_s=0.9, rtf=rtf)))
        words = {
            "substitutions": 1,
            "deletions": 0,
            "insertions": 0,
            "reference": reference,
            "hypothesis": hypothesis,
        }
        outcome = "unscored" if recogniser is None and not found else "scored"
        scores.append(Score(name, outcome, answer=f"heard {i}", metrics=dict(found), details=words))
    spoken = {"recipe": "seed-tts-en", "benchmark": "seed-tts", "language": "en", "utterances": "meta.lst"}
    info = information(len(planned), "f", **{**spoken, **config}) | {"scoring": "speech", "group_keys": []}
    run = _written(folder, info, planned, responses)
    judged = SpokenScores(
        scores,
        recogniser=None if recogniser is None else {"name": recogniser, "model": "large-v3"},
        encoder=None if encoder is None else {"name": encoder, "model": "/m/wavlm.pth", "size": size},
    )
    report = build_speech_report(run, planned, judged, run.last_responses(), ())
    keep(run, planned, scores, report, run.last_responses())
    return run


def many_questions(folder: Path, count: int) -> Path:
    """The directory of a run of so many questions, all alike; fast to write."""
    run = choice_run(folder, ["wrong"])
    for name in ("samples.jsonl", "responses.jsonl", "scores.jsonl"):
        line = (run.directory / name).read_text()
        (run.directory / name).write_text("".join(line.replace('"s0"', f'"s{i}"') for i in range(count)))
    return run.directory


def _written(
    folder: Path, info: dict[str, Any], planned: Sequence[PlannedSample], responses: Sequence[Response]
) -> Run:
    with RunWriter.begin(folder, info, planned) as writer:
        for response in responses:
            writer.add_response(response)
    return Run.load(folder)
