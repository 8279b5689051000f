"""What a page shows of a run's files beyond report.json: single values for distributions, and samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from omnieval.report.latency import FIGURES
from omnieval.runlog import PlannedSample, Run
from omnieval.runlog.rows import paired
from omnieval.types import Response, Score

# So many samples of a kind are on a page; the rest is in the run directory.
SHOWN = {"wrong": 50, "unparsed": 20, "failed": 20, "scored": 40}

Shown = tuple[PlannedSample, Score, Response | None]


@dataclass(frozen=True)
class Evidence:
    """values: by latency figure (`ttft_s`, ...) and by metric of the scores (`wer`, ...). samples: by
    outcome, at most SHOWN of each; of spoken ones those with the most word errors. counts: how many there
    are."""

    values: Mapping[str, Sequence[float]]
    samples: Mapping[str, Sequence[Shown]]
    counts: Mapping[str, int]


def gather(
    run: Run,
    planned: Iterable[PlannedSample],
    scores: Sequence[Score],
    responses: Mapping[str, Response],
) -> Evidence:
    """One pass over a scored run. planned: the rows of the data set. scores: one of each, in their order."""
    worst = {score.sample_id for score in _worst(scores)}
    values: dict[str, list[float]] = {}
    samples: dict[str, list[Shown]] = {outcome: [] for outcome in SHOWN}
    counts = dict.fromkeys(SHOWN, 0)
    for row, score in paired(run, planned, scores):
        for metric, value in score.metrics.items():
            if metric != "accuracy":
                values.setdefault(metric, []).append(value)
        found = score.outcome
        if found not in SHOWN or (found == "scored" and not score.metrics.get("wer")):
            continue
        counts[found] += 1
        if len(samples[found]) < SHOWN[found] and (found != "scored" or score.sample_id in worst):
            samples[found].append((row, score, responses.get(score.sample_id)))
    samples["scored"].sort(key=lambda item: -item[1].metrics["wer"])
    return Evidence(values | _latencies(_timed(run, scores, responses)), samples, counts)


def _timed(run: Run, scores: Sequence[Score], responses: Mapping[str, Response]) -> Iterable[Response]:
    """The responses whose times a report counts."""
    if run.info.get("scoring") != "speech":
        return responses.values()
    return [responses[score.sample_id] for score in scores if score.outcome in ("scored", "unscored")]


def read_evidence(run: Run) -> Evidence:
    """`gather` from the files alone. Raises ScoringError for a damaged run."""
    return gather(run, run.samples(), list(run.scores()), run.last_responses())


def _worst(scores: Sequence[Score]) -> list[Score]:
    heard = [score for score in scores if score.outcome == "scored" and score.metrics.get("wer")]
    return sorted(heard, key=lambda score: -score.metrics["wer"])[: SHOWN["scored"]]


def _latencies(responses: Iterable[Response]) -> dict[str, list[float]]:
    answered = [response for response in responses if response.answered]
    found = {}
    for name, figure in FIGURES.items():
        values = [value for r in answered for value in figure(r.timing) if value is not None]
        if values:
            found[name] = values
    return found
