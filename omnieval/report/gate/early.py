"""The lines of a gate for which a run may end early."""

from __future__ import annotations

from omnieval.benchmarks.registry import BENCHMARKS
from omnieval.config import RunConfig
from omnieval.errors import ConfigError
from omnieval.report.gate.file import find_gate, load_gate
from omnieval.scoring.early import EarlyLine, EarlyPlan


def early_plan(config: RunConfig, section: str | None = None) -> EarlyPlan | None:
    """What a run with `stop_when: gate` must decide; None for any other.

    section: whose lines of the gate to take, instead of those for the recipe. The seed is that of
    `select.shuffle_seed`, or 0. Raises ConfigError where nothing could be decided early.
    """
    if config.stop_when is None:
        return None
    if BENCHMARKS.load(config.benchmark).scoring == "speech":
        raise ConfigError(
            f"{config.recipe}: spoken answers are heard after the run, so that it cannot end by them; "
            "leave out --stop-when"
        )
    if config.gate is None:
        raise ConfigError(
            "--stop-when gate needs the gate whose lines are to be decided; name it with --gate"
        )
    gate = load_gate(find_gate(config.gate))
    lines = tuple(
        EarlyLine(line.text, line.early_figure, line.operator, line.threshold)
        for line in gate.lines(config.recipe, section)
        if line.early_figure is not None
    )
    if not lines:
        raise ConfigError(
            f"{gate.path}: no line on accuracy, strict or unhealthy for {section or config.recipe}, and no "
            "other can be decided before all is asked; leave out --stop-when"
        )
    return EarlyPlan(gate.path.name, lines, config.select.shuffle_seed or 0)
