"""How busy this machine and its accelerators are while a run goes on, into the run's `telemetry.jsonl`."""

from omnieval.telemetry.meters import Meter, MeterError, find_meters
from omnieval.telemetry.recorder import Recorder

__all__ = ["Meter", "MeterError", "Recorder", "find_meters"]
