"""A run logged to Weights & Biases or MLflow: settings, headline figures, samples and reports.

Only settings that decide what is measured are sent: no server addresses, no paths, and no keys (a run
directory holds none).
"""

from __future__ import annotations

import os
from itertools import islice
from typing import Any, Literal

from omnieval.config import OPERATIONAL
from omnieval.errors import ConfigError
from omnieval.report.build import Report
from omnieval.report.speech import SpeechReport
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.rows import columns, rows
from omnieval.runlog.store import GATE_JSON, REPORT_JSON, REPORT_MD
from omnieval.types import JsonDict

TABLE_ROWS = 10_000
_ARTEFACTS = (REPORT_JSON, REPORT_MD, GATE_JSON)
_LONGEST_PARAMETER = 500  # older MLflow servers refuse more


def log_run(run: Run, to: Literal["wandb", "mlflow"], *, project: str = "omnieval") -> str:
    """Log a scored run and return the id that the tracker gave it.

    Where the tracker is, and the key for it, come from its own environment (`WANDB_API_KEY`, `WANDB_MODE`,
    `MLFLOW_TRACKING_URI`). The table of samples ends after the first TABLE_ROWS.
    Raises ConfigError when the extra is missing or the tracker refuses, ScoringError for an unscored run.
    """
    report = read_report(run)
    return _to_wandb(run, report, project) if to == "wandb" else _to_mlflow(run, report, project)


def headline(report: Report | SpeechReport) -> dict[str, float]:
    """The figures that were measured, with the ends of their 95 % intervals as `_low` and `_high`."""
    found: dict[str, float | None] = {"rows": report.rows}
    if isinstance(report, Report):
        for name, figure in (("accuracy", report.official), ("strict_accuracy", report.strict)):
            low, high = figure.interval or (None, None)
            found |= {name: figure.value, f"{name}_low": low, f"{name}_high": high}
    if isinstance(report, SpeechReport):
        if report.wer is not None:
            wer = report.wer
            found |= {"wer_percent": wer.official_percent, "wer_percent_low": wer.low}
            found |= {"wer_percent_high": wer.high}
        if report.similarity is not None:
            sim = report.similarity
            found |= {"sim": sim.mean, "sim_low": sim.low, "sim_high": sim.high}
    if report.unhealthy is not None:
        found["unhealthy"] = report.unhealthy.value
    found |= {f"{name}_median": figure.median for name, figure in report.latency.items()}
    return {name: float(value) for name, value in found.items() if value is not None}


def _settings(run: Run) -> JsonDict:
    measured = {key: value for key, value in run.config.items() if key not in OPERATIONAL}
    return measured | {
        "recipe": run.config["recipe"],
        "recipe_hash": run.info["recipe_hash"],
        "dataset_fingerprint": run.info["dataset"]["fingerprint"],
        "omnieval_version": run.info["versions"]["omnieval"],
    }


def _to_wandb(run: Run, report: Report | SpeechReport, project: str) -> str:
    try:
        import wandb
    except ImportError as error:
        raise ConfigError("wandb is not installed; pip install 'omnieval[wandb]'") from error

    name = run.name
    try:
        logged = wandb.init(project=project, name=name, config=_settings(run), job_type="evaluation")
    except wandb.errors.Error as error:
        raise ConfigError(f"wandb refuses: {str(error).rstrip('.')}; or set WANDB_MODE=offline") from error
    with logged:
        names: list[str | int] = [column.name for column in columns(run)]
        data = [list(row.values()) for row in islice(rows(run), TABLE_ROWS)]
        logged.log({"samples": wandb.Table(columns=names, data=data, allow_mixed_types=True)})
        logged.summary.update(headline(report))
        artefact = wandb.Artifact("report", type="evaluation")
        for file in _ARTEFACTS:
            if (run.directory / file).is_file():
                artefact.add_file(str(run.directory / file))
        logged.log_artifact(artefact)
        return str(logged.id)


def _to_mlflow(run: Run, report: Report | SpeechReport, project: str) -> str:
    try:
        import mlflow
    except ImportError as error:
        raise ConfigError("MLflow is not installed; pip install 'omnieval[mlflow]'") from error

    # Seven tries, which are its default, at a server that is not there take four minutes.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
    parameters = {key: str(value)[:_LONGEST_PARAMETER] for key, value in _settings(run).items()}
    try:
        mlflow.set_experiment(project)
        with mlflow.start_run(run_name=run.name) as logged:
            mlflow.log_params(parameters)
            mlflow.log_metrics(headline(report))
            mlflow.log_dict(_table(run), "samples.json")
            for file in _ARTEFACTS:
                if (run.directory / file).is_file():
                    mlflow.log_artifact(str(run.directory / file))
            return str(logged.info.run_id)
    except mlflow.exceptions.MlflowException as error:
        raise ConfigError(
            f"MLflow refuses: {str(error).strip().rstrip('.')}; set MLFLOW_TRACKING_URI to your server's "
            "address, or `pip install mlflow` to keep runs in a file here"
        ) from error


def _table(run: Run) -> dict[str, Any]:
    """The samples as MLflow's own tables are stored: column names beside rows of values."""
    return {
        "columns": [column.name for column in columns(run)],
        "data": [list(row.values()) for row in islice(rows(run), TABLE_ROWS)],
    }
