"""Data sets before a run: fetched, brought into the layout that a benchmark reads, and checked."""

from omnieval.datasets.daily_omni import convert_daily_omni

__all__ = ["convert_daily_omni"]
