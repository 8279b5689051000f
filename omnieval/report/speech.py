"""A spoken run's files to one report: every row of the data set counted once, every number traceable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from omnieval.report.accounting import Count, FailureRow, accounting, failure_rows, identity, notes
from omnieval.report.audit import HealthRow, health_rows, unhealthy
from omnieval.report.busy import BusyRow, busy_lines, busy_rows
from omnieval.report.latency import Distribution, answered_latency, latency
from omnieval.report.proportion import Proportion
from omnieval.report.servers import ServerRow, server_rows
from omnieval.report.speech_reference import SpeechReference, SpeechReferenceRow, reference_rows
from omnieval.report.stages import StageRow, stage_lines, stage_rows
from omnieval.runlog import PlannedSample, Run
from omnieval.scoring.continuity import continuity
from omnieval.scoring.sound_health import SOUND_FLAGS
from omnieval.scoring.speaker.average import SimilarityAverage, average_similarity
from omnieval.scoring.speech import WerAverage, WordErrors, aligned_words, average_wer
from omnieval.scoring.spoken import CUT, SpokenScores, similarity_metric, word_errors_of
from omnieval.stats import mean_interval
from omnieval.types import Response, Score, Timing

_SHOWN_IDS = 5


@dataclass(frozen=True, slots=True)
class Mean:
    """An unweighted mean over `utterances` with its 95 % bootstrap interval (None for fewer than two
    voices)."""

    utterances: int
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class UtteranceRow:
    """One utterance that was heard otherwise than it was written. aligned: word by word, with `[said>heard]`,
    `[-left out-]` and `[+added+]`."""

    sample_id: str
    wer: float
    errors: int
    words: int
    aligned: str


@dataclass(frozen=True, slots=True)
class MissingRow:
    """Utterances without a similarity, by the reason for the first of them."""

    count: int
    reason: str
    sample_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Playback:
    """Over the sounds that came in pieces. stalled: those that could not be played without a break; underruns
    and stalled_s: breaks and their length in all."""

    utterances: int
    stalled: int
    underruns: int
    stalled_s: float


@dataclass(frozen=True, slots=True)
class SpeechReport:
    """Everything a reader of a spoken run needs; `report.json` is this, field by field.

    run, headline, rows, complete, accounting, failures, notes, latency: as in the report of a choice run.
    asked: rows that the run asks. wer: by the official protocol; lenient: after numbers and spellings were
    made alike. recogniser, encoder: what heard and compared, or None. not_measured: why a figure is missing.
    differing: every utterance with word errors, the worst first. audio_s: seconds of sound in all.
    warmup: figures of the requests before the first that counts.
    """

    run: Mapping[str, Any]
    headline: Mapping[str, str]
    rows: int
    asked: int
    complete: bool
    wer: WerAverage | None
    lenient: Mean | None
    similarity: SimilarityAverage | None
    recogniser: Mapping[str, str] | None
    encoder: Mapping[str, str] | None
    not_measured: tuple[str, ...]
    no_similarity: tuple[MissingRow, ...]
    differing: tuple[UtteranceRow, ...]
    accounting: tuple[Count, ...]
    failures: tuple[FailureRow, ...]
    health: tuple[HealthRow, ...]
    unhealthy: Proportion
    references: tuple[SpeechReferenceRow, ...]
    latency: Mapping[str, Distribution]
    warmup: Mapping[str, Distribution]
    playback: Playback | None
    audio_s: float
    notes: tuple[str, ...]
    servers: tuple[ServerRow, ...] = ()
    busy: tuple[BusyRow, ...] = ()
    stages: tuple[StageRow, ...] = ()
    kind: Literal["speech"] = "speech"


def build_speech_report(
    run: Run,
    planned: Sequence[PlannedSample],
    spoken: SpokenScores,
    responses: Mapping[str, Response],
    references: Sequence[SpeechReference],
) -> SpeechReport:
    """Count a scored run. planned: the rows of the data set, one for each of the scores."""
    scores = spoken.scores
    pairs = list(zip(planned, scores, strict=True))
    words = {score.sample_id: word_errors_of(score) for score in scores if "wer" in score.metrics}
    voices = {planned.sample.id: planned.sample.cluster for planned, _ in pairs}
    wer = average_wer(list(words.values()), [voices[name] for name in words]) if words else None
    similarity = _similarity(spoken, voices)
    asked = sum(planned.selected for planned, _ in pairs)
    said = [responses[score.sample_id] for score in scores if score.outcome in ("scored", "unscored")]
    busy, stages = busy_rows(run), stage_rows(said)
    return SpeechReport(
        run=identity(run),
        headline=run.info["headline"],
        rows=len(pairs),
        asked=asked,
        complete=not any(score.details.get("reason") == "not finished" for score in scores),
        wer=wer,
        lenient=_mean(*_measured(scores, "lenient_wer", voices)),
        similarity=similarity,
        recogniser=spoken.recogniser,
        encoder=spoken.encoder,
        not_measured=spoken.not_measured,
        no_similarity=_without_similarity(scores),
        differing=_differing(words),
        accounting=accounting(scores, always=("scored",)),
        failures=failure_rows(pairs, responses),
        health=health_rows(pairs, order=(CUT, *SOUND_FLAGS)),
        unhealthy=unhealthy(pairs),
        references=reference_rows(
            references, run.config, whole_set=asked == len(pairs), rows=len(pairs),
            wer=wer, recogniser=spoken.recogniser, similarity=similarity, encoder=spoken.encoder,
        ),
        latency=answered_latency(said),
        warmup=latency(_warmups(run)),
        playback=_playback(said),
        audio_s=sum(score.metrics.get("duration_s", 0.0) for score in scores),
        servers=server_rows(responses.values()),
        busy=busy, stages=stages,
        notes=(
            *notes(run, responses, scores), *_channel_notes(said), *busy_lines(busy), *stage_lines(stages),
        ),
    )  # fmt: skip


def _channel_notes(said: Iterable[Response]) -> list[str]:
    """Sounds of several channels, of which one is scored."""
    several = [r.sample_id for r in said if r.audio is not None and r.audio.channels > 1]
    if not several:
        return []
    return [
        f"{len(several)} sounds have several channels, of which the first is scored, "
        f"for example {min(several)}"
    ]


def _similarity(spoken: SpokenScores, voices: Mapping[str, str]) -> SimilarityAverage | None:
    if spoken.encoder is None:
        return None
    name = spoken.encoder["name"]
    return average_similarity(name, *_measured(spoken.scores, similarity_metric(name), voices))


def _measured(
    scores: Iterable[Score], metric: str, voices: Mapping[str, str]
) -> tuple[list[float], list[str]]:
    """The values of a metric, and the reference voice that each belongs to."""
    having = [score for score in scores if metric in score.metrics]
    return [score.metrics[metric] for score in having], [voices[score.sample_id] for score in having]


def _mean(values: Sequence[float], clusters: Sequence[str]) -> Mean | None:
    if not values:
        return None
    return Mean(len(values), sum(values) / len(values), *mean_interval(values, clusters))


def _without_similarity(scores: Iterable[Score]) -> tuple[MissingRow, ...]:
    missing: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for score in scores:
        reason = score.details.get("no_similarity")
        if reason:
            kind = reason.rpartition(": ")[2]
            missing[kind].append((score.sample_id, reason))
    return tuple(
        MissingRow(len(found), found[0][1], tuple(sample_id for sample_id, _ in found[:_SHOWN_IDS]))
        for found in missing.values()
    )


def _differing(words: Mapping[str, WordErrors]) -> tuple[UtteranceRow, ...]:
    worst = sorted((item for item in words.items() if item[1].errors), key=lambda item: -item[1].wer)
    return tuple(
        UtteranceRow(sample_id, errors.wer, errors.errors, errors.words, _aligned(errors))
        for sample_id, errors in worst
    )


def _aligned(errors: WordErrors) -> str:
    """Words left out or added in a row are one mark."""
    shown: list[str] = []
    for kind, found in groupby(aligned_words(errors), key=lambda word: word.kind):
        words = list(found)
        said, heard = ([getattr(word, side) or "" for word in words] for side in ("reference", "hypothesis"))
        if kind == "substitute":
            shown += [f"[{one}>{other}]" for one, other in zip(said, heard, strict=True)]
        else:
            marks = {"equal": "{}", "delete": "[-{}-]", "insert": "[+{}+]"}[kind]
            shown.append(marks.format(" ".join(heard if kind == "insert" else said)))
    return " ".join(shown)


def _warmups(run: Run) -> list[Timing]:
    names = Timing.__dataclass_fields__
    return [
        Timing(**{name: value for name, value in event["timing"].items() if name in names})
        for event in run.events()
        if event.get("event") == "warmup" and isinstance(event.get("timing"), dict)
    ]


def _playback(responses: Iterable[Response]) -> Playback | None:
    logs = [response.audio.chunks for response in responses if response.answered and response.audio]
    known = [found for found in map(continuity, logs) if found is not None]
    if not known:
        return None
    return Playback(
        len(known),
        sum(found.underruns > 0 for found in known),
        sum(found.underruns for found in known),
        sum(found.stalled_s for found in known),
    )
