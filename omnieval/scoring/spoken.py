"""Spoken answers: what a recogniser hears in them against the text, and whose voice it is.

Nothing here needs the model that spoke: it reads the run's sounds and the reference voices, on this machine
or on another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.config import RecogniserConfig, SimilarityConfig
from omnieval.errors import ConfigError, MediaError, ScoringError
from omnieval.runlog import PlannedSample, Run
from omnieval.scoring.asr import Recogniser, Transcript, TranscriptCache, load_recogniser, transcribe
from omnieval.scoring.asr.base import Language
from omnieval.scoring.outcome import before_hearing
from omnieval.scoring.sound_health import check_samples, read_own_rate, sound_flags
from omnieval.scoring.speaker import VoiceMatcher, load_encoder
from omnieval.scoring.speech import EmptyReferenceError, WordErrors, lenient_wer, official_wer
from omnieval.scoring.speech.normalise import to_simplified
from omnieval.types import Response, Sample, Score

if TYPE_CHECKING:
    from omnieval.scoring.sound_health import Sound

# Ended by the token limit.
CUT = "cut"
# (utterances heard, utterances to hear)
Heard = Callable[[int, int], None]
_WITHOUT_TORCH = "; or --set recogniser.name=faster-whisper, which needs no torch but is not the official one"
NO_REFERENCE = "no reference voice in the data set"
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
class Judge:
    """What is at hand to judge sounds with. not_measured: why a figure cannot be taken, one sentence each."""

    language: Language
    recogniser: Recogniser | None = None
    matcher: VoiceMatcher | None = None
    described: dict[str, Mapping[str, str]] = field(default_factory=dict)
    not_measured: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Sound:
    """One sound as `read_own_rate` gives it, and where it lies."""

    path: Path
    samples: Sound
    rate_hz: int

    @classmethod
    def read(cls, path: Path) -> _Sound:
        """Raises MediaError."""
        return cls(path, *read_own_rate(path))


def similarity_metric(encoder: str) -> str:
    """The metric's name: similarities of different encoders cannot be compared."""
    return f"sim[{encoder}]"


def unheard(
    run: Run,
    responses: Mapping[str, Response],
    language: Language,
    earlier: Mapping[str, Score] | None = None,
) -> SpokenScores:
    """What is known without a recogniser: outcomes, and the health of the sounds by themselves.

    earlier: scores of an earlier hearing, by sample id; they hold where the sound is still the same.
    """
    scores, deaf = [], Judge(language)
    for planned in run.samples():
        sample, response = planned.sample, responses.get(planned.sample.id)
        score = before_hearing(sample, response, selected=planned.selected)
        known = (earlier or {}).get(score.sample_id)
        if score.outcome == "unscored" and response is not None:
            if known is not None and _same_sound(known, response):
                score = known
            else:
                found = _usable(run, sample, response)
                score = found if isinstance(found, Score) else _judged(deaf, sample, found, response)
        scores.append(score)
    return SpokenScores(scores)


def _same_sound(score: Score, response: Response) -> bool:
    heard = score.details.get("sound")
    return heard is not None and response.audio is not None and heard == response.audio.sha256


def score_spoken(
    run: Run,
    responses: Mapping[str, Response],
    judge: Judge,
    *,
    transcripts: Path,
    references: Callable[[Path], Path] = lambda path: path,
    heard: Heard = lambda _done, _total: None,
) -> SpokenScores:
    """Hear every spoken answer of a run.

    responses: the try that counts, by sample id. judge: see `load_judge`. transcripts: folder where they are
    remembered, as far as it can be written. references: where a reference voice lies on this machine, by its
    path in the run. heard: is told how far it is.
    """
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
            scores[sample.id] = _judged(
                judge, sample, _Sound.read(path), responses[sample.id], texts.get(path), references
            )
    _say_if_no_similarity(judge, scores.values())
    return SpokenScores(
        [scores[p.sample.id] for p in planned],
        recogniser=judge.described.get("recogniser"),
        encoder=judge.described.get("encoder"),
        not_measured=tuple(judge.not_measured),
    )


def load_judge(language: Language, recogniser: RecogniserConfig, similarity: SimilarityConfig) -> Judge:
    """The recogniser and the encoder, loaded. What cannot be had for want of a package, model or device is
    said in `not_measured`, and the other is loaded all the same."""
    judge = Judge(language)
    name = _OFFICIAL[language] if recogniser.name == "auto" else recogniser.name
    try:
        if language == "zh":
            to_simplified("")  # the protocol's, hence needed
        judge.recogniser = load_recogniser(name, recogniser.model, device=recogniser.device)
        judge.described["recogniser"] = {"name": name, **judge.recogniser.details}
    except (ConfigError, ScoringError) as error:
        other = "" if name == "faster-whisper" else _WITHOUT_TORCH
        judge.not_measured.append(f"WER was not measured: {error}{other}")
    if similarity.encoder == "none":
        return judge
    try:
        encoder = load_encoder(similarity.encoder, similarity.model, device=similarity.device)
        judge.matcher = VoiceMatcher(encoder)
        model = "carried by its package" if similarity.model is None else str(similarity.model)
        size = getattr(encoder, "size", None)
        judge.described["encoder"] = {"name": encoder.name, "model": model} | ({"size": size} if size else {})
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
        found = _usable(run, sample, responses[sample.id])
        if isinstance(found, Score):
            scores[sample.id] = found
        else:
            usable[sample.id] = found.path
    return usable


def _usable(run: Run, sample: Sample, response: Response) -> _Sound | Score:
    """The sound of an answer, or why it is none."""
    audio = response.audio
    path = run.directory / ((audio and audio.file) or f"audio/{sample.id}.wav")
    try:
        sound = _Sound.read(path)
        problem = check_samples(sound.samples)
    except MediaError as error:
        problem = str(error)
    else:
        if problem is None:
            return sound
    message = problem if str(path) in problem else f"{path}: {problem}"
    return _failed(sample, "audio", message, "is the server's vocoder sound?")


def _transcripts(judge: Judge, paths: Sequence[Path], folder: Path, heard: Heard) -> dict[Path, Transcript]:
    if judge.recogniser is None or not paths:
        return {}
    cache = TranscriptCache(folder, judge.recogniser, judge.language)
    done: dict[Path, Transcript] = {}
    for transcript in transcribe(judge.recogniser, paths, judge.language, cache=cache):
        done[transcript.path] = transcript
        heard(len(done), len(paths))
    return done


def _judged(
    judge: Judge,
    sample: Sample,
    sound: _Sound,
    response: Response,
    transcript: Transcript | None = None,
    references: Callable[[Path], Path] = lambda path: path,
) -> Score:
    """The score of one usable sound."""
    samples, rate_hz = sound.samples, sound.rate_hz
    hypothesis = None if transcript is None else transcript.text
    flags = sound_flags(
        samples, rate_hz, text=sample.question, language=judge.language, hypothesis=hypothesis
    )
    if response.finish_reason == "length":
        flags = (CUT, *flags)
    metrics = {"duration_s": round(len(samples) / rate_hz, 6)}
    details: dict[str, Any] = {"sound": response.audio.sha256 if response.audio else None}
    if judge.matcher is not None:
        _add_similarity(judge.matcher, sample, sound.path, references, metrics, details)
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
    if language == "zh":
        hypothesis = to_simplified(hypothesis)
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


def word_errors_of(score: Score) -> WordErrors:
    """The word errors that a scored utterance was stored with. Raises KeyError where it has none."""
    details = score.details
    return WordErrors(
        score.metrics["wer"],
        details["substitutions"],
        details["deletions"],
        details["insertions"],
        details["reference"],
        details["hypothesis"],
    )


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
        details["no_similarity"] = NO_REFERENCE
        return
    try:
        metrics[similarity_metric(matcher.encoder.name)] = matcher.similarity(references(reference), path)
    except (MediaError, ScoringError) as error:
        details["no_similarity"] = str(error)
    except Exception as error:  # noqa: BLE001 - an encoder may fail in any way; it costs one figure
        details["no_similarity"] = f"{path}: {type(error).__name__}: {error}"


def _say_if_no_similarity(judge: Judge, scores: Collection[Score]) -> None:
    """An encoder that could compare nothing, though there were voices to compare with, measured nothing."""
    if judge.matcher is None:
        return
    metric = similarity_metric(judge.matcher.encoder.name)
    reasons = [score.details.get("no_similarity") for score in scores if metric not in score.metrics]
    if any(metric in score.metrics for score in scores):
        return
    telling = [reason for reason in reasons if reason and reason != NO_REFERENCE]
    if telling:
        judge.not_measured.append(f"SIM was not measured: {telling[0]}")


def _failed(sample: Sample, kind: str, message: str, hint: str | None) -> Score:
    return Score(sample.id, "failed", failure_kind=kind, details={"message": message, "hint": hint})


def _failing(score: Score, kind: str, message: str) -> Score:
    """The score with its figures so far, but without word errors."""
    return replace(score, outcome="failed", failure_kind=kind, details={**score.details, "message": message})
