"""Data sets before a run: fetched, brought into the layout that a benchmark reads, and checked."""

from omnieval.datasets.check import Checked, check_data
from omnieval.datasets.daily_omni import Converted, convert_daily_omni
from omnieval.datasets.publish import daily_omni_to_parquet
from omnieval.datasets.pull import Pulled, pull_data
from omnieval.datasets.unpack import Unpacked, convert_seed_tts, convert_video_mme, unpack_daily_omni

__all__ = [
    "Checked",
    "Converted",
    "Pulled",
    "Unpacked",
    "check_data",
    "convert_daily_omni",
    "convert_seed_tts",
    "convert_video_mme",
    "daily_omni_to_parquet",
    "pull_data",
    "unpack_daily_omni",
]
