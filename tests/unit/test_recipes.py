"""The bundled recipes hold every knob, and differ where they say so."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from omnieval import api
from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import RunConfig, differences
from omnieval.errors import ConfigError
from omnieval.recipe_files import find_recipe, recipe_folder, recipe_names
from omnieval.report.gate import find_gate, load_gate
from omnieval.report.reference import load_references
from omnieval.report.speech_reference import load_speech_references

# Given on the command line or by the environment, hence not part of a recipe.
NOT_IN_RECIPES = {"recipe", "task", "data", "recordings", "runs_dir", "cache_dir"}
# What says nothing of the other kind of answer.
OF_CHOICES, OF_SPEECH = {"parser", "media", "options", "question_place"}, {"pcm"}
OF_DUPLEX = {"duplex"}


@pytest.mark.parametrize("name", recipe_names())
def test_every_key_is_there_and_resolves(name: str) -> None:
    values = yaml.safe_load(find_recipe(name).read_text())
    own = BENCHMARKS.load(values["benchmark"]).Settings
    foreign = OF_CHOICES if BENCHMARKS.load(values["benchmark"]).scoring == "speech" else OF_SPEECH
    foreign = foreign | (set() if values["backend"] == "realtime-duplex" else OF_DUPLEX)
    expected = (set(RunConfig.model_fields) | set(own.model_fields)) - NOT_IN_RECIPES - foreign
    assert set(values) == expected
    config = api.configure(name)
    assert config.recipe == name
    for section, keys in values.items():
        if isinstance(keys, dict) and section not in ("extra_body", "columns"):
            assert set(keys) == set(config.flat()[section]), section


def test_the_two_settings_of_daily_omni_differ_in_plan_and_prompt_only() -> None:
    first, second = (api.configure(name).measured() for name in ("daily-omni", "daily-omni-omnievalkit"))
    assert differences(first, second) == [
        'plan: "minicpm" -> "omnievalkit"',
        'prompt: "official" -> "omnievalkit"',
    ]


def test_a_recipe_is_found_by_name_or_path_and_a_wrong_name_suggests_the_right_one(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("benchmark: daily-omni\nmax_frames: 5\n")
    assert api.configure(mine).flat()["max_frames"] == 5
    assert api.configure(str(mine)).recipe == "mine"
    with pytest.raises(ConfigError, match="did you mean 'daily-omni'"):
        find_recipe("dailyomni")
    with pytest.raises(ConfigError, match="no such recipe file"):
        find_recipe("missing/one.yaml")


def test_the_recipes_of_video_mme_are_the_published_ones() -> None:
    frames, subtitles, short = (
        api.configure(name).measured() for name in ("video-mme", "video-mme-subs", "video-mme-short")
    )
    assert differences(frames, subtitles) == ["subtitles: false -> true"]
    assert differences(frames, short) == [
        'durations: "all" -> "short"',
        "max_frames: 96 -> 64",
        'packing: "frames" -> "interleave"',
    ]


@pytest.mark.parametrize(("benchmark", "accuracy"), [("daily-omni", 0.7828), ("video-mme", 0.6996)])
def test_the_reference_counts_add_up(benchmark: str, accuracy: float) -> None:
    table = load_references(benchmark)
    assert table is not None
    exact = [result for result in table.results if result.correct is not None]
    assert [round(result.accuracy, 4) for result in exact] == [accuracy]
    for result in exact:
        for groups in result.groups.values():
            assert sum(correct for correct, _ in groups.values()) == result.correct
            assert sum(total for _, total in groups.values()) == result.total
    assert load_references("no-such-benchmark") is None
    assert (recipe_folder() / "reference").is_dir()


def test_the_bundled_gate_has_the_lines_by_which_the_challenge_accepts() -> None:
    gate = load_gate(find_gate("minicpm-challenge"))
    lines = {name: {line.name: line for line in of} for name, of in gate.sections.items()}
    for name in ("daily-omni", "video-mme"):
        table = load_references(name)
        assert table is not None
        (accepted,) = (result for result in table.results if "to be accepted" in result.name)
        found = lines[name]["accuracy"]
        assert (found.operator, found.threshold) == (">=", accepted.accuracy)
    results = load_speech_references("seed-tts")
    (spoken,) = (result for result in results if "to be accepted" in result.name)
    (duplex,) = (result for result in results if "duplex" in result.name)
    wer, voice = lines["seed-tts-en"]["wer"], lines["seed-tts-en"]["sim"]
    assert (wer.operator, wer.threshold) == ("<=", spoken.wer)
    assert (voice.operator, voice.threshold, voice.argument) == (">=", spoken.similarity, spoken.encoder)
    rtf = lines["seed-tts-duplex"]["rtf.median"]
    assert (rtf.operator, rtf.threshold) == ("<", duplex.latency["rtf"])
    assert (spoken.wer, spoken.similarity, duplex.latency["rtf"]) == (1.56, 0.689, 1.087)
