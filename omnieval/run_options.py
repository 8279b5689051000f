"""Options that several commands share, and how they become settings of a recipe."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

Recipe = Annotated[
    str | None,
    typer.Argument(
        help="Name of a bundled recipe (`omnieval list recipes`) or path of one.", show_default=False
    ),
]
Recipes = Annotated[
    list[str] | None,
    typer.Argument(
        help="Bundled recipes or paths; several, or a suite's (`omnieval list suites`), are run as one.",
        show_default=False,
    ),
]
Data = Annotated[Path | None, typer.Option(help="Folder of the data set.")]
Places = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="PLACE",
        help="Folder of the data set; for a suite MEMBER=PLACE, repeatable, or a folder that holds all.",
    ),
]
UseSample = Annotated[bool, typer.Option("--sample", help="Use the small data set that the package carries.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any recipe key, e.g. max_frames=32. Repeatable."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Take the first N questions only.")]
SampleIds = Annotated[
    list[str] | None, typer.Option("--sample-id", help="Take only this sample. Repeatable.", metavar="ID")
]
Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="KEY=VALUE", help='e.g. type="Event Sequence". Repeatable.'),
]
ShuffleSeed = Annotated[int | None, typer.Option(help="Shuffle the videos (their questions stay together).")]
BaseUrls = Annotated[
    list[str] | None,
    typer.Option(
        "--base-url", help="Model server, e.g. http://127.0.0.1:8000/v1; repeat it for servers of one model."
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(help="The model's name on the server; its folder or file for a backend that starts it."),
]
BackendName = Annotated[str | None, typer.Option(help="See `omnieval list backends`.")]
Transport = Annotated[
    str | None, typer.Option(help="How media reach the server: auto, file, inline or http.")
]
ApiKeyEnv = Annotated[str | None, typer.Option(metavar="NAME", help="Environment variable with the API key.")]
CacheDir = Annotated[Path | None, typer.Option(help="Where prepared media are kept.")]


def overrides_of(assignments: list[str] | None, **flags: Any) -> list[tuple[str, Any]]:
    """(dotted key, value) pairs of `--set` and of the flags that were given; flags win."""
    from omnieval.config import parse_assignment
    from omnieval.settings import SHORT_NAMES

    given = {key: value for key, value in flags.items() if value is not None and value not in ([], {})}
    return [
        *(parse_assignment(text) for text in assignments or []),
        *((SHORT_NAMES.get(key, key), _plain(value)) for key, value in given.items()),
    ]


def servers(urls: list[str] | None) -> dict[str, Any]:
    """The settings of one or several servers; a new first one replaces all that a run had."""
    return {"base_url": urls[0], "replicas": tuple(urls[1:])} if urls else {}


def one_place(data: list[str] | None) -> list[tuple[str, Any]]:
    """The setting of `--data` for a single run."""
    from omnieval.errors import ConfigError

    if data is not None and len(data) > 1:
        raise ConfigError("one run has one data set; several --data belong to a suite")
    return [("data", data[0])] if data else []


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def filters_of(texts: list[str] | None) -> dict[str, str]:
    from omnieval.errors import ConfigError

    filters = {}
    for text in texts or []:
        key, separator, value = text.partition("=")
        if not separator:
            raise ConfigError(
                f'--filter {text!r}: expected KEY=VALUE, for example --filter type="Event Sequence"'
            )
        filters[key.strip()] = value.strip()
    return filters


def named_api_key(name: str, named_by_user: str | None) -> str | None:
    from omnieval.errors import ConfigError

    if named_by_user is not None and not os.environ.get(name):
        raise ConfigError(f"--api-key-env {name}: that environment variable is not set")
    return os.environ.get(name)
