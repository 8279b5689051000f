"""Data sets before a run: fetched, brought into the layout that a benchmark reads, and checked."""

from omnieval.datasets.check import Checked, check_data
from omnieval.datasets.daily_omni import Converted, convert_daily_omni

__all__ = ["Checked", "Converted", "check_data", "convert_daily_omni"]
