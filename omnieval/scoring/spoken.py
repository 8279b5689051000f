"""Spoken answers: what a recogniser hears in them against the text, and whose voice it is.

Nothing here needs the model that spoke: it reads the run's sounds and the reference voices, on this machine
or on another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omnieval.config import RecogniserConfig, SimilarityConfig
from omnieval.errors import ConfigError, MediaError, ScoringError
from omnieval.runlog import PlannedSample, Run
from omnieval.scoring.asr import Recogniser, Transcript, TranscriptCache, load_recogniser, transcribe
from omnieval.scoring.asr.base import Language
from omnieval.scoring.outcome import before_hearing
from omnieval.scoring.sound_health import check_samples, read_own_rate, sound_flags
from omnieval.scoring.speaker import VoiceMatcher, load_encoder
from omnieval.scoring.speech import EmptyReferenceError, lenient_wer, official_wer
from omnieval.types import Response, Sample, Score

# (utterances heard, utterances to hear)
Heard = Callable[[int, int], None]
_OFFICIAL: Mapping[str, str] = {"en": "whisper-hf", "zh": "paraformer"}


@dataclass(frozen=True)
class SpokenScores:
    """scores: one a row of the data set, in its order. recogniser, encoder: what the figures depend on, None
    where they were not taken. not_measured: why a figure is missing, one sentence each."""

    scores: list[Score]
    recogniser: Mapping[str, str] | None = None
    encoder: Mapping[str, str] | None = None
    not_measured: tuple[str, ...] = ()


@dataclass
class _Judge:
    """What is at hand to judge sounds with."""

    language: Language
    recogniser: Recogniser | None = None
    matcher: VoiceMatcher | None = None
    described: dict[str, Mapping[str, str]] = field(default_factory=dict)
    not_measured: list[str] = field(default_factory=list)


def similarity_metric(encoder: str) -> str:
    """The metric's name: similarities of different encoders cannot be compared."""
    return f"sim[{encoder}]"


def unscored(run: Run, responses: Mapping[str, Response]) -> SpokenScores:
    """The outcomes as far as they are known before a recogniser has heard anything."""
    scores = [
        before_hearing(p.sample, responses.get(p.sample.id), selected=p.selected) for p in run.samples()
    ]
    return SpokenScores(scores)


def score_spoken(
    run: Run,
    responses: Mapping[str, Response],
    *,
    recogniser: RecogniserConfig,
    similarity: SimilarityConfig,
    transcripts: Path,
    references: Callable[[Path], Path] = lambda path: path,
    heard: Heard = lambda _done, _total: None,
) -> SpokenScores:
    """Hear every spoken answer of a run.

    responses: the try that counts, by sample id. transcripts: folder where they are remembered. references:
    where a reference voice lies on this machine, by its path in the run. heard: is told how far it is.
    What cannot be measured for want of a package, model or device is said, and the rest is measured.
    Raises StorageError when the transcripts cannot be kept.
    """
    language: Language = "zh" if run.config["language"] == "zh" else "en"
    judge = _judge(language, recogniser, similarity)
    planned = list(run.samples())
    scores = {
        p.sample.id: before_hearing(p.sample, responses.get(p.sample.id), selected=p.selected)
        for p in planned
    }
    sounds = _sounds(run, planned, responses, scores)
    texts = _transcripts(judge, list(sounds.values()), transcripts, heard)
    for planned_sample in planned:
        sample = planned_sample.sample
        if sample.id in sounds:
            path = sounds[sample.id]
            scores[sample.id] = _judged(judge, sample, path, texts.get(path), references)
    return SpokenScores(
        [scores[p.sample.id] for p in planned],
        recogniser=judge.described.get("recogniser"),
        encoder=judge.described.get("encoder"),
        not_measured=tuple(judge.not_measured),
    )


def _judge(language: Language, recogniser: RecogniserConfig, similarity: SimilarityConfig) -> _Judge:
    judge = _Judge(language)
    name = _OFFICIAL[language] if recogniser.name == "auto" else recogniser.name
    try:
        judge.recogniser = load_recogniser(name, recogniser.model, device=recogniser.device)
        judge.described["recogniser"] = {"name": name, **judge.recogniser.details}
    except (ConfigError, ScoringError) as error:
        judge.not_measured.append(f"WER was not measured: {error}")
    if similarity.encoder == "none":
        return judge
    try:
        encoder = load_encoder(similarity.encoder, similarity.model, device=similarity.device)
        judge.matcher = VoiceMatcher(encoder)
        model = "carried by its package" if similarity.model is None else str(similarity.model)
        judge.described["encoder"] = {"name": encoder.name, "model": model}
    except (ConfigError, ScoringError) as error:
        judge.not_measured.append(f"SIM was not measured: {error}")
    return judge


def _sounds(
    run: Run,
    planned: Sequence[PlannedSample],
    responses: Mapping[str, Response],
    scores: dict[str, Score],
) -> dict[str, Path]:
    """The usable sounds by sample id; the others get their failure in `scores`."""
    usable: dict[str, Path] = {}
    for planned_sample in planned:
        sample = planned_sample.sample
        if scores[sample.id].outcome != "unscored":
            continue
        audio = responses[sample.id].audio
        path = run.directory / ((audio and audio.file) or f"audio/{sample.id}.wav")
        try:
            samples, _ = read_own_rate(path)
            problem = check_samples(samples)
        except MediaError as error:
            problem = str(error)
        if problem is None:
            usable[sample.id] = path
        else:
            message = problem if str(path) in problem else f"{path}: {problem}"
            scores[sample.id] = _failed(sample, "audio", message, "is the server's vocoder sound?")
    return usable


def _transcripts(judge: _Judge, paths: Sequence[Path], folder: Path, heard: Heard) -> dict[Path, Transcript]:
    if judge.recogniser is None or not paths:
        return {}
    cache = TranscriptCache(folder, judge.recogniser, judge.language)
    done: dict[Path, Transcript] = {}
    for transcript in transcribe(judge.recogniser, paths, judge.language, cache=cache):
        done[transcript.path] = transcript
        heard(len(done), len(paths))
    return done


def _judged(
    judge: _Judge,
    sample: Sample,
    path: Path,
    transcript: Transcript | None,
    references: Callable[[Path], Path],
) -> Score:
    """The score of one usable sound."""
    samples, rate_hz = read_own_rate(path)
    hypothesis = None if transcript is None else transcript.text
    flags = sound_flags(
        samples, rate_hz, text=sample.question, language=judge.language, hypothesis=hypothesis
    )
    metrics = {"duration_s": round(len(samples) / rate_hz, 6)}
    details: dict[str, Any] = {}
    if judge.matcher is not None:
        _add_similarity(judge.matcher, sample, path, references, metrics, details)
    score = Score(sample.id, "unscored", metrics=metrics, flags=flags, details=details)
    if judge.recogniser is None or transcript is None:
        return score
    if transcript.text is None:
        kind = "audio" if transcript.problem == "media" else "recogniser"
        return _failing(score, kind, transcript.message or f"sample {sample.id}: no transcript")
    try:
        _add_words(judge.language, sample.question, transcript.text, metrics, details)
    except EmptyReferenceError as error:
        return _failing(score, "reference", f"sample {sample.id}: {error}")
    return replace(score, outcome="scored", answer=transcript.text, rule=judge.recogniser.name)


def _add_words(
    language: Language, text: str, hypothesis: str, metrics: dict[str, float], details: dict[str, Any]
) -> None:
    """Word errors by both rules; the lenient one only where its packages are installed."""
    words = official_wer(text, hypothesis, language=language)
    metrics["wer"] = words.wer
    details |= {
        "substitutions": words.substitutions,
        "deletions": words.deletions,
        "insertions": words.insertions,
        "words": words.words,
        "reference": words.reference,
        "hypothesis": words.hypothesis,
    }
    with contextlib.suppress(ConfigError, EmptyReferenceError):
        metrics["lenient_wer"] = lenient_wer(text, hypothesis, language=language).wer


def _add_similarity(
    matcher: VoiceMatcher,
    sample: Sample,
    path: Path,
    references: Callable[[Path], Path],
    metrics: dict[str, float],
    details: dict[str, Any],
) -> None:
    reference = sample.media.get("reference")
    if reference is None:
        details["no_similarity"] = "no reference voice in the data set"
        return
    try:
        metrics[similarity_metric(matcher.encoder.name)] = matcher.similarity(references(reference), path)
    except (MediaError, ScoringError) as error:
        details["no_similarity"] = str(error)
    except Exception as error:  # noqa: BLE001 - an encoder may fail in any way; it costs one figure
        details["no_similarity"] = f"{path}: {type(error).__name__}: {error}"


def _failed(sample: Sample, kind: str, message: str, hint: str | None) -> Score:
    return Score(sample.id, "failed", failure_kind=kind, details={"message": message, "hint": hint})


def _failing(score: Score, kind: str, message: str) -> Score:
    """The score with its figures so far, but without word errors."""
    return replace(score, outcome="failed", failure_kind=kind, details={**score.details, "message": message})
