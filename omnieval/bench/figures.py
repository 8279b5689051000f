"""The figures of speed that a run of a bench has."""

from __future__ import annotations

from collections.abc import Mapping

from omnieval.bench.store import BenchRun
from omnieval.export.vllm_bench import vllm_bench
from omnieval.report.latency import LABELS

_PERCENTILES = {"p50": "median", "p99": "p99"}
# By vLLM's key, which the export fills.
_RATES: Mapping[str, str] = {
    "request_throughput": "requests a second",
    "output_throughput": "tokens a second",
    "audio_throughput": "seconds of sound a second",
}
# In reading order: what a report calls each figure. Of rates more is better, of the others less.
LABELS_OF_SPEED: Mapping[str, str] = {
    **{
        f"{figure}.{percentile}": f"{label} {percentile}"
        for figure, label in LABELS.items()
        if figure != "audio_s"
        for percentile in _PERCENTILES
    },
    **_RATES,
}


def speed_of(run: BenchRun) -> dict[str, float]:
    """The figures of one run by the keys of `LABELS_OF_SPEED`: what was not measured is absent."""
    figures = {
        f"{figure}.{percentile}": float(getattr(distribution, name))
        for figure, distribution in run.report.latency.items()
        for percentile, name in _PERCENTILES.items()
        if figure != "audio_s"
    }
    if not any(True for _ in run.run.responses()):
        return figures
    rates = vllm_bench(run.run)
    return figures | {key: float(rates[key]) for key in _RATES if rates[key] is not None}


def more_is_better(figure: str) -> bool:
    """Whether a figure is a rate."""
    return figure in _RATES
