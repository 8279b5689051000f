"""The bundled sample is a small, sound data set in the official layout, and can be made anew."""

from __future__ import annotations

import json
import wave
from collections import Counter
from typing import Any

import pytest

from omnieval.errors import ConfigError
from omnieval.media.probe import probe
from omnieval.samples import sample_dir
from omnieval.samples.build_daily_omni import CLIPS
from omnieval.samples.daily_omni_questions import QUESTIONS
from omnieval.settings import configure

FOLDER = sample_dir("daily-omni")
ROWS: list[dict[str, Any]] = json.loads((FOLDER / "qa.json").read_text())
OFFICIAL_KEYS = {
    "Question", "Choice", "Answer", "video_id", "Type", "video_category", "video_duration",
    "content_parent_category", "content_fine_category",
}  # fmt: skip
OFFICIAL_TYPES = {
    "Comparative", "Inference", "Reasoning", "AV Event Alignment", "Context understanding", "Event Sequence",
}  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "given", "backend"),
    [
        ("daily-omni", (), "embedded"),
        ("daily-omni-transformers", (), "embedded"),
        ("daily-omni-transformers", (("model", "MiniCPM-o-4_5"),), "transformers-minicpmo"),
        ("daily-omni", (("base_url", "http://127.0.0.1:1/v1"),), "openai-chat"),
        ("daily-omni", (("backend", "chance"),), "chance"),
    ],
)
def test_only_who_names_no_deployment_asks_the_baseline(
    recipe: str, given: tuple[tuple[str, str], ...], backend: str
) -> None:
    assert configure(recipe, given, sample=True).backend == backend


def test_every_row_has_the_official_keys_and_every_type_occurs() -> None:
    assert all(set(row) == OFFICIAL_KEYS for row in ROWS)
    assert {row["Type"] for row in ROWS} == OFFICIAL_TYPES
    assert len({row["video_category"] for row in ROWS}) >= 3
    assert len({row["video_duration"] for row in ROWS}) >= 2


def test_answers_are_spread_over_the_letters() -> None:
    counts = Counter(row["Answer"] for row in ROWS)
    assert set(counts) == set("ABCD")
    assert max(counts.values()) <= 1 + min(counts.values())


def test_every_video_has_picture_and_sound_of_the_stated_length() -> None:
    for video_id in {row["video_id"] for row in ROWS}:
        folder = FOLDER / "Videos" / video_id
        stated_s = float(next(row["video_duration"] for row in ROWS if row["video_id"] == video_id)[:-1])
        facts = probe(folder / f"{video_id}_video.mp4")
        assert facts.video is not None
        assert facts.audio is not None
        assert facts.video.duration_s == stated_s
        with wave.open(str(folder / f"{video_id}_audio.wav")) as sound:
            assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (16000, 1, 2)
            assert sound.getnframes() == stated_s * 16000


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 3_000_000


def test_the_questions_in_the_package_are_the_rows_of_the_file() -> None:
    assert [question.row(f"{CLIPS[question.video_id].seconds:g}s") for question in QUESTIONS] == ROWS


def test_there_is_a_licence_note() -> None:
    assert "CC0" in (FOLDER / "README.md").read_text()


def test_an_unknown_sample_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'daily-omni'"):
        sample_dir("daily-omny")
