"""Begin a run directory, or continue the one that is there if it is the same run."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from omnieval.benchmarks.base import Benchmark, Dataset
from omnieval.config import OPERATIONAL, RunConfig, differences
from omnieval.engine.same_media import require_same_media
from omnieval.errors import ConfigError, DataError
from omnieval.runlog import PlannedSample, Run, RunWriter
from omnieval.runlog.environment import hardware, versions
from omnieval.runlog.store import exists, new_directory
from omnieval.scoring.early import EarlyPlan
from omnieval.types import JsonDict, Sample, ServerFacts


def begin_or_continue(
    config: RunConfig,
    benchmark: Benchmark,
    dataset: Dataset,
    chosen: Sequence[Sample],
    facts: ServerFacts,
    out: Path | None,
    early: EarlyPlan | None = None,
) -> RunWriter:
    """The writer of the run that `out` holds, or of a new run there (None: a new named directory).

    Raises ConfigError with the list of differences when `out` holds a run of another configuration,
    DataError when its data set or media were others, StorageError when it cannot be written.
    """
    directory = out or new_directory(config.runs_dir, run_name(config), time.localtime())
    server = TypeAdapter(ServerFacts).dump_python(facts, mode="json")
    if not exists(directory):
        selected = {sample.id for sample in chosen}
        planned = [PlannedSample(sample, sample.id in selected) for sample in dataset.samples]
        info = _run_info(config, benchmark, dataset, len(chosen)) | {"server": server}
        if early is not None:
            info["early"] = TypeAdapter(EarlyPlan).dump_python(early, mode="json")
        writer = RunWriter.begin(directory, info, planned)
        writer.add_event("started")
        return writer
    writer = RunWriter(directory)
    try:
        stored = Run.load(directory)
        changed = _check_same_run(stored, config, dataset)
        if config.media != "none":
            require_same_media(stored, dataset.samples)
        if early is not None and "early" not in stored.info:
            raise ConfigError(
                f"{directory} was begun without --stop-when gate; lines and order of asking must be fixed "
                "before the first question, so start a new run"
            )
        writer.add_event("resumed", changed=changed, server=server)
    except BaseException:
        writer.close()
        raise
    return writer


def run_name(config: RunConfig) -> str:
    """Recipe and model as a part of a directory's name."""
    model = (config.model or config.backend).rstrip("/").rsplit("/", 1)[-1]
    words = (re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.").lower()[:48] for part in (config.recipe, model))
    return "-".join(filter(None, words))


def _check_same_run(stored: Run, config: RunConfig, dataset: Dataset) -> list[str]:
    """The changes of keys that may change. Raises ConfigError or DataError for any other."""
    defaults = RunConfig(recipe=config.recipe, benchmark=config.benchmark, task=type(config.task)()).flat()
    old_measured, old_operational = _parted(_completed(stored.config, defaults))
    new_measured, new_operational = _parted(config.flat())
    lines = differences(old_measured, new_measured)
    if lines:
        listed = "\n".join(f"  {line}" for line in lines)
        raise ConfigError(
            f"{stored.directory} was begun with another configuration:\n{listed}\n"
            "Undo these changes to resume it, or start a new run in another directory."
        )
    fingerprint = stored.info["dataset"]["fingerprint"]
    if dataset.fingerprint() != fingerprint:
        raise DataError(
            f"{stored.directory} was begun on another data set (fingerprint {fingerprint}, "
            f"now {dataset.fingerprint()} in {dataset.root}); give the same data, or start a new run"
        )
    return differences(old_operational, new_operational)


def _completed(stored: Mapping[str, Any], defaults: Mapping[str, Any]) -> JsonDict:
    """A stored configuration with the defaults of keys that its version did not have yet."""
    whole: JsonDict = dict(stored)
    for key, default in defaults.items():
        if key not in whole:
            whole[key] = default
        elif isinstance(default, dict) and default and isinstance(whole[key], dict):
            whole[key] = _completed(whole[key], default)
    return whole


def _parted(flat: Mapping[str, Any]) -> tuple[JsonDict, JsonDict]:
    measured = {key: value for key, value in flat.items() if key not in OPERATIONAL}
    operational = {key: value for key, value in flat.items() if key in OPERATIONAL}
    return measured, operational


def _unusual(config: RunConfig) -> dict[str, str]:
    """Settings of any benchmark that make another measurement of it."""
    settings = {
        "media": "none" if config.media == "none" else None,
        "options": None if config.options.order == "original" else config.options.order,
        "question": "before the media" if config.question_place == "before" else None,
        "constrained to": "a letter" if config.decode.constrain else None,
    }
    return {name: value for name, value in settings.items() if value is not None}


def _run_info(config: RunConfig, benchmark: Benchmark, dataset: Dataset, selected: int) -> JsonDict:
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "config": config.flat(),
        "recipe_hash": config.recipe_hash(),
        "headline": dict(benchmark.headline()) | _unusual(config),
        "group_keys": list(benchmark.group_keys),
        "scoring": benchmark.scoring,
        "dataset": {
            "root": str(dataset.root.resolve()),
            "rows": len(dataset.samples),
            "selected": selected,
            "fingerprint": dataset.fingerprint(),
            "notes": list(dataset.notes),
        },
        "versions": versions(),
        "hardware": hardware(),
    }
