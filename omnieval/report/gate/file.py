"""Gate files: a list of lines for any run, or lists by recipe; `all` is for every recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from omnieval.errors import ConfigError
from omnieval.recipe_files import recipe_folder
from omnieval.report.gate.line import GateLine, parse_line
from omnieval.wording import suggest

GATES = "gates"
ALL = "all"


@dataclass(frozen=True)
class Gate:
    """sections: the lines by recipe; those of `all` are for every run."""

    path: Path
    sections: Mapping[str, tuple[GateLine, ...]]

    def lines(self, recipe: str, section: str | None = None) -> tuple[GateLine, ...]:
        """The lines for a run of this recipe, or those of a named section, and those for all.

        Raises ConfigError where the gate has no such section: a run must not pass for want of lines.
        """
        named = recipe if section is None else section
        own = [name for name in self.sections if name != ALL]
        if named not in own and (own or section is not None):
            told = f"no section {section!r}{suggest(section, own)}" if section is not None else (
                f"no section for the recipe {recipe!r} (sections: {', '.join(own)}); "
                "add one, or choose one with --section"
            )  # fmt: skip
            raise ConfigError(f"{self.path}: {told}")
        return (*self.sections.get(named, ()), *self.sections.get(ALL, ()))


def gate_names() -> list[str]:
    """Names of the bundled gates."""
    return sorted(path.stem for path in (recipe_folder() / GATES).glob("*.yaml"))


def find_gate(name: str | Path) -> Path:
    """The file of a gate: a path where the text has a path separator or a YAML suffix, else a bundled name.

    Raises ConfigError for a name that is not bundled; a path is checked when it is read.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        return path
    bundled = recipe_folder() / GATES / f"{name}.yaml"
    if not bundled.is_file():
        raise ConfigError(f"unknown gate {str(name)!r}{suggest(str(name), gate_names())}")
    return bundled


def load_gate(path: Path) -> Gate:
    """Read a gate file. Raises ConfigError naming file and line for anything that is not one."""
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the gate: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}; mend the gate") from error
    if isinstance(root, yaml.SequenceNode):
        sections = {ALL: _lines(path, root)}
    elif isinstance(root, yaml.MappingNode):
        sections = {}
        for key, value in root.value:
            name = _text(path, key)
            if name in sections:
                raise _error(path, key, f"the section {name!r} is there twice")
            sections[name] = _lines(path, value)
    else:
        found = "an empty file" if root is None else "a single value; begin each line with a dash"
        raise ConfigError(f"{path}: a gate is a list of lines, or lists by recipe; found {found}")
    if not any(sections.values()):
        raise ConfigError(f"{path}: no line in it, so that anything would pass")
    return Gate(path, sections)


def _lines(path: Path, node: yaml.Node) -> tuple[GateLine, ...]:
    if not isinstance(node, yaml.SequenceNode):
        raise _error(path, node, "expected a list of lines, each after a dash")
    lines = []
    for item in node.value:
        text = _text(path, item)
        try:
            lines.append(parse_line(text, item.start_mark.line + 1))
        except ValueError as error:
            raise _error(path, item, f"{text!r}: {error}") from error
    return tuple(lines)


def _text(path: Path, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _error(path, node, "expected a line such as `accuracy >= 0.775`, found a list or a mapping")
    value: str = node.value
    return value


def _error(path: Path, node: yaml.Node, told: str) -> ConfigError:
    return ConfigError(f"{path}, line {node.start_mark.line + 1}: {told}")
