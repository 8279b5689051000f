"""The run directory: append-only, crash-safe, readable without the program that wrote it."""

from omnieval.runlog.schema import PlannedSample
from omnieval.runlog.store import TELEMETRY, Run, RunWriter

__all__ = ["TELEMETRY", "PlannedSample", "Run", "RunWriter"]
