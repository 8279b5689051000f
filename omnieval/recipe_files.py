"""Finding recipes: a name of a bundled one, or a path to a file of the user's own."""

from __future__ import annotations

from pathlib import Path

from omnieval.errors import ConfigError
from omnieval.wording import suggest


def recipe_folder() -> Path:
    """Where the bundled recipes lie: inside an installed package, beside it in a source checkout."""
    package = Path(__file__).parent
    installed, checkout = package / "recipes", package.parent / "recipes"
    return installed if installed.is_dir() else checkout


def suite_folder() -> Path:
    """Where the bundled suites lie."""
    return recipe_folder() / "suites"


def recipe_names() -> list[str]:
    """Names of the bundled recipes."""
    return sorted(path.stem for path in recipe_folder().glob("*.yaml"))


def find_recipe(name: str | Path) -> Path:
    """The file of a recipe. A text with a path separator or a YAML suffix is a path.

    Raises ConfigError with the nearest bundled name, or naming the path that does not exist.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        if not path.is_file():
            raise ConfigError(f"{path}: no such recipe file; bundled ones are {', '.join(recipe_names())}")
        return path
    bundled = recipe_folder() / f"{name}.yaml"
    if not bundled.is_file():
        if (suite_folder() / bundled.name).is_file():
            raise ConfigError(f"{name} is a suite, not a recipe; name one of its recipes")
        raise ConfigError(f"unknown recipe {str(name)!r}{suggest(str(name), recipe_names())}")
    return bundled
