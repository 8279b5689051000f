"""Lines of Seed-TTS lists mean what they mean to the references; where those differ, the official tools win."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnieval.benchmarks.seed_tts_list import read_list
from omnieval.errors import DataError

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "meta_lst.json").read_text())[
    "cases"
]
GOOD = "good|a|b.wav|c\n"
# The one bench knows four fields and more only, and keeps a byte-order mark in the id.
OFFICIAL_ONLY = {"a|b": ("a", "b", None), "only|three|fields": ("only", "three", "fields")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["line"][:20] or "empty")
def test_every_line(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "meta.lst"
    path.write_text(case["line"] + "\n" + GOOD, encoding="utf-8")
    *lines, good = read_list(path).lines
    assert good.utterance == "good"
    usable = [line for line in lines if line.problem is None]
    expected = case["vllm_omni"]
    if case["line"] in OFFICIAL_ONLY:
        (line,) = usable
        assert (line.utterance, line.text, line.prompt_wav) == OFFICIAL_ONLY[case["line"]]
    elif expected is None:
        assert usable == []
    else:
        (line,) = usable
        assert line.utterance == expected["id"].removeprefix("\ufeff")
        assert (line.prompt_text, line.prompt_wav, line.text) == (
            expected["prompt_text"], expected["prompt_wav"], expected["target_text"],
        )  # fmt: skip


def test_line_ends_marks_blanks_and_the_ground_truth(tmp_path: Path) -> None:
    path = tmp_path / "meta.lst"
    path.write_bytes(
        "\ufeffu1|p|p.wav|one|w.wav\r\n\r\n# note\nu2.wav|two|p.wav\nu3.wav|p|p.wav|three".encode()
    )
    read = read_list(path)
    assert [(line.number, line.utterance, line.text) for line in read.lines] == [
        (1, "u1", "one"), (4, "u2", "two"), (5, "u3.wav", "three"),
    ]  # fmt: skip
    assert read.lines[0].fifth == "w.wav"
    assert read.notes == ()


def test_what_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "meta.lst"
    path.write_text("lonely\nu1|p|p.wav|\n../u2|p|p.wav|two\nu3|p|p.wav|x|y|z\nu4|four\nu4|again\n")
    read = read_list(path)
    assert [line.problem is None for line in read.lines] == [False, False, False, True, True, True]
    assert list(read.notes) == [
        "line 1 has one field, expected 2 to 5",
        "line 2 (u1) has no text to speak",
        "line 3 has the id '../u2', which contains a path separator or NUL",
        "lines with more than 5 fields, of which the rest is ignored: 4",
        "ids that come more than once: u4",
    ]


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n", "no separator\n"])
def test_a_list_without_a_usable_line_is_an_error(content: str, tmp_path: Path) -> None:
    path = tmp_path / "meta.lst"
    path.write_text(content)
    with pytest.raises(DataError, match=r"meta\.lst"):
        read_list(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_list(tmp_path / "missing.lst")
