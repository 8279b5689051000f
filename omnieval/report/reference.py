"""Known results to lay a run beside, from `recipes/reference/*.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from omnieval.errors import ConfigError
from omnieval.recipe_files import recipe_folder


@dataclass(frozen=True)
class Reference:
    """One known result: accuracy as a fraction, exact counts where they are known, and its setting (empty
    where that was not published).

    groups: group key -> value -> (correct, total).
    """

    name: str
    accuracy: float
    correct: int | None
    total: int | None
    setting: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, tuple[int, int]]]


@dataclass(frozen=True)
class ReferenceTable:
    """rows: sizes of the full data set's releases; a data set of another size is not comparable."""

    rows: tuple[int, ...]
    results: tuple[Reference, ...]


def load_references(benchmark: str) -> ReferenceTable | None:
    """The known results of a benchmark, or None when the project has none.

    Raises ConfigError when the file is not in the expected form.
    """
    path = recipe_folder() / "reference" / f"{benchmark}.yaml"
    if not path.is_file():
        return None
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    try:
        results = tuple(_reference(entry) for entry in content["results"])
        return ReferenceTable(rows=tuple(content["rows"]), results=results)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: not in the form of a reference file: {error!r}") from error


def _reference(entry: Mapping[str, Any]) -> Reference:
    correct, total = entry.get("correct"), entry.get("total")
    return Reference(
        name=entry["name"],
        accuracy=correct / total if correct is not None and total else entry["accuracy"],
        correct=correct,
        total=total,
        setting=entry.get("setting", {}),
        groups={
            key: {value: (int(counts[0]), int(counts[1])) for value, counts in values.items()}
            for key, values in entry.get("groups", {}).items()
        },
    )
