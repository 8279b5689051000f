"""What every report has in common: of which run it is, every row of the data set counted, what failed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnieval.report.story import story_of
from omnieval.runlog import PlannedSample, Run
from omnieval.runlog.rows import failure_of
from omnieval.types import FAILURE_KINDS, Failure, Response, Score
from omnieval.wording import counted

_SHOWN_IDS = 5
_SHOWN_REASONS = 3
_LABELS = {
    "correct": "answered, correct",
    "wrong": "answered, wrong",
    "unparsed": "answered, no letter found (counts as wrong)",
    "scored": "answered, heard by the recogniser",
    "unscored": "answered, not heard by a recogniser yet",
    "no_gold": "no usable answer in the data set",
}


@dataclass(frozen=True, slots=True)
class Count:
    """One line of the accounting."""

    label: str
    count: int


@dataclass(frozen=True, slots=True)
class FailureRow:
    """One kind of failure: how many, one message of them, the next step, and the first sample ids.

    others: further messages, each with its next step, that say something else and not the same of another
    file or row. reasons: how many different things the messages say.
    """

    kind: str
    count: int
    message: str
    hint: str | None
    sample_ids: tuple[str, ...]
    others: tuple[str, ...] = ()
    reasons: int = 1


def identity(run: Run) -> dict[str, Any]:
    """What identifies a run."""
    info = run.info
    return {
        "directory": run.name,
        "recipe": run.config["recipe"],
        "recipe_hash": info["recipe_hash"],
        "benchmark": run.config["benchmark"],
        "backend": run.config["backend"],
        "model": info["server"].get("model") or run.config["model"],
        "server_version": info["server"].get("version"),
        "fingerprint": info["dataset"]["fingerprint"],
        "started": info["started"],
        "omnieval": info["versions"]["omnieval"],
    }


def accounting(scores: Iterable[Score], always: Collection[str] = ()) -> tuple[Count, ...]:
    """Every score counted once. always: outcomes that are shown also where nothing has them."""
    counts: Counter[str] = Counter()
    for score in scores:
        if score.outcome == "failed":
            counts[f"failed: {score.failure_kind}"] += 1
        elif score.outcome == "not_asked":
            counts[f"not asked: {score.details['reason']}"] += 1
        else:
            counts[_LABELS[score.outcome]] += 1
    kinds = [f"failed: {kind}" for kind in FAILURE_KINDS]
    order = [*_LABELS.values(), *kinds, *sorted(label for label in counts if label.startswith("not asked"))]
    shown = {_LABELS[outcome] for outcome in always} | set(counts)
    other = sorted(set(counts) - set(order))
    return tuple(Count(label, counts[label]) for label in [*order, *other] if label in shown)


def failure_rows(
    pairs: Iterable[tuple[PlannedSample, Score]], responses: Mapping[str, Response]
) -> tuple[FailureRow, ...]:
    """One row a kind, in a fixed order."""
    by_kind: dict[str, list[tuple[PlannedSample, Failure]]] = defaultdict(list)
    for planned, score in pairs:
        if score.outcome != "failed":
            continue
        failure = failure_of(planned, score, responses.get(score.sample_id))
        assert failure is not None
        by_kind[failure.kind].append((planned, failure))
    order = [*FAILURE_KINDS, *sorted(set(by_kind) - set(FAILURE_KINDS))]
    return tuple(_failure_row(kind, by_kind[kind]) for kind in order if kind in by_kind)


def _failure_row(kind: str, failed: Sequence[tuple[PlannedSample, Failure]]) -> FailureRow:
    by_reason: dict[str, Failure] = {}
    for planned, failure in failed:
        by_reason.setdefault(_reason(planned, failure), failure)
    first, *others = by_reason.values()
    return FailureRow(
        kind,
        len(failed),
        first.message,
        first.hint,
        tuple(planned.sample.id for planned, _ in failed[:_SHOWN_IDS]),
        tuple(sentence(failure.message, failure.hint) for failure in others[: _SHOWN_REASONS - 1]),
        len(by_reason),
    )


def _reason(planned: PlannedSample, failure: Failure) -> str:
    """A message without what differs from file to file and from row to row: names, paths and numbers."""
    message = failure.message
    for name in (planned.sample.id, planned.sample.cluster):
        message = message.replace(name, "")
    return re.sub(r"\S*[/.\d'\"]\S*", "", message)


def sentence(message: str, hint: str | None) -> str:
    """What happened, and the next step where it is known."""
    return f"{message} ({hint})" if hint else message


def _of_models(run: Run, responses: Iterable[Response]) -> list[str]:
    """Which models the answers are of, where they do not all say the one that was asked."""
    names = Counter(r.model for r in responses if r.answered and r.model is not None)
    asked = run.info["server"].get("model")
    if len(names) < 2 and asked in (None, *names):
        return []
    said = ", ".join(
        f"{name} ({counted(count, 'answer', 'answers')})" for name, count in names.most_common(5)
    )
    return [f"the answers name other models than {asked}: {said}"] if names else []


def notes(run: Run, responses: Mapping[str, Response], scores: Sequence[Score]) -> tuple[str, ...]:
    """What a reader must know of the data, the media and the answers, one sentence each."""
    strangers = len(set(responses) - {score.sample_id for score in scores})
    lines: list[str] = list(run.info["dataset"]["notes"])
    if strangers:
        holds = counted(strangers, "sample", "samples")
        lines.append(f"responses.jsonl holds {holds} that this run does not have; ignored")
    story = story_of(run.events())
    mended = story.mended
    for response in responses.values():
        for note in response.notes:
            mended[note].add(response.sample_id)
    lines += [*story.lines(), *_of_models(run, responses.values())]
    for note, samples in mended.items():
        lines.append(f"{note} ({counted(len(samples), 'sample', 'samples')}, for example {min(samples)})")
    return tuple(lines)
