"""`omnieval data`: get a data set, convert it, trust it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from omnieval.datasets import Converted, Pulled, Unpacked

data_app = typer.Typer(help="Get data sets, convert them, check them.", no_args_is_help=True)

_SEED_TTS = ("seed-tts-en", "seed-tts-zh", "seed-tts-hard")

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, with every name in it.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit code 3 when anything is not as it should be.")]


@data_app.command()
def pull(
    name: Annotated[str, typer.Argument(help="daily-omni, video-mme or seed-tts.")],
    dst: Annotated[Path, typer.Option(help="Where the files go.")],
    hub: Annotated[
        str | None, typer.Option(help="modelscope or huggingface; by default the first that has it.")
    ] = None,
    repo: Annotated[
        str | None, typer.Option(metavar="ORG/NAME", help="Another repository than the known one.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="A branch, tag or commit of it.")] = None,
    files: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Other files than the known ones. Repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a data set from a hub, whole; a second call fetches only what is missing."""
    from omnieval import datasets

    done = datasets.pull_data(
        name, dst, hub=hub, repo=repo, revision=revision, patterns=files or (), notify=_say
    )
    _conclude(done, strict=False, as_json=as_json)


@data_app.command()
def convert(
    name: Annotated[str, typer.Argument(help="daily-omni, video-mme or seed-tts.")],
    src: Annotated[Path, typer.Option(help="The release: a folder, or a file of it.")],
    dst: Annotated[Path, typer.Option(help="Where the converted data set goes.")],
    official_qa: Annotated[
        Path | None,
        typer.Option(help="daily-omni: the official qa.json, whose types and rows are merged in."),
    ] = None,
    probe_duration: Annotated[
        bool, typer.Option("--probe-duration", help="daily-omni: measure the durations that no file tells.")
    ] = False,
    split: Annotated[str, typer.Option(help="daily-omni: which split, where there are several.")] = "test",
    max_memory: Annotated[
        str, typer.Option(help="daily-omni: how much memory reading a parquet file may take.")
    ] = "1GB",
    to: Annotated[
        str, typer.Option(help="layout, or for daily-omni parquet: from qa.json and Videos to a release.")
    ] = "layout",
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Bring a release into the layout that a recipe reads. A second call does only what is missing."""
    from omnieval import datasets
    from omnieval.datasets.unpack import videos_archive
    from omnieval.errors import ConfigError
    from omnieval.sizes import bytes_of
    from omnieval.wording import as_typed, suggest

    if to not in ("layout", "parquet") or (to == "parquet" and name != "daily-omni"):
        raise ConfigError(f"--to {to}: {name} is converted to layout, and daily-omni also to parquet")
    if (official_qa or probe_duration) and (name, to) != ("daily-omni", "layout"):
        raise ConfigError("--official-qa and --probe-duration are for daily-omni from parquet")
    done: Converted | Unpacked
    if to == "parquet":
        done = datasets.daily_omni_to_parquet(src, dst, notify=_say)
    elif name == "daily-omni" and videos_archive(src) is not None:
        done = datasets.unpack_daily_omni(src, dst, notify=_say)
    elif name == "daily-omni":
        done = datasets.convert_daily_omni(
            src,
            dst,
            official_qa=official_qa,
            probe_duration=probe_duration,
            split=split,
            max_memory=bytes_of(max_memory, "--max-memory"),
            notify=_say,
        )
    elif name == "video-mme":
        done = datasets.convert_video_mme(src, dst, notify=_say)
    elif name == "seed-tts":
        done = datasets.convert_seed_tts(src, dst, notify=_say)
    else:
        raise ConfigError(
            f"no conversion for {name!r}{suggest(name, ['daily-omni', 'video-mme', 'seed-tts'])}"
        )
    then = f"omnieval data check {name} {as_typed(dst)}" if to == "layout" else None
    _conclude(done, strict=strict, as_json=as_json, then=then)


@data_app.command()
def check(
    recipe: Annotated[
        str, typer.Argument(help="The recipe that reads it (`omnieval list recipes`); seed-tts: all lists.")
    ],
    data: Annotated[Path, typer.Argument(help="The data set, as for `omnieval run --data`.")],
    part: Annotated[
        bool, typer.Option("--part", help="A part of the data set is meant: expect no counts.")
    ] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any recipe key. Repeatable.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes that read files.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count the rows, open, probe and hash every media file; exit code 3 when anything is missing."""
    from omnieval import datasets
    from omnieval.config import parse_assignment
    from omnieval.console import counting
    from omnieval.data_display import show_checked
    from omnieval.errors import DataError

    overrides = [parse_assignment(text) for text in set_ or []]
    told = counting("files read:", _say)
    done = []
    unread: dict[str, DataError] = {}
    for name in _SEED_TTS if recipe == "seed-tts" else (recipe,):
        try:
            done.append(
                datasets.check_data(name, data, part=part, workers=workers, told=told, overrides=overrides)
            )
        except DataError as error:
            unread[name] = error
    if not done:
        raise next(iter(unread.values()))
    if as_json:
        results = [_jsonable(one, problems=one.problems(), remarks=one.remarks()) for one in done]
        results += [{"recipe": name, "problems": [str(why)]} for name, why in unread.items()]
        _print_json(results if len(results) > 1 else results[0])
    else:
        for one in done:
            show_checked(one)
        for name, why in unread.items():
            typer.echo(_visible(f"problem: {name}: {why}"))
    sys.exit(3 if unread or any(one.problems() for one in done) else 0)


def _conclude(
    done: Converted | Pulled | Unpacked, *, strict: bool, as_json: bool, then: str | None = None
) -> None:
    problems = done.problems()
    if as_json:
        _print_json(_jsonable(done, problems=problems))
    else:
        hint = [f"next: {then}"] if then else []
        typer.echo("\n".join(_visible(line) for line in (done.summary(), *problems, *hint)))
    sys.exit(3 if strict and problems else 0)


def _jsonable(result: Any, **more: Any) -> dict[str, Any]:
    """A dataclass as JSON takes it, with what its methods say beside its fields."""
    from pydantic import TypeAdapter

    content: dict[str, Any] = TypeAdapter(type(result)).dump_python(result, mode="json")
    return content | more


def _print_json(content: Any) -> None:
    typer.echo(json.dumps(content, ensure_ascii=False, indent=1))


def _say(line: str) -> None:
    """What goes on, beside the result."""
    typer.echo(_visible(line), err=True)


def _visible(line: str) -> str:
    from omnieval.parsing import visible

    return visible(line)
