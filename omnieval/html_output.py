"""Where `--html FILE` goes: a file, or with `-` the standard output."""

from __future__ import annotations

from pathlib import Path

import typer


def write_html(target: str, content: str) -> None:
    """Write a page. Raises StorageError when the file cannot be written."""
    if target == "-":
        typer.echo(content, nl=False)
        return
    from omnieval.runlog.files import replace_file

    path = Path(target).expanduser()
    replace_file(path, [content.encode()])
    typer.echo(f"written: {path}", err=True)


def folder_of(target: str) -> Path:
    """The folder from which the page's links start."""
    return Path.cwd() if target == "-" else Path(target).expanduser().absolute().parent
