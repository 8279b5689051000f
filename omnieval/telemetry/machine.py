"""Processors and memory of the machine on which omnieval runs."""

from __future__ import annotations

from collections.abc import Mapping

import psutil


class Machine:
    """cpu_pct: of all processors together, since the reading before. memory_pct: in use, without caches.
    omnieval_cpu_pct: of this process, of one processor (it may use several)."""

    name = "machine"

    def __init__(self) -> None:
        self._own = psutil.Process()
        psutil.cpu_percent()  # the first reading of both has nothing to compare with
        self._own.cpu_percent()

    def stop(self) -> None:
        """See `Meter`."""

    def read(self) -> Mapping[str, Mapping[str, float]]:
        return {
            self.name: {
                "cpu_pct": psutil.cpu_percent(),
                "memory_pct": psutil.virtual_memory().percent,
                "omnieval_cpu_pct": self._own.cpu_percent(),
            }
        }
