"""A run as the results JSON of `vllm bench serve --save-result`, for dashboards that read those.

Key names: vllm/benchmarks/serve.py of vLLM 0.32, and for speech vllm_omni/metrics/definitions.py of vLLM-Omni
(`vllm bench serve --omni`). What this run did not measure is null. Accuracy and speech figures stand beside
vLLM's keys under names of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from omnieval.errors import ScoringError
from omnieval.report.build import Report
from omnieval.report.speech import SpeechReport
from omnieval.report.stored import read_report
from omnieval.runlog import Run
from omnieval.runlog.files import replace_json
from omnieval.types import JsonDict, Response

_PERCENTILES = (90, 95, 99)


def write_vllm_bench(run: Run, path: Path, *, detailed: bool = False) -> None:
    """Write `vllm_bench(run)`. Raises ScoringError for an unscored run, StorageError."""
    replace_json(path, vllm_bench(run, detailed=detailed))


def vllm_bench(run: Run, *, detailed: bool = False) -> JsonDict:
    """The results by vLLM's key names; times in milliseconds, throughputs per second.

    detailed: also the lists that `--save-detailed` keeps, one entry a request, with replies and errors.
    num_prompts counts the samples with a finished try, by their last one. Duration and throughputs are null
    for a run that was continued: the time between its sessions is no work of the server. Token totals are
    null unless the server counted the tokens of every answer.
    """
    last = run.last_responses()
    if not last:
        raise ScoringError(
            f"{run.directory}: no request was answered or failed, so there is nothing to export"
        )
    responses = list(last.values())
    answered = [response for response in responses if response.answered]
    config = run.config
    rate, bound = config.get("request_rate"), config.get("concurrency")
    result = {
        "date": datetime.fromisoformat(run.info["started"]).strftime("%Y%m%d-%H%M%S"),
        "endpoint_type": config["backend"],
        "backend": config["backend"],
        "label": run.name,
        "model_id": run.info["server"].get("model") or config["model"],
        "tokenizer_id": None,
        "num_prompts": len(responses),
        "request_rate": "inf" if rate is None else rate,
        "burstiness": 1.0,  # Poisson arrivals, where there is a rate
        "max_concurrency": bound if isinstance(bound, int) else None,  # it may have been found on the way
        "completed": len(answered),
        "failed": len(responses) - len(answered),
        **_throughput(run, responses, answered),
        "latencies": [r.timing.e2e_s for r in responses],
        "queue_times": None,
        **_times(answered),
        **_figures(read_report(run)),
    }
    return result | (_details(responses) if detailed else {})


def _throughput(run: Run, responses: Sequence[Response], answered: Sequence[Response]) -> JsonDict:
    read = _total([_read(r) for r in answered])
    written = _total([_written(r) for r in answered])
    continued = any(event.get("event") == "resumed" for event in run.events())
    duration = None if continued else _duration(responses)
    both = None if read is None or written is None else read + written

    spoken = sum(r.audio.duration_s for r in answered if r.audio is not None) or None

    def a_second(count: float | None) -> float | None:
        return count / duration if count is not None and duration else None

    return {
        "duration": duration,
        "total_input_tokens": read,
        "total_output_tokens": written,
        "request_throughput": a_second(len(answered)),
        "request_goodput": None,
        "output_throughput": a_second(written),
        "total_token_throughput": a_second(both),
        **_busiest_seconds([] if continued else answered),
        "rtfx": None,
        "total_audio_duration_s": spoken,
        "audio_throughput": a_second(spoken),
    }


def _busiest_seconds(answered: Sequence[Response]) -> JsonDict:
    """vLLM's peaks, over whole seconds from the first start: pieces of text that came in one, and answered
    requests that were under way in one. Null unless every answer was streamed, or timed."""
    import numpy as np

    peaks: JsonDict = {"max_output_tokens_per_s": None, "max_concurrent_requests": None}
    timings = [response.timing for response in answered]
    if not timings or any(t.started is None or t.e2e_s is None for t in timings):
        return peaks
    starts = np.array([t.started for t in timings])
    starts -= starts.min()
    first, last = starts.astype(int), (starts + [t.e2e_s for t in timings]).astype(int)
    _, places = np.unique(np.concatenate([first, last + 1]), return_inverse=True)
    changes = np.bincount(places, weights=np.repeat([1, -1], len(timings)))
    peaks["max_concurrent_requests"] = int(changes.cumsum().max())
    if all(t.ttft_s is not None for t in timings):
        pieces = [start + np.cumsum([t.ttft_s, *t.itl_s]) for start, t in zip(starts, timings, strict=True)]
        _, counts = np.unique(np.concatenate(pieces).astype(int), return_counts=True)
        peaks["max_output_tokens_per_s"] = float(counts.max())
    return peaks


def _read(response: Response) -> int | None:
    return None if response.usage is None else response.usage.prompt_tokens


def _written(response: Response) -> int | None:
    return None if response.usage is None else response.usage.completion_tokens


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _duration(responses: Sequence[Response]) -> float | None:
    """Seconds from the first request's start to the last answer's end."""
    spans = [
        (r.timing.started, r.timing.started + r.timing.e2e_s)
        for r in responses
        if r.timing.started is not None and r.timing.e2e_s is not None
    ]
    return max(end for _, end in spans) - min(start for start, _ in spans) if spans else None


def _times(answered: Sequence[Response]) -> JsonDict:
    timings = [response.timing for response in answered]
    return {
        **_distribution("ttft_ms", [t.ttft_s for t in timings], 1000),
        **_distribution("tpot_ms", [t.tpot_s for t in timings], 1000),
        **_distribution("itl_ms", [gap for t in timings for gap in t.itl_s], 1000),
        **_distribution("e2el_ms", [t.e2e_s for t in timings], 1000),
        **_distribution("audio_ttfp_ms", [t.ttfp_s for t in timings], 1000),
        **_distribution("audio_rtf", [t.rtf for t in timings], 1),
        **_distribution("audio_duration_s", [r.audio.duration_s for r in answered if r.audio is not None], 1),
    }


def _distribution(name: str, seconds: Sequence[float | None], factor: float) -> JsonDict:
    import numpy as np

    labels = [f"mean_{name}", f"median_{name}", f"std_{name}", *(f"p{p}_{name}" for p in _PERCENTILES)]
    values = np.array([value for value in seconds if value is not None]) * factor
    if not len(values):
        return dict.fromkeys(labels)
    found = [values.mean(), np.median(values), values.std(), *np.percentile(values, _PERCENTILES)]
    return dict(zip(labels, map(float, found), strict=True))


def _figures(report: Report | SpeechReport) -> JsonDict:
    if isinstance(report, Report):
        return {"accuracy": report.official.value, "strict_accuracy": report.strict.value}
    return {
        "wer_percent": None if report.wer is None else report.wer.official_percent,
        "sim": None if report.similarity is None else report.similarity.mean,
        "sim_encoder": None if report.similarity is None else report.similarity.encoder,
    }


def _details(responses: Sequence[Response]) -> dict[str, list[Any]]:
    return {
        "input_lens": [_read(r) for r in responses],
        "output_lens": [_written(r) for r in responses],
        "start_times": [r.timing.started for r in responses],
        "ttfts": [r.timing.ttft_s for r in responses],
        "itls": [list(r.timing.itl_s) for r in responses],
        "generated_texts": [r.text for r in responses],
        "errors": ["" if r.error is None else r.error.message for r in responses],
    }
