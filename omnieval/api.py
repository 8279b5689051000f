"""The verbs of omnieval for Python: run, resume, prepare, load_run, score, load_report.

>>> from omnieval import api
>>> run = api.run("daily-omni", sample=True, backend="chance", limit=4)
>>> api.load_report(run).official.total
4
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import RunConfig, Strict, load_recipe, resolve, suggest
from omnieval.engine.execute import Execution, Notify, execute
from omnieval.engine.fill import Filled, fill_cache
from omnieval.engine.progress import Listener
from omnieval.errors import ConfigError, ScoringError
from omnieval.parsing import RULES
from omnieval.recipe_files import find_recipe
from omnieval.report.build import Report, build_report
from omnieval.report.markdown import to_markdown
from omnieval.report.reference import load_references
from omnieval.runlog import Run
from omnieval.runlog.files import replace_file, replace_json
from omnieval.runlog.schema import to_line
from omnieval.runlog.store import REPORT_JSON, REPORT_MD, SCORES
from omnieval.samples import sample_dir
from omnieval.scoring.choice import score_choices

# Mappings whose keys are free; they are replaced whole, not merged key by key.
_FREE_MAPPINGS = frozenset({"extra_body", "filter", "groups"})
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


def load_run(path: Path | str) -> Run:
    """Open a run directory for reading. Raises ScoringError when it holds no run."""
    return Run.load(Path(path))


def score(run: Run, *, parser: str | None = None) -> Report:
    """Score a run from its files and write scores.jsonl, report.json and report.md anew.

    parser: another rule than the run's own; `official` is the benchmark's.
    Raises ConfigError for an unknown rule, ScoringError for a damaged run.
    """
    benchmark = run.config["benchmark"]
    rule = _rule(benchmark, parser or run.config["parser"])
    responses = run.last_responses()
    scores = list(score_choices(run, responses, rule=rule))
    report = build_report(run, scores, responses, load_references(benchmark), parser=rule)
    replace_file(run.directory / SCORES, (to_line(score) for score in scores))
    replace_json(run.directory / REPORT_JSON, TypeAdapter(Report).dump_python(report, mode="json"))
    replace_file(run.directory / REPORT_MD, [to_markdown(report).encode()])
    return report


def load_report(run: Run) -> Report:
    """The report as last written. Raises ScoringError when the run has not been scored."""
    try:
        return TypeAdapter(Report).validate_python(run.report())
    except ValidationError as error:
        path = run.directory / REPORT_JSON
        raise ScoringError(f"{path}: not a report of this version; run `omnieval score` again") from error


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
) -> Execution:
    """Begin or continue the run of a resolved configuration, then score it as far as it came."""
    execution = execute(
        config,
        out=None if out is None else Path(out).expanduser(),
        api_key=api_key or os.environ.get(config.api_key_env),
        listener=listener,
        notify=notify,
    )
    score(execution.run)
    return execution


def _settings_of(benchmark: str) -> type[Strict]:
    settings: type[Strict] = BENCHMARKS.load(benchmark).Settings
    return settings


def _with_rule(config: RunConfig) -> RunConfig:
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
