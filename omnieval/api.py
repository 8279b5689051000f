"""The verbs of omnieval for Python: check, prepare, run, resume, bench, diagnose, duplex, load_run, score,
load_report, compare, gate, export, track; of suites run_suite, resume_suite, score_suite, load_suite_report,
gate_suite; of benches score_bench.

>>> from omnieval import api
>>> run = api.run("daily-omni", sample=True, backend="chance", limit=4)
>>> api.load_report(run).official.total
4
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import omnieval.bench as benches
import omnieval.diagnose as ladders
from omnieval.bench import (
    LEAST_REPEATS,
    Bench,
    BenchReport,
    build_bench_report,
    plan_bench,
    repeats_of,
    run_bench,
)
from omnieval.bench import write_report as write_bench_report
from omnieval.config import RunConfig
from omnieval.duplex import OF_CONVERSATIONS, Conversation, converse
from omnieval.engine.execute import Execution, Notify
from omnieval.engine.execute import check as check_deployment
from omnieval.engine.fill import Filled, fill_cache
from omnieval.engine.preflight import Finding
from omnieval.engine.progress import Listener
from omnieval.errors import ConfigError, DataError
from omnieval.export.lm_eval import write_lm_eval
from omnieval.export.table import write_csv, write_parquet
from omnieval.export.trackers import log_run
from omnieval.export.vllm_bench import write_vllm_bench
from omnieval.media.source import is_archive
from omnieval.report.build import Report
from omnieval.report.compare import Comparison, compare_runs, load_side
from omnieval.report.gate import GateResult
from omnieval.report.speech import SpeechReport
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.scored import execute_and_score, score_with
from omnieval.scoring.spoken import Heard
from omnieval.settings import SHORT_NAMES, configure, flattened, reconfigure, rule_named
from omnieval.suite import compared_pairs, gate_for, holds_suite, judged
from omnieval.suite.verbs import gate_suite, load_suite_report, resume_suite, run_suite, score_suite
from omnieval.wording import as_typed

__all__ = [
    "SHORT_NAMES",
    "bench",
    "check",
    "check_config",
    "compare",
    "configure",
    "diagnose",
    "duplex",
    "execute_and_score",
    "export",
    "gate",
    "gate_suite",
    "load_report",
    "load_run",
    "load_suite_report",
    "prepare",
    "reconfigure",
    "resume",
    "resume_suite",
    "run",
    "run_suite",
    "score",
    "score_bench",
    "score_recordings",
    "score_suite",
    "score_with",
    "track",
]


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
    `filter` and `shuffle_seed` stand for those of `select`. listener: is called with the progress after every
    answer; notify: with a line of text about what else happens.
    Returns the run directory, scored. An interrupted run is returned too; its report is not complete.
    Raises ConfigError, DataError, BackendError, StorageError.
    """
    config = configure(recipe, list(flattened(settings)), sample=sample)
    return execute_and_score(config, out=out, api_key=api_key, listener=listener, notify=notify).run


def bench(
    recipe: str | Path,
    *,
    repeats: int = LEAST_REPEATS,
    out: Path | str | None = None,
    against: Path | str | None = None,
    sample: bool = False,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> BenchReport:
    """Run a recipe once cold and then `repeats` times, and report the medians with the health of the output.

    out: the bench's directory; one that holds the same bench is continued, and what is finished stays.
    against: the directory of another bench, whose figures are set beside. The others are as for `run`.
    Raises ConfigError, DataError, BackendError, StorageError; ScoringError where it ended before any run did.
    """
    other = None if against is None else Bench.load(against)
    execution = run_bench(
        plan_bench(recipe, list(flattened(settings)), sample=sample),
        repeats=repeats,
        out=None if out is None else Path(out).expanduser(),
        against=other,
        api_key=api_key,
        listener=listener,
        notify=notify,
    )
    return (
        build_bench_report(execution.bench) if other is None else write_bench_report(execution.bench, other)
    )


def resume(
    directory: Path | str,
    *,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> Run:
    """Continue a run where it stopped; samples that failed are asked again.

    settings: only keys that do not change what is measured (base_url, concurrency, timeouts, ...). The others
    are as for `run`.
    Raises ConfigError listing the differences for any other.
    """
    config = reconfigure(directory, list(flattened(settings)))
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
    config = configure(recipe, list(flattened(settings)), sample=sample)
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
    config = configure(recipe, list(flattened(settings)), sample=sample)
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


def diagnose(
    recipe: str | Path,
    *,
    out: Path | str | None = None,
    sample: bool = False,
    api_key: str | None = None,
    listener: Listener = lambda _: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> ladders.Diagnosis:
    """Ask the same few samples with more and more media, and say which rung breaks first.

    out: the diagnosis' directory, of one plain run a rung; one that holds the same is continued, and only
    what is missing is asked. settings: as for `run`; 8 samples where they select none.
    Raises ConfigError for a recipe that asks for speech, DataError, BackendError, StorageError.
    """
    config = configure(recipe, list(flattened(settings)), sample=sample)
    diagnosis, _ = ladders.diagnose(
        config,
        out=None if out is None else Path(out).expanduser(),
        api_key=api_key,
        listener=listener,
        notify=notify,
    )
    return diagnosis


def duplex(
    input_wav: Path | str,
    *,
    out: Path | str | None = None,
    convert: bool = False,
    text: str | None = None,
    ref_audio: Path | str | None = None,
    api_key: str | None = None,
    notify: Callable[[str], None] = lambda _: None,
    **settings: Any,
) -> Conversation:
    """Let a full-duplex model hear a recording in real time, and keep all that it says.

    input_wav: 16 kHz mono 16-bit PCM; with convert, any file with sound. out: an empty or a new folder. text:
    what the user has said before. ref_audio: a WAV file in whose voice the model speaks. notify: is told each
    wait for a server that is full. api_key: as for `run`. settings: keys of the recipe `seed-tts-duplex`,
    such as base_url, model, system_prompt and `duplex={"speed": 4}`.
    Returns what came of it, also of a session that failed: `ok` and `errors` tell. Raises ConfigError,
    MediaError for an unusable recording, BackendError, StorageError.
    """
    return converse(
        configure("seed-tts-duplex", [*OF_CONVERSATIONS, *flattened(settings)]),
        Path(input_wav).expanduser(),
        out=None if out is None else Path(out).expanduser(),
        convert=convert,
        text=text,
        voice=None if ref_audio is None else Path(ref_audio).expanduser(),
        api_key=api_key,
        notify=notify,
    )


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
    """Score a run, or the one in a directory, from its files; write scores.jsonl, report.json, report.md and
    report.html.

    parser: another rule than the run's own; `official` is the benchmark's. For spoken runs, data is where the
    reference voices lie on this machine when that is not where the run found them, heard is told (done,
    total), and settings are `recogniser` and `similarity`, such as `recogniser={"name": "whisper-hf"}`.
    Raises ConfigError for an unknown rule or setting, ScoringError for a damaged run.
    """
    loaded = run if isinstance(run, Run) else load_run(run)
    return score_with(loaded, parser=parser, data=data, heard=heard, overrides=list(flattened(settings)))


def score_bench(
    directory: Path | str,
    *,
    parser: str | None = None,
    data: Path | str | None = None,
    heard: Heard = lambda _done, _total: None,
    notify: Notify = lambda _: None,
    **settings: Any,
) -> BenchReport:
    """Score every run that was begun in a bench's directory, and write the bench's report; see `score`.

    notify: is told each run. Raises as `score`, and ScoringError where no run is finished.
    """
    return benches.score_bench(
        Bench.load(directory),
        parser=parser,
        data=data,
        overrides=list(flattened(settings)),
        heard=heard,
        notify=notify,
    )


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
    folder. out, overrides, listener, notify: as for a run. heard: is told (done, total).
    Raises ConfigError, DataError.
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
            f"`omnieval score {as_typed(out)}`"
        )
    utterances = place.name if place.is_file() and not is_archive(place) else "meta.lst"
    given = [
        ("utterances", utterances), ("backend", "recorded"), ("model", folder.absolute().name),
        ("recordings", str(folder)),
        ("data", str(place)), ("language", spoken), ("score", "now"), ("warmup", 0),
    ]  # fmt: skip
    config = configure("seed-tts", [*given, *overrides])
    return execute_and_score(config, out=out, listener=listener, notify=notify, heard=heard)


def load_report(run: Run | Path | str) -> Report | SpeechReport:
    """The report of a run, or of the one in a directory, as last written.

    Raises ScoringError when it has not been scored.
    """
    return read_report(run if isinstance(run, Run) else load_run(run))


def compare(
    first: Path | str, second: Path | str, *others: Path | str, parser: str | None = None
) -> tuple[Comparison, ...]:
    """Compare the second run, and each of the others, with the first: one Comparison each.

    first, second, others: run directories; suites' directories, which are compared member by member; or
    folders of repetitions of one run, such as a bench's directory, whose times are then compared by their
    medians. parser: a rule by which
    the replies of all are read; `official` is the benchmark's, None the one by which the first was scored.
    Raises ConfigError where runs may not be compared, ScoringError where one has not been scored.
    """
    if holds_suite(Path(first)):
        pairs = compared_pairs([Path(path) for path in (first, second, *others)])
        return tuple(compare(ours, theirs, parser=parser)[0] for ours, theirs in pairs)
    sides = [load_side(repeats_of(Path(path))) for path in (first, second, *others)]
    rule = None if parser is None else rule_named(sides[0].run.config["benchmark"], parser)
    return tuple(compare_runs(sides[0], side, parser=rule) for side in sides[1:])


def gate(run: Path | str, gate: Path | str | None = None, *, section: str | None = None) -> GateResult:
    """Judge a scored run by the lines of a gate; the verdicts are kept in its gate.json and report.html, or
    the result's `not_kept` says why they could not be.

    run: a run directory, or a folder of repetitions of one run, such as a bench's directory, whose times are
    then judged by their medians.
    gate: path of a gate file, or the name of a bundled one; None for that of the run, or of the suite that it
    is a member of. section: whose lines to take; None for those of a suite's member by its name, else by the
    run's recipe.
    Raises ConfigError for a bad gate file, ScoringError where the run has not been scored.
    """
    side = load_side(repeats_of(Path(run)))
    judged_by, section = gate_for(side.run, gate, section)
    return judged(side, judged_by, section)


def export(
    run: Run | Path | str,
    format: Literal["csv", "parquet", "vllm-bench", "lm-eval"],  # noqa: A002
    *,
    out: Path | str | None = None,
    detailed: bool = False,
) -> tuple[Path, ...]:
    """Write a scored run for other tools and return the files: one, or two for lm-eval.

    csv, parquet: every row of the data set with the columns of `omnieval.runlog.rows`; `Run.to_pandas` gives
    the same. vllm-bench: the results JSON of `vllm bench serve --save-result`; detailed adds the lists of
    `--save-detailed`. lm-eval: results and samples as lm-evaluation-harness logs them. out: the file, or the
    folder for lm-eval; else it is named after the run, in the current directory.
    Raises ConfigError for an unknown format, ScoringError for an unscored run, StorageError.
    """
    loaded = run if isinstance(run, Run) else load_run(run)
    suffixes = {"csv": ".csv", "parquet": ".parquet", "vllm-bench": ".json", "lm-eval": "-lm-eval"}
    if format not in suffixes:
        raise ConfigError(f"unknown format {format!r}; one of {', '.join(suffixes)}")
    if detailed and format != "vllm-bench":
        raise ConfigError("only vllm-bench has a detailed form; the other formats hold every sample anyway")
    place = Path(loaded.directory.absolute().name + suffixes[format] if out is None else out).expanduser()
    if format == "lm-eval":
        return write_lm_eval(loaded, place)
    if place.is_dir():
        raise ConfigError(f"{place}: is a folder; name a file with --out")
    if format == "csv":
        write_csv(loaded, place)
    elif format == "parquet":
        write_parquet(loaded, place)
    else:
        write_vllm_bench(loaded, place, detailed=detailed)
    return (place,)


def track(run: Run | Path | str, to: Literal["wandb", "mlflow"], *, project: str = "omnieval") -> str:
    """Log a scored run to an experiment tracker and return the id that it has there.

    Settings, headline figures with their intervals, the first samples as a table, and the reports are sent;
    the tracker is found, and its key read, by its own environment variables. project: that of Weights &
    Biases, or the experiment of MLflow. Raises ConfigError when the extra is missing or the tracker refuses,
    ScoringError for an unscored run.
    """
    return log_run(run if isinstance(run, Run) else load_run(run), to, project=project)
