"""A run's configuration is resolved once, from known keys only."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from omnieval.benchmarks.daily_omni import Settings
from omnieval.config import RunConfig, Strict, differences, load_recipe, parse_assignment, resolve
from omnieval.errors import ConfigError

RECIPE = {"benchmark": "daily-omni", "max_frames": 32}


def settings_of(benchmark: str) -> type[Strict]:
    assert benchmark == "daily-omni"
    return Settings


def resolved(recipe: dict[str, Any] | None = None, *overrides: tuple[str, Any], **environ: str) -> RunConfig:
    return resolve(RECIPE if recipe is None else recipe, settings_of, overrides=overrides, environ=environ)


def test_later_sources_win_and_sections_are_merged_key_by_key() -> None:
    config = resolved(
        {**RECIPE, "decode": {"max_tokens": 64, "seed": 3}},
        ("decode.max_tokens", 16),
        ("max_frames", 8),
        ("max_frames", 9),
    )
    assert (config.decode.max_tokens, config.decode.seed) == (16, 3)
    assert config.flat()["max_frames"] == 9


def test_only_paths_come_from_the_environment_and_the_recipe_wins(tmp_path: Path) -> None:
    environ = {"OMNIEVAL_CACHE_DIR": str(tmp_path), "OMNIEVAL_MAX_FRAMES": "3", "OMNIEVAL_MODEL": "m"}
    config = resolved(None, **environ)
    assert config.cache_dir == tmp_path
    assert config.model is None
    assert config.flat()["max_frames"] == 32
    assert resolved({**RECIPE, "cache_dir": "/elsewhere"}, **environ).cache_dir == Path("/elsewhere")


def test_a_null_path_in_the_recipe_leaves_the_environment_in_force(tmp_path: Path) -> None:
    config = resolved({**RECIPE, "cache_dir": None, "data": None}, OMNIEVAL_CACHE_DIR=str(tmp_path))
    assert config.cache_dir == tmp_path


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ([("max_frame", 3)], "'max_frame' (did you mean 'max_frames'?)"),
        ([("zzz", 3)], "unknown configuration key 'zzz' (known: "),
        ([("decode.max_token", 3)], "'decode.max_token' (did you mean 'decode.max_tokens'?)"),
        ([("image.qualty", 3)], "'image.qualty' (did you mean 'image.quality'?)"),
        ([("task.max_frames", 3)], "unknown configuration key 'task'"),
        ([("decode", 3)], "'decode'"),
        ([("max_frames", "many")], "'max_frames'"),
        ([("max_frames", 0)], "greater than or equal to 1, found 0"),
        ([("prompt", "plain")], "'official' or 'omnievalkit', found 'plain'"),
        ([("plan", "unifrom")], "unknown frame plan 'unifrom' (did you mean 'uniform'?)"),
        ([("image.quality", 101)], "'image.quality'"),
        ([("base_url", "127.0.0.1:8000")], "expected a URL such as"),
        ([("base_url", "http://u:p@host/v1")], "user name or password"),
        ([("base_url", "http://host/v1?key=1")], "must end with its path"),
        ([("concurrency", 0)], "'concurrency'"),
        ([("model", " ")], "configuration key 'model': expected the model's name"),
        ([("engine.devices", ["gpu0"])], "expected npu:N, cuda:N, npu:N+M or cpu, found 'gpu0'"),
        ([("engine.devices", "npu:0")], "'engine.devices': expected a list such as [npu:0]"),
        ([("engine.devices", ["npu:1", "npu:1"])], "npu:1 is named twice; one engine a card"),
        ([("engine.devices", ["npu:0", "npu:1+0"])], "npu:0 is named twice; one engine a card"),
        ([("engine.devices", ["cuda:0+00"])], "cuda:0 is named twice; one engine a card"),
        ([("max_frame", 3), ("promt", "x")], "'promt' (did you mean 'prompt'?)"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_what_was_expected(
    overrides: list[tuple[str, Any]], words: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        resolved(None, *overrides)
    assert words in str(raised.value)


def test_a_recipe_without_benchmark_is_refused() -> None:
    with pytest.raises(ConfigError, match="names no benchmark"):
        resolved({"max_frames": 3})


def test_the_flat_form_resolves_to_the_same_configuration() -> None:
    config = resolved(None, ("select.filter", {"type": "Reasoning"}), ("extra_body", {"a": {"b": 1}}))
    assert resolved(config.flat()) == config


def test_the_hash_covers_what_is_measured_and_nothing_else() -> None:
    config = resolved()
    for key, value in {
        "concurrency": 1,
        "base_url": "http://a/v1",
        "retry.attempts": 9,
        "data": "/d",
    }.items():
        assert resolved(None, (key, value)).recipe_hash() == config.recipe_hash(), key
    for key, value in {"max_frames": 1, "model": "m", "decode.seed": 1, "prompt": "omnievalkit"}.items():
        assert resolved(None, (key, value)).recipe_hash() != config.recipe_hash(), key


def test_a_key_that_came_later_leaves_the_hash_of_older_runs_as_it_was() -> None:
    later = {"question_place": "before", "stack_frames": 2}
    older = {key: value for key, value in resolved().measured().items() if key not in later}
    told = hashlib.sha256(json.dumps(older, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
    assert resolved().recipe_hash() == told
    for key, value in later.items():
        assert resolved(None, (key, value)).recipe_hash() != told, key


def test_differences_name_each_key_with_both_values() -> None:
    old = {"a": 1, "s": {"x": None, "y": 2}, "same": [1]}
    new = {"a": 2, "s": {"x": "v", "y": 2}, "same": [1], "added": True}
    assert differences(old, new) == ["a: 1 -> 2", "added: null -> true", 's.x: null -> "v"']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_frames=32", ("max_frames", 32)),
        ("a.b=true", ("a.b", True)),
        ("x=null", ("x", None)),
        ("x=", ("x", None)),
        ("x=a=b", ("x", "a=b")),
        ("l=[1, two]", ("l", [1, "two"])),
        ("m={a: 1}", ("m", {"a": 1})),
    ],
)
def test_assignments_are_read_as_yaml(text: str, expected: tuple[str, Any]) -> None:
    assert parse_assignment(text) == expected


@pytest.mark.parametrize("text", ["max_frames", "=3", "x=[1", ""])
def test_a_broken_assignment_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        parse_assignment(text)


@pytest.mark.parametrize("content", ["[1, 2]", "a: [", "", "3: x", "\x00"])
def test_a_recipe_that_is_no_mapping_is_named_with_its_file(content: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"mine\.yaml"):
        load_recipe(path)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("decode.temperature=.inf", "decode.temperature"),
        ("decode.temperature=.nan", "decode.temperature"),
        ("decode.temperature=inf", "decode.temperature"),
        ("timeouts.total_s=.inf", "timeouts.total_s"),
        ("extra_body={a: [1, .inf]}", "extra_body.a.1"),
    ],
)
def test_numbers_that_are_none_are_refused_by_their_key(text: str, key: str) -> None:
    with pytest.raises(ConfigError, match=f"configuration key '{key}': .*finite number, found"):
        resolved(None, parse_assignment(text))


@pytest.mark.parametrize("value", ["1" * 5000, "[" * 5000])
def test_hostile_yaml_is_a_configuration_error(value: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--set 'x=.*\.\.\.': the value is not valid YAML"):
        parse_assignment(f"x={value}")
    (tmp_path / "r.yaml").write_text(f"x: {value}")
    with pytest.raises(ConfigError, match=r"r\.yaml: not valid YAML"):
        load_recipe(tmp_path / "r.yaml")


def test_a_setting_that_holds_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="one of them holds itself"):
        resolved(None, parse_assignment("extra_body=&a {b: *a}"))
    for content in ("benchmark: &a [*a]", "benchmark: {? [1, 2] : 3}"):
        (tmp_path / "r.yaml").write_text(content)
        with pytest.raises(ConfigError, match=r"recipe|YAML"):
            resolve(load_recipe(tmp_path / "r.yaml"), lambda _: Strict)
