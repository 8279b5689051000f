"""The verbs of omnieval for Python: run, resume, prepare, load_run, score, load_report, compare, gate.

>>> from omnieval import api
>>> run = api.run("daily-omni", sample=True, backend="chance", limit=4)
>>> api.load_report(run).official.total
4
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.benchmarks.seed_tts_list import locate
from omnieval.config import (
    RecogniserConfig,
    RunConfig,
    SimilarityConfig,
    Strict,
    environment_paths,
    load_recipe,
    resolve,
    suggest,
)
from omnieval.engine.execute import Execution, Notify, execute
from omnieval.engine.execute import check as check_deployment
from omnieval.engine.fill import Filled, fill_cache
from omnieval.engine.preflight import Finding
from omnieval.engine.progress import Listener
from omnieval.errors import ConfigError, DataError, ScoringError
from omnieval.media.cache import MediaCache, default_cache_dir
from omnieval.media.prepare import carried_file
from omnieval.media.source import archive_of, is_archive
from omnieval.parsing import RULES
from omnieval.recipe_files import find_recipe
from omnieval.report.build import Report, build_report
from omnieval.report.compare import Comparison, compare_runs, load_side
from omnieval.report.gate import GateResult, find_gate, judge_run, load_gate
from omnieval.report.markdown import to_markdown
from omnieval.report.pages import page_of
from omnieval.report.reference import load_references
from omnieval.report.speech import SpeechReport, build_speech_report
from omnieval.report.speech_reference import load_speech_references
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.files import replace_file, replace_json
from omnieval.runlog.schema import to_line
from omnieval.runlog.store import GATE_JSON, REPORT_JSON, REPORT_MD, SCORES
from omnieval.samples import sample_dir, sample_settings
from omnieval.scoring.choice import score_choices
from omnieval.scoring.spoken import Heard, SpokenScores, load_judge, score_spoken, unscored
from omnieval.types import Response, Score

# Mappings whose keys are free; they are replaced whole, not merged key by key.
_FREE_MAPPINGS = frozenset({"extra_body", "filter", "groups"})
# What scoring a spoken run may change.
_HEARING = frozenset({"recogniser", "similarity"})
# Short names of settings that lie in a section, for Python and the command line alike.
SHORT_NAMES: Mapping[str, str] = {
    "limit": "select.limit",
    "sample_id": "select.sample_id",
    "filter": "select.filter",
    "shuffle_seed": "select.shuffle_seed",
    "transport": "transport.kind",
}


def run(
    recipe: str | Path,
    *,
    out: Path | str | None = None,
    sample: bool = False,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> Run:
    """Run a recipe to its end and score it.

    recipe: name of a bundled recipe or path of a file. out: the run directory; one that holds a run of
    the same configuration is continued. sample: use the data that the package carries. api_key: else
    the environment variable that the configuration names. settings: recipe keys; sections may be given
    as mappings, which are merged key by key (`decode={"max_tokens": 64}`), and `limit`, `sample_id`,
    `filter` and `shuffle_seed` stand for those of `select`.
    Returns the run directory, scored. An interrupted run is returned too; its report is not complete.
    Raises ConfigError, DataError, BackendError, StorageError.
    """
    config = configure(recipe, list(_flattened(settings)), sample=sample)
    return execute_and_score(config, out=out, api_key=api_key, listener=listener, notify=notify).run


def resume(
    directory: Path | str,
    *,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> Run:
    """Continue a run where it stopped; samples that failed are asked again.

    settings: only keys that do not change what is measured (base_url, concurrency, timeouts, ...).
    Raises ConfigError listing the differences for any other.
    """
    config = reconfigure(directory, list(_flattened(settings)))
    return execute_and_score(config, out=directory, api_key=api_key, listener=listener, notify=notify).run


def prepare(
    recipe: str | Path,
    *,
    sample: bool = False,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> Filled:
    """Fill the media cache for a recipe without asking a model; settings as for `run`.

    Raises ConfigError, DataError, StorageError. A file that cannot be prepared is in the result.
    """
    config = configure(recipe, list(_flattened(settings)), sample=sample)
    return fill_cache(config, listener=listener, notify=notify)


def check(
    recipe: str | Path,
    *,
    sample: bool = False,
    api_key: str | None = None,
    found: Callable[[Finding], None] = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> list[Finding]:
    """Ask a deployment what a run of this recipe depends on; settings as for `run`.

    found: is told each finding as it is made. Raises ConfigError, DataError, BackendError.
    """
    config = configure(recipe, list(_flattened(settings)), sample=sample)
    return check_config(config, api_key=api_key, found=found, notify=notify)


def check_config(
    config: RunConfig,
    *,
    api_key: str | None = None,
    found: Callable[[Finding], None] = lambda _: None,
    notify: Notify = lambda _: None,
) -> list[Finding]:
    """`check` of a resolved configuration."""
    key = api_key or os.environ.get(config.api_key_env)
    return check_deployment(config, api_key=key, found=found, notify=notify)


def load_run(path: Path | str) -> Run:
    """Open a run directory for reading. Raises ScoringError when it holds no run."""
    return Run.load(Path(path))


def score(
    run: Run | Path | str,
    *,
    parser: str | None = None,
    data: Path | str | None = None,
    heard: Heard = lambda _done, _total: None,
    **settings: Any,
) -> Report | SpeechReport:
    """Score a run, or the one in a directory, from its files; write scores.jsonl, report.json and report.md.

    parser: another rule than the run's own; `official` is the benchmark's. For spoken runs, data is where the
    reference voices lie on this machine when that is not where the run found them, heard is told (done,
    total), and settings are `recogniser` and `similarity`, such as `recogniser={"name": "whisper-hf"}`.
    Raises ConfigError for an unknown rule or setting, ScoringError for a damaged run.
    """
    loaded = run if isinstance(run, Run) else load_run(run)
    return score_with(loaded, parser=parser, data=data, heard=heard, overrides=list(_flattened(settings)))


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


def score_recordings(
    audio: Path | str,
    meta: Path | str,
    *,
    language: str | None = None,
    out: Path | str | None = None,
    overrides: Sequence[tuple[str, Any]] = (),
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    heard: Heard = lambda _done, _total: None,
) -> Execution:
    """Score `{id}.wav` files that any system made, as a run of its own.

    audio: their folder. meta: the list that they were made from. language: en or zh; else that of the list's
    folder. out, overrides, listener, notify: as for a run. Raises ConfigError, DataError.
    """
    folder, place = Path(audio).expanduser(), Path(meta).expanduser()
    if not folder.is_dir() or not any(folder.iterdir()):
        raise DataError(
            f"{folder}: no folder with sounds in it; --audio names the one with the {{id}}.wav files"
        )
    if not place.exists():
        raise DataError(f"{place}: no such list; --meta names the one that was spoken")
    if language not in (None, "en", "zh"):
        raise ConfigError(f"unknown language {language!r}; --language is en or zh")
    spoken = language or place.absolute().parent.name
    if spoken not in ("en", "zh"):
        raise ConfigError(f"{place}: which language is this list? give --language en or zh")
    if out is not None and (Path(out) / "run.json").exists():
        raise ConfigError(
            f"{out}: holds a run already; give another --out, or hear its sounds again with "
            f"`omnieval score {out}`"
        )
    utterances = place.name if place.is_file() and not is_archive(place) else "meta.lst"
    given = [
        ("utterances", utterances), ("backend", "recorded"), ("model", folder.absolute().name),
        ("recordings", str(folder)),
        ("data", str(place)), ("language", spoken), ("score", "now"), ("warmup", 0),
    ]  # fmt: skip
    config = configure("seed-tts", [*given, *overrides])
    return execute_and_score(config, out=out, listener=listener, notify=notify, heard=heard)


def _score_choices(run: Run, parser: str | None) -> Report:
    benchmark = run.config["benchmark"]
    rule = _rule(benchmark, parser or run.config["parser"])
    responses = run.last_responses()
    scores = list(score_choices(run, responses, rule=rule))
    report = build_report(run, scores, responses, load_references(benchmark), parser=rule)
    _keep(run, scores, report)
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
    report = build_speech_report(run, spoken, responses, load_speech_references(run.config["benchmark"]))
    _keep(run, spoken.scores, report)
    return report


def _keep_what_was_measured(run: Run, not_measured: Sequence[str]) -> None:
    """Refuse to replace figures by none. Raises ScoringError."""
    try:
        before = load_report(run)
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
    try:
        report = load_report(run)
    except ScoringError:
        return unscored(run, responses)
    if report.kind != "speech":
        return unscored(run, responses)
    earlier = {score.sample_id: score for score in run.scores()}
    return replace(unscored(run, responses, earlier), recogniser=report.recogniser, encoder=report.encoder)


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


def _keep(run: Run, scores: Sequence[Score], report: Report | SpeechReport) -> None:
    """Write what scoring gave."""
    kind: Any = type(report)
    replace_file(run.directory / SCORES, (to_line(score) for score in scores))
    replace_json(run.directory / REPORT_JSON, TypeAdapter(kind).dump_python(report, mode="json"))
    replace_file(run.directory / REPORT_MD, [to_markdown(page_of(report)).encode()])


def load_report(run: Run | Path | str) -> Report | SpeechReport:
    """The report of a run, or of the one in a directory, as last written.

    Raises ScoringError when it has not been scored.
    """
    return read_report(run if isinstance(run, Run) else load_run(run))


def compare(
    first: Path | str, second: Path | str, *others: Path | str, parser: str | None = None
) -> tuple[Comparison, ...]:
    """Compare the second run, and each of the others, with the first: one Comparison each.

    first, second, others: run directories, or folders of repetitions of one run (whose times are then
    compared by their medians). parser: a rule by which the replies of all are read; `official` is the
    benchmark's, None the one by which the first was scored.
    Raises ConfigError where runs may not be compared, ScoringError where one has not been scored.
    """
    sides = [load_side(Path(path)) for path in (first, second, *others)]
    rule = None if parser is None else _rule(sides[0].run.config["benchmark"], parser)
    return tuple(compare_runs(sides[0], side, parser=rule) for side in sides[1:])


def gate(run: Path | str, gate: Path | str, *, section: str | None = None) -> GateResult:
    """Judge a scored run by the lines of a gate, and write the verdicts into its directory as gate.json.

    run: a run directory, or a folder of repetitions of one run, whose times are then judged by their medians.
    gate: path of a gate file, or the name of a bundled one. section: whose lines to take, instead of those
    for the run's recipe.
    Raises ConfigError for a bad gate file, ScoringError where the run has not been scored, StorageError.
    """
    side = load_side(Path(run))
    result = judge_run(side, load_gate(find_gate(gate)), section=section)
    replace_json(side.run.directory / GATE_JSON, TypeAdapter(GateResult).dump_python(result, mode="json"))
    return result


def configure(
    recipe: str | Path, overrides: Sequence[tuple[str, Any]] = (), *, sample: bool = False
) -> RunConfig:
    """Resolve a recipe with overrides (dotted key, value) into a RunConfig. Raises ConfigError."""
    path = find_recipe(recipe)
    values = {"recipe": path.stem} | load_recipe(path)
    if sample:
        given = {key for key, _ in overrides}
        if "data" in given:
            raise ConfigError("give either a data folder or the bundled sample, not both")
        bundled: list[tuple[str, Any]] = [("data", str(sample_dir(str(values.get("benchmark")), path.stem)))]
        if not given & {"backend", "base_url"}:
            bundled.append(("backend", "embedded"))
        bundled += sample_settings(str(values.get("benchmark")))
        overrides = [*bundled, *overrides]
    return _with_rule(resolve(values, _settings_of, overrides=overrides))


def reconfigure(directory: Path | str, overrides: Sequence[tuple[str, Any]]) -> RunConfig:
    """The configuration of an existing run with overrides. Raises ScoringError, ConfigError."""
    stored = load_run(directory)
    return _with_rule(resolve(stored.config, _settings_of, overrides=overrides, environ={}))


def execute_and_score(
    config: RunConfig,
    *,
    out: Path | str | None = None,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    heard: Heard = lambda _done, _total: None,
) -> Execution:
    """Begin or continue the run of a resolved configuration, then score it as far as it came.

    Sounds are heard where the configuration says `score: now`.
    """
    execution = execute(
        config,
        out=None if out is None else Path(out).expanduser(),
        api_key=api_key or os.environ.get(config.api_key_env),
        listener=listener,
        notify=notify,
    )
    run = execution.run
    if run.info.get("scoring") == "speech":
        _score_speech(run, config if config.flat()["score"] == "now" else None, None, heard)
    else:
        _score_choices(run, None)
    return execution


def _settings_of(benchmark: str) -> type[Strict]:
    settings: type[Strict] = BENCHMARKS.load(benchmark).Settings
    return settings


def _with_rule(config: RunConfig) -> RunConfig:
    if BENCHMARKS.load(config.benchmark).scoring == "speech":
        return config
    return config.model_copy(update={"parser": _rule(config.benchmark, config.parser)})


def _rule(benchmark: str, parser: str) -> str:
    """The parser's own name. Raises ConfigError when there is none of that name."""
    rule: str = BENCHMARKS.load(benchmark).default_parser if parser == "official" else parser
    if rule not in RULES:
        raise ConfigError(f"unknown parser {parser!r}{suggest(parser, ['official', *RULES])}")
    return rule


def _flattened(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        short = not prefix and not (name == "transport" and isinstance(value, Mapping))
        key = SHORT_NAMES.get(name, name) if short else name
        if isinstance(value, Mapping) and name not in _FREE_MAPPINGS:
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
