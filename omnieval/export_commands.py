"""`omnieval export`: a run for other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """What a run can be written as."""

    csv = "csv"
    parquet = "parquet"
    vllm_bench = "vllm-bench"
    lm_eval = "lm-eval"


class Tracker(StrEnum):
    """Where a run can be logged."""

    wandb = "wandb"
    mlflow = "mlflow"


def export(
    directory: Annotated[Path, typer.Argument(help="A scored run directory.", show_default=False)],
    format_: Annotated[
        Format | None, typer.Option("--format", help="What to write.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write (folder for lm-eval); else one named after the run, here."),
    ] = None,
    detailed: Annotated[
        bool,
        typer.Option("--detailed", help="vllm-bench: also one entry a request, with replies and errors."),
    ] = False,
    to: Annotated[
        Tracker | None, typer.Option("--to", help="Log to this experiment tracker.", show_default=False)
    ] = None,
    project: Annotated[
        str, typer.Option(help="The tracker's project (wandb) or experiment (mlflow).")
    ] = "omnieval",
) -> None:
    """Write a run as CSV, parquet or in the layout of another tool, or log it to an experiment tracker."""
    from omnieval import api
    from omnieval.errors import ConfigError
    from omnieval.runlog.files import written_in_place

    if (format_ is None) == (to is None):
        raise ConfigError("give either --format csv, parquet, vllm-bench or lm-eval, or --to wandb or mlflow")
    if to is not None:
        typer.echo(f"logged: {api.track(directory, to.value, project=project)}")
        return
    assert format_ is not None
    for path in api.export(directory, format_.value, out=out, detailed=detailed):
        typer.echo(f"written: {path}", err=written_in_place(path))
