"""How sure a number is."""

from omnieval.stats.bootstrap import mean_interval
from omnieval.stats.intervals import wilson_interval

__all__ = ["mean_interval", "wilson_interval"]
