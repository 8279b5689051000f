"""`omnieval data`: get a data set, convert it, trust it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from omnieval.datasets.daily_omni import Converted

data_app = typer.Typer(help="Get data sets, convert them, check them.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, with every name in it.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit code 3 when anything is not as it should be.")]


@data_app.command()
def convert(
    name: Annotated[str, typer.Argument(help="daily-omni.")],
    src: Annotated[Path, typer.Option(help="The release: a folder, or a file of it.")],
    dst: Annotated[Path, typer.Option(help="Where the converted data set goes.")],
    official_qa: Annotated[
        Path | None,
        typer.Option(help="daily-omni: the official qa.json, whose types and rows are merged in."),
    ] = None,
    probe_duration: Annotated[
        bool, typer.Option("--probe-duration", help="daily-omni: measure the durations that no file tells.")
    ] = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Bring a release into the layout that a recipe reads. A second call does only what is missing."""
    from omnieval import datasets
    from omnieval.config import suggest
    from omnieval.errors import ConfigError

    if name != "daily-omni":
        raise ConfigError(f"no conversion for {name!r}{suggest(name, ['daily-omni'])}")
    done = datasets.convert_daily_omni(
        src, dst, official_qa=official_qa, probe_duration=probe_duration, notify=_say
    )
    _conclude(done, strict=strict, as_json=as_json)


def _conclude(done: Converted, *, strict: bool, as_json: bool) -> None:
    problems = done.problems()
    if as_json:
        _print_json(done, problems=problems)
    else:
        typer.echo("\n".join(_visible(line) for line in (done.summary(), *problems)))
    sys.exit(3 if strict and problems else 0)


def _print_json(result: Any, **more: Any) -> None:
    from pydantic import TypeAdapter

    content = TypeAdapter(type(result)).dump_python(result, mode="json") | more
    typer.echo(json.dumps(content, ensure_ascii=False, indent=1))


def _say(line: str) -> None:
    """What goes on, beside the result."""
    typer.echo(_visible(line), err=True)


def _visible(line: str) -> str:
    from omnieval.parsing import visible

    return visible(line)
