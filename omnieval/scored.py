"""A run asked and scored, or scored again: what the command line and Python share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from omnieval.benchmarks.seed_tts_list import locate
from omnieval.config import RecogniserConfig, RunConfig, SimilarityConfig, environment_paths
from omnieval.engine.execute import Execution, Notify, execute
from omnieval.engine.progress import Listener
from omnieval.errors import ConfigError, ScoringError
from omnieval.media.cache import MediaCache, default_cache_dir
from omnieval.media.prepare import carried_file
from omnieval.media.source import archive_of
from omnieval.report.build import Report, build_report
from omnieval.report.early import early_end, marked
from omnieval.report.gate import early_plan
from omnieval.report.html import gather, report_html
from omnieval.report.markdown import to_markdown
from omnieval.report.pages import page_of
from omnieval.report.reference import load_references
from omnieval.report.speech import SpeechReport, build_speech_report
from omnieval.report.speech_reference import load_speech_references
from omnieval.report.stored import read_report
from omnieval.runlog import PlannedSample, Run
from omnieval.runlog.files import replace_file, replace_json
from omnieval.runlog.schema import to_line
from omnieval.runlog.store import REPORT_HTML, REPORT_JSON, REPORT_MD, SCORES, exists
from omnieval.scoring.choice import score_choices
from omnieval.scoring.early import EarlyPlan
from omnieval.scoring.spoken import Heard, SpokenScores, load_judge, score_spoken, unheard
from omnieval.settings import reconfigure, rule_named
from omnieval.types import Response, Score
from omnieval.wording import as_typed, suggest

# What scoring a spoken run may change.
_HEARING = frozenset({"recogniser", "similarity"})


def execute_and_score(
    config: RunConfig,
    *,
    out: Path | str | None = None,
    gate_section: str | None = None,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    heard: Heard = lambda _done, _total: None,
) -> Execution:
    """Begin or continue the run of a resolved configuration, then score it as far as it came.

    gate_section: whose lines of its gate may end it early, instead of those for its recipe. Sounds are heard
    where the configuration says `score: now`.
    """
    directory = None if out is None else Path(out).expanduser()
    execution = execute(
        config,
        out=directory,
        api_key=api_key or os.environ.get(config.api_key_env),
        listener=listener,
        notify=notify,
        early=_early(config, directory, gate_section),
    )
    run = execution.run
    if run.info.get("scoring") == "speech":
        _score_speech(run, config if config.flat()["score"] == "now" else None, None, heard)
    else:
        _score_choices(run, None)
    return execution


def _early(config: RunConfig, directory: Path | None, section: str | None) -> EarlyPlan | None:
    """What may end the run early: the lines that it was begun with, else those of its gate now."""
    if config.stop_when is not None and directory is not None and exists(directory):
        stored = Run.load(directory).info.get("early")
        if stored is not None:
            return TypeAdapter(EarlyPlan).validate_python(stored)
    return early_plan(config, section)


def score_with(
    run: Run,
    *,
    parser: str | None = None,
    data: Path | str | None = None,
    heard: Heard = lambda _done, _total: None,
    overrides: Sequence[tuple[str, Any]] = (),
) -> Report | SpeechReport:
    """`score` with settings as (dotted key, value)."""
    spoken = run.info.get("scoring") == "speech"
    strange = [key for key, _ in overrides if not spoken or key.partition(".")[0] not in _HEARING]
    if strange:
        raise ConfigError(
            f"scoring a run cannot change {', '.join(strange)}"
            + suggest(strange[0], sorted(_HEARING) if spoken else ["parser"])
        )
    if not spoken:
        if data is not None:
            raise ConfigError("only spoken runs need --data to be scored")
        return _score_choices(run, parser)
    if parser is not None:
        raise ConfigError("a spoken run has no letters to parse; give recogniser.name instead of a parser")
    return _score_speech(run, reconfigure(run.directory, overrides), data, heard)


def _score_choices(run: Run, parser: str | None) -> Report:
    benchmark = run.config["benchmark"]
    rule = rule_named(benchmark, parser or run.config["parser"])
    planned, responses = list(run.samples()), run.last_responses()
    scores = score_choices(run, planned, responses, rule=rule)
    early = early_end(run, planned, scores)
    scores = marked(scores, early)
    references = load_references(benchmark)
    report = build_report(run, planned, scores, responses, references, parser=rule, early=early)
    keep(run, planned, scores, report, responses)
    return report


def _score_speech(run: Run, config: RunConfig | None, data: Path | str | None, heard: Heard) -> SpeechReport:
    """config: whom to hear with; None hears nothing yet."""
    responses = run.last_responses()
    if config is None:
        spoken = _as_heard_before(run, responses)
    else:
        flat = config.flat()
        judge = load_judge(
            flat["language"],
            RecogniserConfig.model_validate(flat["recogniser"]),
            SimilarityConfig.model_validate(flat["similarity"]),
        )
        _keep_what_was_measured(run, judge.not_measured)
        cache_root = _cache_here(config)
        spoken = score_spoken(
            run,
            responses,
            judge,
            transcripts=cache_root / "transcripts",
            references=_references(run, data, cache_root),
            heard=heard,
        )
    planned = list(run.samples())
    references = load_speech_references(run.config["benchmark"])
    report = build_speech_report(run, planned, spoken, responses, references)
    keep(run, planned, spoken.scores, report, responses)
    return report


def _keep_what_was_measured(run: Run, not_measured: Sequence[str]) -> None:
    """Refuse to replace figures by none. Raises ScoringError."""
    try:
        before = read_report(run)
    except ScoringError:
        return
    has = before.kind == "speech" and (before.wer is not None or before.similarity is not None)
    if not_measured and has:
        raise ScoringError(
            f"{run.directory}: not scored again, and the report stays as it was: {'; '.join(not_measured)}"
        )


def _cache_here(config: RunConfig) -> Path:
    """The cache of the run where this machine has it, else this machine's own."""
    named = environment_paths(os.environ).get("cache_dir")
    if config.cache_dir is not None and config.cache_dir.is_dir():
        return config.cache_dir
    return Path(named).expanduser().absolute() if named else default_cache_dir()


def _as_heard_before(run: Run, responses: Mapping[str, Response]) -> SpokenScores:
    """What is known without hearing anything now: earlier figures of sounds that are still the same."""
    language = run.config["language"]
    try:
        report = read_report(run)
    except ScoringError:
        return unheard(run, responses, language)
    if report.kind != "speech":
        return unheard(run, responses, language)
    earlier = {score.sample_id: score for score in run.scores()}
    found = unheard(run, responses, language, earlier)
    return replace(found, recogniser=report.recogniser, encoder=report.encoder)


def _references(run: Run, data: Path | str | None, cache_root: Path) -> Callable[[Path], Path]:
    """Where a reference voice of the run lies now; one in an archive is copied out."""
    before = now = Path(run.info["dataset"]["root"])
    if data is not None:
        name = run.info["headline"].get("list", run.config["utterances"])
        now = locate(Path(data).expanduser().resolve(), run.config["language"], name).parent
    cache: MediaCache | None = None

    def here(path: Path) -> Path:
        nonlocal cache
        moved = now / path.relative_to(before) if path.is_relative_to(before) else path
        if archive_of(moved) is None:
            return moved
        cache = cache or MediaCache(cache_root, tidy=False)
        return carried_file(moved, cache)

    return here


def keep(
    run: Run,
    planned: Sequence[PlannedSample],
    scores: Sequence[Score],
    report: Report | SpeechReport,
    responses: Mapping[str, Response],
) -> None:
    """Write what scoring gave. scores: one a planned row. responses: the try that counts, by sample id."""
    kind: Any = type(report)
    then = f"score the run: omnieval score {as_typed(run.directory)}"
    content = TypeAdapter(kind).dump_python(report, mode="json")
    replace_file(run.directory / SCORES, (to_line(score) for score in scores), then=then)
    replace_json(run.directory / REPORT_JSON, content, then=then)
    replace_file(run.directory / REPORT_MD, [to_markdown(page_of(report)).encode()], then=then)
    evidence = gather(run, planned, scores, responses)
    replace_file(run.directory / REPORT_HTML, [report_html(run, report, evidence).encode()], then=then)
