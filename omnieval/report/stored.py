"""Any report as last written."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from omnieval.errors import ScoringError
from omnieval.report.accounting import identity
from omnieval.report.build import Report
from omnieval.report.speech import SpeechReport
from omnieval.runlog import Run
from omnieval.runlog.store import REPORT_JSON


def read_report(run: Run) -> Report | SpeechReport:
    """The content of report.json. Raises ScoringError when the run has not been scored."""
    written = run.report()
    kind: Any = SpeechReport if written.get("kind") == "speech" else Report
    try:
        report: Report | SpeechReport = TypeAdapter(kind).validate_python(written)
        if identity(run).keys() <= report.run.keys():
            return report
    except ValidationError:
        pass
    path = run.directory / REPORT_JSON
    raise ScoringError(f"{path}: not a report of this version; run `omnieval score` again")
