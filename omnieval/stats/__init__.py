"""How sure a number is."""

from omnieval.stats.intervals import wilson_interval

__all__ = ["wilson_interval"]
