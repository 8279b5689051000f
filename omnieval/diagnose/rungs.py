"""The rungs of the ladder: one recipe with settings changed, each rung against a simpler one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from omnieval.benchmarks.base import Benchmark, Dataset
from omnieval.benchmarks.choice_request import PROCESSOR_KWARGS
from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import RunConfig
from omnieval.diagnose.abilities import unable
from omnieval.engine.execute import Notify, load_askable
from omnieval.errors import ConfigError
from omnieval.media.cache import default_cache_dir
from omnieval.settings import restored
from omnieval.wording import counted

DEFAULT_LIMIT = 8
RECIPE = "recipe"
# A model that thinks needs room for it.
_THINKING_TOKENS = 2048
_LONG_PIECES = 4
_STACK_FRAMES = 5

# How each benchmark sends frames without sound, sound without frames, and both.
_MODES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "daily-omni": {
        "frames": ("input_mode", "visual"), "sound": ("input_mode", "audio"), "both": ("input_mode", "all"),
    },
    "video-mme": {"frames": ("packing", "frames"), "both": ("packing", "interleave")},
    "mcq": {"frames": ("packing", "frames"), "both": ("packing", "interleave")},
}  # fmt: skip
# Packings that leave the choice of frames to the server.
_WHOLE_VIDEO = frozenset({"qwen", "video-url"})

Changes = Sequence[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Rung:
    """One run of the ladder. name: of its folder. title: what is asked. against: rungs to compare it with,
    the first one that was run counts. config: None where it is left out, as `left_out` says why."""

    name: str
    title: str
    against: tuple[str, ...] = ()
    config: RunConfig | None = None
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Ladder:
    """recipe: the configuration that is looked into. base: name of the rung that is the recipe unchanged.
    folders: where the media of all rungs lie."""

    recipe: RunConfig
    base: str
    rungs: tuple[Rung, ...]
    folders: tuple[Path, ...]


def plan_ladder(config: RunConfig, notify: Notify = lambda _: None) -> Ladder:
    """The rungs of a recipe, in the order in which they are asked, all about the same samples.

    Where the configuration selects nothing, the first `DEFAULT_LIMIT` samples are taken.
    Raises ConfigError for a recipe whose answers are sounds, DataError.
    """
    if BENCHMARKS.load(config.benchmark).scoring != "choice":
        raise ConfigError(
            f"diagnose changes what a question shows, and {config.recipe} asks for speech; look at single "
            "answers with `omnieval view`, or run it with other settings (variant, sample_id) and name both "
            "runs to `omnieval compare`"
        )
    changes: list[tuple[str, Any]] = [("gate", None), ("stop_when", None), ("preflight", "never")]
    if config.select.limit is None and not config.select.sample_id:
        changes.append(("select.limit", DEFAULT_LIMIT))
    recipe = restored(config.flat(), changes)
    _, dataset, chosen = load_askable(recipe, notify)
    shown = {role for sample in chosen for role in sample.media}
    rungs = _told_apart([*_media_rungs(recipe, shown), *_setting_rungs(recipe, shown)], recipe)
    base = next(rung.name for rung in rungs if _same(rung.config, recipe))
    folders = _media_folders([rung.config for rung in rungs if rung.config is not None], dataset)
    return Ladder(recipe, base, tuple(_against_base(rung, base) for rung in rungs), folders)


def _media_folders(configs: Sequence[RunConfig], dataset: Dataset) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    for config in configs:
        if config.media == "full":
            benchmark: Benchmark = BENCHMARKS.load(config.benchmark)(config)
            found |= dict.fromkeys(benchmark.media_folders(dataset, config.cache_dir or default_cache_dir()))
    return tuple(found)


def _media_rungs(recipe: RunConfig, shown: Collection[str]) -> list[Rung]:
    """From text alone to what the recipe sends."""
    flat = recipe.flat()
    modes = _MODES.get(recipe.benchmark, {})
    reason = _no_frames(recipe, shown)
    alone = reason or (None if "sound" in modes else f"{recipe.benchmark} sends no sound without frames")
    by_frame = reason or _not_counted(recipe, modes.get("frames"))
    text: Changes = [("media", "none")]
    single: Changes = [("stack_frames", 1)] if modes else []
    frames: Changes = [modes["frames"], *single] if "frames" in modes else []
    both: Changes = [modes["both"], *single] if "both" in modes else []
    sound: Changes = [modes["sound"]] if "sound" in modes else []
    most = flat.get("max_frames")
    return [
        _rung(recipe, "text", "text only", (), text),
        _rung(recipe, "one-frame", "one frame", ("text",), [*frames, ("max_frames", 1)], by_frame),
        _rung(
            recipe, "frames", f"at most {most} frames, no sound", ("one-frame", "text"), frames, reason
        ),
        _rung(recipe, "sound", "sound, no frames", ("text",), sound, alone),
        _rung(
            recipe, "frames-and-sound", f"at most {most} frames, with sound", ("frames", "sound", "text"),
            both, reason,
        ),
    ]  # fmt: skip


def _setting_rungs(recipe: RunConfig, shown: Collection[str]) -> list[Rung]:
    """The recipe with one thing changed."""
    flat, modes = recipe.flat(), _MODES.get(recipe.benchmark, {})
    reason = _no_frames(recipe, shown)
    both: Changes = [modes["both"]] if "both" in modes else []
    most = flat.get("max_frames") or 1
    plan = _denser(str(flat.get("plan")))
    pieces = max(1, min(_LONG_PIECES, most // 4))
    stacked = flat.get("stack_frames", 1)
    stack = stacked if stacked > 1 else _STACK_FRAMES
    no_media = "the questions have no media" if not shown or recipe.media == "none" else None
    numbers, no_numbers = _picture_numbers(recipe)
    template = dict(recipe.extra_body.get("chat_template_kwargs") or {})
    thinks = not template.get("enable_thinking", False)
    room = [("decode.max_tokens", max(recipe.decode.max_tokens, _THINKING_TOKENS))] if thinks else []
    before = flat["question_place"] == "after"
    return [
        _rung(
            recipe, "more-frames", f"at most {2 * most} frames by {plan}", (),
            [("max_frames", 2 * most), ("plan", plan)], reason or _not_counted(recipe, None),
        ),
        _rung(
            recipe, "stacked", f"each frame with the {stack - 1} that follow it in one picture", (),
            [("stack_frames", stack)],
            reason or _not_counted(recipe, None),
        ),
        _rung(
            recipe, "longer-sound",
            f"the sound in {counted(pieces, 'long piece', 'long pieces')}, one frame each",
            ("frames-and-sound",), [*both, ("max_frames", pieces)],
            reason or _not_counted(recipe, modes.get("both")),
        ),
        _rung(
            recipe, "image-id", f"use_image_id {str(bool(numbers.get('use_image_id'))).lower()}", (),
            [("extra_body", {**recipe.extra_body, "mm_processor_kwargs": numbers})],
            no_media or no_numbers,
        ),
        _rung(
            recipe, "thinking", f"thinking {'on' if thinks else 'off'}", (),
            [
                ("extra_body", {
                    **recipe.extra_body, "chat_template_kwargs": {**template, "enable_thinking": thinks}
                }),
                *room,
            ],
        ),
        _rung(
            recipe, "order", f"the question {'before' if before else 'after'} the media", (),
            [("question_place", "before" if before else "after")], no_media,
        ),
    ]  # fmt: skip


def _rung(
    recipe: RunConfig,
    name: str,
    title: str,
    against: tuple[str, ...],
    changes: Changes,
    left_out: str | None = None,
) -> Rung:
    """The recipe with these changes; left out with the reason where they cannot be made."""
    if left_out is not None:
        return Rung(name, title, against, left_out=left_out)
    try:
        config = restored(recipe.flat(), changes)
    except ConfigError as error:
        return Rung(name, title, against, left_out=str(error))
    reason = unable(name, config)
    return Rung(name, title, against, config if reason is None else None, reason)


def _no_frames(recipe: RunConfig, shown: Collection[str]) -> str | None:
    if recipe.media == "none":
        return "the recipe sends no media"
    if recipe.benchmark not in _MODES:
        return f"omnieval does not know how {recipe.benchmark} sends frames"
    return None if "video" in shown else "the questions have no video"


def _not_counted(recipe: RunConfig, mode: tuple[str, str] | None) -> str | None:
    """Why the number of frames cannot be chosen, under the packing that a rung has."""
    if mode is None and recipe.flat().get("input_mode") == "audio":
        return "the recipe sends sound without frames"
    packing = mode[1] if mode is not None and mode[0] == "packing" else recipe.flat().get("packing")
    if packing in _WHOLE_VIDEO:
        return f"the packing {packing} sends whole videos, from which the server takes the frames"
    return None


def _denser(plan: str) -> str:
    """A plan that takes about twice the frames where it is not held back by `max_frames`."""
    if plan == "uniform":
        return plan
    rate = re.fullmatch(r"fps-(\d+(?:\.\d+)?)", plan)
    return f"fps-{2 * float(rate[1]):g}" if rate else "fps-2"


def _picture_numbers(recipe: RunConfig) -> tuple[dict[str, Any], str | None]:
    """The processor's arguments with `use_image_id` turned over, or why there are none to turn."""
    packing = str(recipe.flat().get("packing"))
    if packing in _WHOLE_VIDEO or recipe.flat().get("input_mode") == "audio":
        return {}, "the recipe sends no pictures to number"
    key = "interleave" if packing == "minicpm-interleave" else packing
    given = recipe.extra_body.get("mm_processor_kwargs", PROCESSOR_KWARGS.get(key, {}))
    if given is None:
        return {}, "the recipe sends no processor settings (extra_body.mm_processor_kwargs is null)"
    return {**given, "use_image_id": not given.get("use_image_id", False)}, None


def _same(config: RunConfig | None, other: RunConfig) -> bool:
    return config is not None and config.measured() == other.measured()


def _told_apart(rungs: Sequence[Rung], recipe: RunConfig) -> list[Rung]:
    """Each measurement once, and the recipe itself among them, before the rungs that change one thing."""
    kept: list[Rung] = []
    for rung in rungs:
        if rung.name == "more-frames" and not any(_same(one.config, recipe) for one in kept):
            kept.append(Rung(RECIPE, "the recipe as it is", ("frames-and-sound", "frames", "text"), recipe))
        twin = next((one.name for one in kept if rung.config and _same(one.config, rung.config)), None)
        kept.append(rung if twin is None else replace(rung, config=None, left_out=f"the same as {twin}"))
    return kept


def _against_base(rung: Rung, base: str) -> Rung:
    """Rungs that change one thing are compared with the recipe."""
    return rung if rung.against or rung.name in ("text", base) else replace(rung, against=(base,))
