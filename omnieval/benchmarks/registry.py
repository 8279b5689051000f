"""The benchmarks by name; each entry is a class that follows `omnieval.benchmarks.base.Benchmark`."""

from __future__ import annotations

from omnieval.registry import Registry

BENCHMARKS = Registry(
    kind="benchmark",
    group="omnieval.benchmarks",
    builtin={
        "daily-omni": "omnieval.benchmarks.daily_omni:DailyOmni",
        "mcq": "omnieval.benchmarks.mcq:MultipleChoice",
        "seed-tts": "omnieval.benchmarks.seed_tts:SeedTTS",
        "video-mme": "omnieval.benchmarks.video_mme:VideoMME",
    },
)
