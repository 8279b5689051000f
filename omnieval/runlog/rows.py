"""A scored run as a flat table: one row a row of the data set, also those that were not asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from omnieval.errors import ScoringError
from omnieval.runlog.last_tries import LastTries
from omnieval.runlog.schema import PlannedSample
from omnieval.runlog.store import RESPONSES, SCORES, Run
from omnieval.types import Failure, JsonDict, Response, Score
from omnieval.wording import as_typed

Kind = Literal["text", "integer", "number", "truth"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table; every value may be missing (None). Names end with their unit."""

    name: str
    kind: Kind
    meaning: str


_COLUMNS = (
    Column("run_id", "text", "name of the run directory"),
    Column("sample_id", "text", "id of the question or utterance"),
    Column("row", "integer", "position in the data set, from 0"),
    Column("benchmark", "text", "benchmark"),
    Column("cluster", "text", "what samples share: the video, or the reference voice"),
    Column("origin", "text", "id of the question, where it is asked in several orders"),
    Column("order", "text", "original positions of the shown options, as a JSON list"),
    Column("question", "text", "the question, or the text to be said"),
    Column("options", "text", "the options, as a JSON list"),
    Column("gold", "text", "the right letter, or the text to be said"),
    Column("selected", "truth", "whether the run asks it"),
    Column("outcome", "text", "how it counts; see omnieval.types.Outcome"),
    Column("not_asked_reason", "text", "not selected, or not finished"),
    Column("correct", "truth", "whether the answer is right; missing where there is no answer to judge"),
    Column("answer", "text", "the letter that was read, or what was heard"),
    Column("parser", "text", "the rule that read the letter"),
    Column("span_start", "integer", "where the deciding part of the reply starts, in characters"),
    Column("span_end", "integer", "where it ends"),
    Column("parse_reason", "text", "why the parser decided so"),
    Column("readings", "text", "what every parser reads, as a JSON mapping"),
    Column("reply", "text", "the reply as it came"),
    Column("reasoning", "text", "reasoning that came apart from the reply"),
    Column("finish_reason", "text", "why the server stopped"),
    Column("flags", "text", "what is unhealthy about the reply, separated by spaces"),
    Column("failure_kind", "text", "kind of failure; see omnieval.types.FAILURE_KINDS"),
    Column("failure_message", "text", "what happened"),
    Column("failure_hint", "text", "the next step"),
    Column("http_status", "integer", "HTTP status of a failure"),
    Column("attempts", "integer", "tries at this sample that ended, in all sessions of the run"),
    Column("server", "text", "base URL of the server that answered, where there are several"),
    Column("model", "text", "the model's name as it answered"),
    Column("prompt_tokens", "integer", "tokens of the request, by the server"),
    Column("completion_tokens", "integer", "tokens of the reply, by the server"),
    Column("started_unix_s", "number", "wall clock at sending, seconds since the epoch"),
    Column("ttft_s", "number", "seconds to the first text"),
    Column("ttfp_s", "number", "seconds to the first sound"),
    Column("itl_mean_s", "number", "mean seconds between tokens"),
    Column("tpot_s", "number", "seconds per text token after the first"),
    Column("e2e_s", "number", "seconds to the end"),
    Column("rtf", "number", "time to the last sound / duration of the sound"),
    Column("audio_file", "text", "the sound, relative to the run directory"),
    Column("audio_sha256", "text", "SHA-256 of the sound file"),
    Column("audio_rate_hz", "integer", "samples a second"),
    Column("audio_duration_s", "number", "seconds of sound"),
    Column("recogniser", "text", "what heard the sound"),
    Column("transcript", "text", "what was heard"),
    Column("reference_words", "text", "the text to be said, normalised for the word error rate"),
    Column("heard_words", "text", "what was heard, normalised"),
    Column("substitutions", "integer", "words heard otherwise"),
    Column("deletions", "integer", "words not heard"),
    Column("insertions", "integer", "words heard beside the text"),
    Column("words", "integer", "words of the text"),
    Column("wer", "number", "word error rate as a fraction"),
    Column("lenient_wer", "number", "the same after numbers and spellings were made alike"),
    Column("sim", "number", "cosine similarity of voices"),
    Column("sim_encoder", "text", "what compared the voices"),
    Column("no_similarity", "text", "why there is no similarity"),
)
_GROUPS_AFTER = "cluster"


def columns(run: Run) -> tuple[Column, ...]:
    """The columns of a run's table: the same for all runs, but for one `group_KEY` a group."""
    groups = [Column(f"group_{key}", "text", f"the sample's {key}") for key in run.info["group_keys"]]
    place = 1 + [column.name for column in _COLUMNS].index(_GROUPS_AFTER)
    return (*_COLUMNS[:place], *groups, *_COLUMNS[place:])


def rows(run: Run) -> Iterator[JsonDict]:
    """One mapping a row of the data set, in its order, with every column of `columns(run)`.

    Reads the run's files as it goes: memory does not grow with the replies. Raises ScoringError when the
    run has not been scored, or its files do not belong together.
    """
    names = [column.name for column in columns(run)]
    with LastTries(run.directory / RESPONSES) as tries:
        for planned, score in paired(run, run.samples(), run.scores()):
            last = tries.get(score.sample_id)
            found = _row(run, planned, score, last, tries.tries(score.sample_id))
            yield {name: found.get(name) for name in names}


def paired(
    run: Run, planned: Iterable[PlannedSample], scores: Iterable[Score]
) -> Iterator[tuple[PlannedSample, Score]]:
    """Each row of the data set with its score. Raises ScoringError where they do not belong together."""
    for row, score in zip_longest(planned, scores):
        if row is None or score is None or row.sample.id != score.sample_id:
            then = f"run `omnieval score {as_typed(run.directory)}`"
            raise ScoringError(f"{run.directory / SCORES}: not one score a row; {then}")
        yield row, score


def _row(run: Run, planned: PlannedSample, score: Score, last: Response | None, tries: int) -> JsonDict:
    sample = planned.sample
    return {
        "run_id": run.name,
        "sample_id": sample.id,
        "row": sample.row,
        "benchmark": sample.benchmark,
        "cluster": sample.cluster,
        **{f"group_{key}": value for key, value in sample.groups.items()},
        "origin": sample.origin,
        "order": _json(sample.order),
        "question": sample.question,
        "options": _json(sample.options),
        "gold": sample.gold,
        "selected": planned.selected,
        **_judged(score, spoken=run.info.get("scoring") == "speech"),
        **_failed(failure_of(planned, score, last)),
        **({} if last is None else _said(last)),
        "attempts": tries,
    }


def _judged(score: Score, *, spoken: bool) -> JsonDict:
    correct = {"correct": True, "wrong": False, "unparsed": False}.get(score.outcome)
    common = {
        "outcome": score.outcome,
        "not_asked_reason": score.details.get("reason") if score.outcome == "not_asked" else None,
        "answer": score.answer,
        "flags": " ".join(score.flags) or None,
    }
    if spoken:
        return common | _heard(score)
    start, end = score.details.get("span") or (None, None)
    reason = score.details.get("reason") if score.outcome != "not_asked" else None
    return common | {
        "correct": correct, "parser": score.rule, "span_start": start, "span_end": end,
        "parse_reason": reason, "readings": _json(score.readings),
    }  # fmt: skip


def _heard(score: Score) -> JsonDict:
    metrics, details = score.metrics, score.details
    similarity = next((name for name in metrics if name.startswith("sim[")), None)
    return {
        "recogniser": score.rule,
        "transcript": score.answer,
        "reference_words": details.get("reference"),
        "heard_words": details.get("hypothesis"),
        **{name: details.get(name) for name in ("substitutions", "deletions", "insertions", "words")},
        "wer": metrics.get("wer"),
        "lenient_wer": metrics.get("lenient_wer"),
        "sim": None if similarity is None else metrics[similarity],
        "sim_encoder": None if similarity is None else similarity[len("sim[") : -1],
        "no_similarity": details.get("no_similarity"),
    }


def failure_of(planned: PlannedSample, score: Score, last: Response | None) -> Failure | None:
    """Why a sample failed: its row, its scoring, or its last try; None where it did not fail."""
    if score.outcome != "failed":
        return None
    if planned.sample.problem is not None:
        return planned.sample.problem
    if score.details.get("message"):
        details = score.details
        return Failure(score.failure_kind or "audio", details["message"], hint=details.get("hint"))
    return None if last is None else last.error


def _failed(failure: Failure | None) -> JsonDict:
    if failure is None:
        return {}
    return {
        "failure_kind": failure.kind, "failure_message": failure.message, "failure_hint": failure.hint,
        "http_status": failure.status,
    }  # fmt: skip


def _said(last: Response) -> JsonDict:
    timing, usage, audio = last.timing, last.usage, last.audio
    gaps = timing.itl_s
    found = {
        "reply": last.text,
        "reasoning": last.reasoning or None,
        "finish_reason": last.finish_reason,
        "server": last.server,
        "model": last.model,
        "prompt_tokens": None if usage is None else usage.prompt_tokens,
        "completion_tokens": None if usage is None else usage.completion_tokens,
        "started_unix_s": timing.started,
        "itl_mean_s": sum(gaps) / len(gaps) if gaps else None,
        **{name: getattr(timing, name) for name in ("ttft_s", "ttfp_s", "tpot_s", "e2e_s", "rtf")},
    }
    if audio is not None:
        found |= {
            "audio_file": audio.file, "audio_sha256": audio.sha256, "audio_rate_hz": audio.rate_hz,
            "audio_duration_s": audio.duration_s,
        }  # fmt: skip
    return found


def _json(value: Any) -> str | None:
    """Text of a list or mapping; None for an empty one."""
    if not value:
        return None
    return json.dumps(list(value) if isinstance(value, Sequence) else dict(value), ensure_ascii=False)
