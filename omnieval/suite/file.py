"""Suite files: which recipes are run as one, their settings, and by which gate they are judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from omnieval.config import Strict, load_recipe
from omnieval.errors import ConfigError
from omnieval.recipe_files import recipe_names, suite_folder
from omnieval.wording import suggest


class SuiteMember(Strict):
    """A recipe of a suite. name: of its folder, the recipe's own name if None."""

    recipe: str
    name: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class SuiteFile(Strict):
    """A suite as written. gate: name or path. data: one folder that holds all data sets, or one by member.
    settings: for every member."""

    gate: str | None = None
    data: str | dict[str, str] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    members: tuple[str | SuiteMember, ...] = Field(min_length=1)


def suite_names() -> list[str]:
    """Names of the bundled suites."""
    return sorted(path.stem for path in suite_folder().glob("*.yaml"))


def find_suite(name: str | Path) -> Path | None:
    """The file of a bundled suite, or of a path whose YAML has members; None for anything else."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        return path if path.is_file() and "members" in load_recipe(path) else None
    bundled = suite_folder() / f"{name}.yaml"
    return bundled if bundled.is_file() else None


def is_suite(recipes: Sequence[str | Path]) -> bool:
    """Whether these are run as a suite: several recipes, or one suite's name or file."""
    return len(recipes) > 1 or any(find_suite(recipe) is not None for recipe in recipes)


def load_suite_file(path: Path) -> SuiteFile:
    """Read a suite file; its paths of recipes and gates then go from here. Raises ConfigError."""
    values = load_recipe(path)
    unknown = sorted(set(values) - set(SuiteFile.model_fields))
    if unknown:
        raise ConfigError(f"{path}: unknown key {unknown[0]!r}{suggest(unknown[0], SuiteFile.model_fields)}")
    try:
        suite = SuiteFile.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in ("str", "SuiteMember"))
        raise ConfigError(
            f"{path}: {place or 'the suite'}: {first['msg']}; members are names of recipes, or mappings "
            "with `recipe`, `name` and `settings`"
        ) from error
    members = tuple(
        _from_here(path, SuiteMember(recipe=member) if isinstance(member, str) else member)
        for member in suite.members
    )
    gate = None if suite.gate is None else _place(path, suite.gate)
    return suite.model_copy(update={"members": members, "gate": gate})


def gathered(recipes: Sequence[str | Path]) -> tuple[str, SuiteFile]:
    """The name and content of what the command line or Python names: one suite, or several recipes.

    Raises ConfigError for an unknown name, or for a suite among several.
    """
    if len(recipes) == 1:
        path = find_suite(recipes[0])
        if path is None:
            name = str(recipes[0])
            if name in recipe_names() or Path(name).is_file():
                raise ConfigError(f"{name} is a recipe, not a suite; name several, or run it alone")
            raise ConfigError(f"unknown suite {name!r}{suggest(name, suite_names())}")
        return path.stem, load_suite_file(path)
    for recipe in recipes:
        if find_suite(recipe) is not None:
            raise ConfigError(f"{recipe} is a suite; a suite is run alone, recipes may be several")
    members = tuple(SuiteMember(recipe=str(recipe)) for recipe in recipes)
    return "-".join(Path(recipe).stem for recipe in recipes), SuiteFile(members=members)


def _from_here(path: Path, member: SuiteMember) -> SuiteMember:
    return member.model_copy(update={"recipe": _place(path, member.recipe)})


def _place(path: Path, text: str) -> str:
    """A bundled name as it is, a path from the suite file's folder."""
    named = Path(text).expanduser()
    if named.suffix in (".yaml", ".yml") or len(named.parts) > 1:
        return str((path.parent / named).absolute())
    return text
