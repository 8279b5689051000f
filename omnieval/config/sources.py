"""From a recipe, `--set`, flags and the environment to one RunConfig.

Sources, weakest first: environment (paths only), the recipe file, `--set key=value`, flags. A recipe is
flat YAML; keys that belong to a benchmark (its `Settings` model) stand beside the common ones. Unknown
keys are errors that suggest the nearest known key.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from omnieval.config.run import RunConfig
from omnieval.config.sections import Strict
from omnieval.errors import ConfigError
from omnieval.wording import suggest

M = TypeVar("M", bound=BaseModel)

# Environment variables that may set a key: paths only, never anything that changes a score.
PATH_VARIABLES: Mapping[str, str] = {
    "OMNIEVAL_CACHE_DIR": "cache_dir",
    "OMNIEVAL_DATA_DIR": "data",
    "OMNIEVAL_RUNS_DIR": "runs_dir",
}


def load_recipe(path: Path) -> dict[str, Any]:
    """The keys of a recipe file.

    Raises ConfigError naming the file (and line, for YAML errors) when it cannot be read as a mapping.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the recipe: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}; mend the recipe") from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ConfigError(f"{path}: a recipe is a mapping of keys to values, found {type(values).__name__}")
    return values


def parse_assignment(text: str) -> tuple[str, Any]:
    """`key=value` or `section.key=value` of `--set`; the value is read as YAML (true, 3, [a, b], null)."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise ConfigError(f"--set {text!r}: expected key=value, for example --set max_frames=32")
    try:
        return key.strip(), yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise ConfigError(f"--set {shown!r}: the value is not valid YAML: {error}") from error


def assign(values: dict[str, Any], dotted_key: str, value: Any) -> None:
    """Set `values["a"]["b"]` for the dotted key `a.b`; a mapping is replaced, not merged."""
    *sections, last = dotted_key.split(".")
    for section in sections:
        child = values.get(section)
        child = dict(child) if isinstance(child, dict) else {}
        values[section] = child
        values = child
    values[last] = value


def environment_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """The path settings that the environment gives."""
    return {key: environ[name] for name, key in PATH_VARIABLES.items() if environ.get(name)}


def resolve(
    recipe: Mapping[str, Any],
    settings_of: Callable[[str], type[Strict]],
    *,
    overrides: Iterable[tuple[str, Any]] = (),
    environ: Mapping[str, str] = os.environ,
) -> RunConfig:
    """Merge the sources into one RunConfig.

    recipe: keys of the recipe file. settings_of: gives a benchmark's settings model by its name.
    overrides: (dotted key, value) pairs, later ones win.
    Raises ConfigError that names the key and, for an unknown one, the nearest known key.
    """
    try:
        values: dict[str, Any] = json.loads(json.dumps(dict(recipe), default=str))
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"the recipe holds what JSON cannot hold ({error}); mend the recipe") from error
    for key, path in environment_paths(environ).items():
        if values.get(key) is None:
            values[key] = path
    for key, value in overrides:
        assign(values, key, value)
    try:
        infinite = list(_infinite(values))
    except RecursionError:
        raise ConfigError(
            "the settings are nested too deep, or one of them holds itself; unfold it"
        ) from None
    for key, number in infinite:
        raise ConfigError(f"configuration key {key!r}: expected a finite number, found {number}")
    benchmark = values.get("benchmark")
    if "members" in values and benchmark is None:
        raise ConfigError("this is a suite, not a recipe; name the recipe of one of its members")
    if not isinstance(benchmark, str):
        raise ConfigError("the recipe names no benchmark; add a line such as `benchmark: daily-omni`")
    values.setdefault("recipe", benchmark)
    settings = settings_of(benchmark)
    common = set(RunConfig.model_fields) - {"task"}
    known = common | set(settings.model_fields)
    unknown = sorted(set(values) - known)
    if unknown:
        raise ConfigError("\n".join(_unknown_key(key, known) for key in unknown))
    core = {key: value for key, value in values.items() if key in common}
    own = {key: value for key, value in values.items() if key not in common}
    return _validated(RunConfig, core | {"task": _validated(settings, own)})


def _infinite(values: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """(dotted key, value) of every number at any depth that is infinite or none."""
    if isinstance(values, float) and not math.isfinite(values):
        yield place, values
    children = (
        values.items()
        if isinstance(values, Mapping)
        else enumerate(values)
        if isinstance(values, list | tuple)
        else ()
    )
    for key, value in children:
        yield from _infinite(value, f"{place}.{key}" if place else str(key))


def _unknown_key(key: str, known: Iterable[str]) -> str:
    return f"unknown configuration key {key!r}{suggest(key, known)}"


def _validated(model: type[M], values: Mapping[str, Any]) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(model, item) for item in error.errors())) from error


def _explain(model: type[BaseModel], item: Any) -> str:
    location = [str(part) for part in item["loc"]]
    if item["type"] == "extra_forbidden":
        parent: Any = model
        for part in location[:-1]:
            parent = parent.model_fields[part].annotation
        section = ".".join(location[:-1])
        known = [f"{section}.{name}" if section else name for name in parent.model_fields]
        return _unknown_key(".".join(location), known)
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] == "tuple_type":
        message = f"expected a list such as [{item.get('input')}]"
    return f"configuration key {'.'.join(location)!r}: {message}, found {item.get('input')!r}"
