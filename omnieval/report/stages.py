"""Which stage of the model takes the time, where the server tells: thinker, talker, token2wav.

vLLM-Omni sends the time of each stage when a request has `return_stage_metrics: true` in its `extra_body`;
llama.cpp-omni sends those of its parts with every answer.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnieval.report.page import Table
from omnieval.types import Response

# By vLLM-Omni's number, and by llama.cpp-omni's field.
_NAMES: Mapping[str, str] = {
    "0": "thinker", "1": "talker", "2": "token2wav",
    "vpm_ms": "vision encoder", "apm_ms": "audio encoder", "llm_prefill_ms": "prefill",
    "cost_llm_ms": "thinker", "cost_tts_ms": "talker", "cost_token2wav_ms": "token2wav",
}  # fmt: skip
_TIMES = ("stage_gen_time_ms", "gen_time_ms", "time_ms", "ms")


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage over the answers that tell of it. median_s: of one answer. share: of the time of all stages
    together. saved: the part of that which would go if this stage took half as long."""

    stage: str
    answers: int
    median_s: float
    share: float
    saved: float


def stage_rows(responses: Iterable[Response]) -> tuple[StageRow, ...]:
    """In the order in which the stages work; none where the server does not tell."""
    times: dict[str, list[float]] = defaultdict(list)
    for response in responses:
        if response.answered:
            for stage, seconds in stage_seconds(response.server_metrics).items():
                times[stage].append(seconds)
    whole = sum(map(sum, times.values()))
    if not whole:
        return ()
    order = ["vision encoder", "audio encoder", "prefill", "thinker", "talker", "token2wav"]
    return tuple(
        StageRow(stage, len(times[stage]), statistics.median(times[stage]), share, share / 2)
        for stage in sorted(times, key=lambda s: (order.index(s) if s in order else len(order), s))
        for share in [sum(times[stage]) / whole]
    )


def stage_seconds(metrics: Mapping[str, Any]) -> dict[str, float]:
    """stage -> seconds, of what a server tells of one answer; what is no time is left out."""
    found = {}
    for key, value in metrics.items():
        if isinstance(value, Mapping):
            value = next((value[name] for name in _TIMES if name in value), None)
            name = _NAMES.get(key, f"stage {key}")
        elif key in _NAMES:
            name = _NAMES[key]
        else:
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf:
            found[name] = value / 1000
    return found


def stage_lines(rows: Sequence[StageRow]) -> list[str]:
    """The bottleneck in words; nothing for a model of one stage."""
    if len(rows) < 2:
        return []
    most = max(rows, key=lambda row: row.share)
    return [
        f"the bottleneck is the {most.stage}: {100 * most.share:.0f} % of the stages' time, so that making "
        f"it twice as fast saves at most {100 * most.saved:.0f} % of it"
    ]


def stage_table(rows: Sequence[StageRow]) -> Table:
    """The rows as text."""
    cells = [
        (
            row.stage,
            str(row.answers),
            f"{row.median_s:.3f}",
            f"{100 * row.share:.0f} %",
            f"{100 * row.saved:.0f} %",
        )
        for row in rows
    ]
    header = ("stage", "answers", "p50 (s)", "share", "saved if twice as fast")
    return Table("Stages of the model", header, tuple(cells), (1, 2, 3, 4))
