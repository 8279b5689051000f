"""Word error rates equal those of the official Seed-TTS scorer, for every utterance and set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnieval.scoring.speech import EmptyReferenceError, official_wer
from omnieval.scoring.speech.average import official_percent

DATA = Path(__file__).parent / "data"
UTTERANCES: list[dict[str, Any]] = json.loads((DATA / "wer.json").read_text())["cases"]
SETS: list[dict[str, Any]] = json.loads((DATA / "wer_average.json").read_text())["cases"]


@pytest.mark.parametrize("case", UTTERANCES, ids=lambda case: case["text"][:24])
def test_every_utterance(case: dict[str, Any]) -> None:
    expected = case["result"]
    if "error" in expected:
        with pytest.raises(EmptyReferenceError) as raised:
            official_wer(case["text"], case["asr"], language=case["lang"])
        assert isinstance(raised.value, ValueError)
        return
    errors = official_wer(case["text"], case["asr"], language=case["lang"])
    assert (errors.reference, errors.hypothesis) == (expected["reference"], expected["hypothesis"])
    assert errors.wer == pytest.approx(expected["wer"], abs=1e-12)
    counts = (errors.substitutions, errors.deletions, errors.insertions)
    assert counts == (expected["substitutions"], expected["deletions"], expected["insertions"])


@pytest.mark.parametrize("case", SETS, ids=lambda case: str(case["official_wer_percent"]))
def test_every_set(case: dict[str, Any]) -> None:
    rates = case["utterance_wer"]
    assert official_percent(rates) == case["official_wer_percent"]
    assert official_percent([rate for rate in rates if rate <= 0.5]) == case["below_50_percent"]
    assert sum(rate > 0.5 for rate in rates) == case["n_above_50"]
