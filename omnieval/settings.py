"""Recipes with the settings of a caller to a RunConfig: what the command line and Python share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import RunConfig, Strict, load_recipe, resolve
from omnieval.errors import ConfigError
from omnieval.parsing import RULES
from omnieval.recipe_files import find_recipe
from omnieval.runlog import Run
from omnieval.samples import sample_dir, sample_settings
from omnieval.wording import suggest

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
        if not given & {"backend", "base_url", "model"}:
            bundled.append(("backend", "embedded"))
        bundled += sample_settings(str(values.get("benchmark")))
        overrides = [*bundled, *overrides]
    return _with_rule(resolve(values, _settings_of, overrides=overrides))


def reconfigure(directory: Path | str, overrides: Sequence[tuple[str, Any]]) -> RunConfig:
    """The configuration of an existing run with overrides. Raises ScoringError, ConfigError."""
    return restored(Run.load(Path(directory)).config, overrides)


def restored(flat: Mapping[str, Any], overrides: Sequence[tuple[str, Any]]) -> RunConfig:
    """A stored configuration (see `RunConfig.flat`) with overrides. Raises ConfigError."""
    return _with_rule(resolve(flat, _settings_of, overrides=overrides, environ={}))


def _settings_of(benchmark: str) -> type[Strict]:
    settings: type[Strict] = BENCHMARKS.load(benchmark).Settings
    return settings


def _with_rule(config: RunConfig) -> RunConfig:
    if BENCHMARKS.load(config.benchmark).scoring == "speech":
        return config
    return config.model_copy(update={"parser": rule_named(config.benchmark, config.parser)})


def rule_named(benchmark: str, parser: str) -> str:
    """The parser's own name. Raises ConfigError when there is none of that name."""
    rule: str = BENCHMARKS.load(benchmark).default_parser if parser == "official" else parser
    if rule not in RULES:
        raise ConfigError(f"unknown parser {parser!r}{suggest(parser, ['official', *RULES])}")
    return rule


def flattened(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        short = not prefix and not (name == "transport" and isinstance(value, Mapping))
        key = SHORT_NAMES.get(name, name) if short else name
        if isinstance(value, Mapping) and name not in _FREE_MAPPINGS:
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
