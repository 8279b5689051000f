"""`omnieval cache`: look after prepared media."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnieval.sizes import bytes_of, size_text

if TYPE_CHECKING:
    from omnieval.media.cache import MediaCache

cache_app = typer.Typer(help="Look after the cache of prepared media.", no_args_is_help=True)

CacheDir = Annotated[
    Path | None, typer.Option(help="The cache folder; else OMNIEVAL_CACHE_DIR or the user's own.")
]


@cache_app.command()
def path(cache_dir: CacheDir = None) -> None:
    """Print the cache folder."""
    typer.echo(_folder(cache_dir))


@cache_app.command()
def info(cache_dir: CacheDir = None) -> None:
    """Show how many entries the cache holds, and their size."""
    from omnieval.media.cache_care import entries
    from omnieval.wording import counted

    found = list(entries(_open(cache_dir)))
    size = size_text(sum(entry.size for entry in found))
    typer.echo(f"{_folder(cache_dir)}: {counted(len(found), 'entry', 'entries')}, {size}")


@cache_app.command()
def verify(
    cache_dir: CacheDir = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove damaged entries.")] = False,
) -> None:
    """Read every file and compare it with its manifest; exit code 1 when an entry is damaged."""
    from omnieval.media import cache_care
    from omnieval.wording import counted

    cache = _open(cache_dir)
    found = list(cache_care.damaged(cache))
    for damage in found:
        typer.echo(f"damaged: {damage.folder}: {damage.reason}")
        if remove:
            cache_care.remove(cache, damage.folder)
    count = sum(1 for _ in cache_care.entries(cache))
    if not found:
        typer.echo(f"{counted(count, 'entry', 'entries')}, all whole")
        return
    damaged = counted(len(found), "damaged entry", "damaged entries")
    typer.echo(f"{damaged} removed" if remove else f"{damaged} (to remove: --remove)")
    sys.exit(0 if remove else 1)


@cache_app.command()
def prune(
    max_size: Annotated[
        str, typer.Option(help="Keep at most so much, e.g. 20GB; what was used longest ago goes first.")
    ],
    cache_dir: CacheDir = None,
) -> None:
    """Shrink the cache. What was used within the last hour stays, since a run may be sending it; media that
    lay inside a table stay for a day."""
    from omnieval.media import cache_care
    from omnieval.wording import counted

    most_bytes = bytes_of(max_size, "--max-size")
    result = cache_care.prune(_open(cache_dir), most_bytes=most_bytes)
    typer.echo(
        f"removed {counted(result.removed, 'entry', 'entries')} ({size_text(result.freed)}), "
        f"kept {result.kept} ({size_text(result.left)})"
    )
    if result.left > most_bytes:
        typer.echo("what is left was used within the last hour (media of tables: within the last day)")


def _folder(cache_dir: Path | None) -> Path:
    from omnieval.media.cache import users_cache_dir

    return users_cache_dir() if cache_dir is None else cache_dir.expanduser().absolute()


def _open(cache_dir: Path | None) -> MediaCache:
    from omnieval.media.cache import MediaCache

    return MediaCache(_folder(cache_dir))
