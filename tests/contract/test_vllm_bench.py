"""The export has every key of the file that `vllm bench serve --save-result` wrote, in values of the same kind."""

from __future__ import annotations

import json
from pathlib import Path

from omnieval.export.vllm_bench import vllm_bench
from omnieval.types import Timing
from tests.runs import choice_run

WRITTEN = json.loads((Path(__file__).parent / "data" / "vllm_bench.json").read_text())


def test_no_key_is_missing_and_lists_are_lists(tmp_path: Path) -> None:
    timing = Timing(started=10.0, ttft_s=0.1, itl_s=(0.1,), tpot_s=0.1, e2e_s=0.5)
    run = choice_run(tmp_path / "r", ["correct", "wrong", "timeout"], timing=timing)
    plain, detailed = vllm_bench(run), vllm_bench(run, detailed=True)
    theirs = WRITTEN["result"]
    assert theirs.keys() <= plain.keys()
    assert {*theirs, *WRITTEN["detailed"]} <= detailed.keys()
    assert not plain.keys() & set(WRITTEN["detailed"])
    number = (int, float)
    for key, value in plain.items():
        if value is not None and theirs.get(key) is not None:
            same = number if isinstance(theirs[key], number) else type(theirs[key])
            assert isinstance(value, same), key
