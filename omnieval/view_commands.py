"""`omnieval view`: look at runs in a browser."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer


def view(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="A folder of runs, or a run directory.")
    ] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, with the token, unencrypted.")
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the URL.")] = False,
) -> None:
    """Look at runs in a browser: samples, frames, sounds, replies, and what flipped against another run."""
    from omnieval.view.serve import serve

    with contextlib.suppress(KeyboardInterrupt):
        serve(
            directory.expanduser(),
            host=host,
            port=port,
            allow_remote=allow_remote,
            browser=not no_browser,
            told=typer.echo,
        )
