"""Which stage of the model takes the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.report.stages import StageRow, stage_lines, stage_rows, stage_seconds
from omnieval.types import Failure, Response
from tests.faults.server import DONE, Exchange, FaultServer, chunk


def answer(number: int, metrics: dict[str, Any]) -> Response:
    return Response(f"s{number}", text="A", finish_reason="stop", server_metrics=metrics)


def omni(thinker: float, talker: float, token2wav: float) -> dict[str, Any]:
    return {
        "0": {"num_tokens_out": 9, "stage_gen_time_ms": thinker},
        "1": {"stage_gen_time_ms": talker},
        "2": {"stage_gen_time_ms": token2wav},
    }


def test_the_share_of_each_stage_and_what_a_faster_one_saves() -> None:
    rows = stage_rows([answer(0, omni(100, 600, 300)), answer(1, omni(300, 600, 100))])
    assert rows == (
        StageRow("thinker", 2, 0.2, 0.2, 0.1),
        StageRow("talker", 2, 0.6, 0.6, 0.3),
        StageRow("token2wav", 2, 0.2, 0.2, 0.1),
    )
    assert stage_lines(rows) == [
        "the bottleneck is the talker: 60 % of the stages' time, so that making it twice as fast saves at most "
        "30 % of it"
    ]


def test_parts_of_llama_cpp_omni_have_the_same_names() -> None:
    metrics = {
        "event": "metrics", "vpm_ms": 10, "apm_ms": 20, "llm_prefill_ms": 30, "cost_llm_ms": 40.0,
        "cost_tts_ms": 50, "cost_token2wav_ms": 50,
    }  # fmt: skip
    rows = stage_rows([answer(0, metrics)])
    names = ["vision encoder", "audio encoder", "prefill", "thinker", "talker", "token2wav"]
    assert [row.stage for row in rows] == names
    assert [row.share for row in rows] == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.25, 0.25])


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({}, {}),
        ({"0": {"tokens": 3}, "2": {"ms": 40.0}}, {"token2wav": 0.04}),
        ({"7": {"stage_gen_time_ms": 5}}, {"stage 7": 0.005}),
        ({"0": {"stage_gen_time_ms": "many"}, "1": {"stage_gen_time_ms": -1}}, {}),
        ({"0": {"stage_gen_time_ms": float("nan")}, "1": {"stage_gen_time_ms": True}}, {}),
        ({"0": [1], "cost_tts_ms": None, "other": 3.0}, {}),
    ],
)
def test_what_is_no_time_is_left_out(metrics: dict[str, Any], expected: dict[str, float]) -> None:
    assert stage_seconds(metrics) == expected


def test_failed_tries_and_servers_that_do_not_tell_have_no_stages() -> None:
    failed = Response("s", error=Failure("server", "gone"), server_metrics=omni(1, 2, 3))
    assert stage_rows([failed, answer(0, {})]) == ()
    assert stage_lines(stage_rows([answer(0, {"0": {"ms": 4}})])) == []


def test_a_run_asks_for_stage_times_and_its_report_names_the_bottleneck(tmp_path: Path) -> None:
    bodies: list[Any] = []

    async def serve(exchange: Exchange) -> None:
        bodies.append(exchange.body)
        last = chunk("", finish="stop", metrics={"stage_metrics": omni(10, 80, 10)})
        await exchange.stream(chunk("A"), last, DONE)

    with FaultServer(serve) as server:
        run = api.run(
            "mcq-pictures", sample=True, base_url=server.base_url, out=tmp_path / "run", preflight="never",
            extra_body={"return_stage_metrics": True},
        )  # fmt: skip
    assert all(body["return_stage_metrics"] is True for body in bodies)
    text = (tmp_path / "run" / "report.md").read_text()
    assert "the bottleneck is the talker: 80 % of the stages' time" in text and "Stages of the model" in text
    assert [row["stage"] for row in run.report()["stages"]] == ["thinker", "talker", "token2wav"]
