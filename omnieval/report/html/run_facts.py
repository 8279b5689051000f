"""How a run was made, as tables: every setting, and what it was made with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from omnieval.report.html.document import table_markup
from omnieval.report.html.parts import Fold, Folds
from omnieval.report.page import Table
from omnieval.runlog import Run

# Parts of run.json that are shown, and what their keys belong to.
_PARTS: Mapping[str, str] = {
    "dataset": "data set",
    "server": "server",
    "versions": "version of",
    "hardware": "client",
}
_LONGEST = 300


def made_of(run: Run) -> Folds:
    """Everything that run.json says of how the run was made, to unfold."""
    tables = (_settings(run), _environment(run))
    folds = [Fold(table.title, f"{len(table.rows)} entries", table_markup(table)) for table in tables]
    return Folds("How it was made", "", tuple(folds))


def _settings(run: Run) -> Table:
    """The resolved configuration; keys as `--set` takes them."""
    return Table("Settings", ("key", "value"), tuple(_flat(run.config)))


def _environment(run: Run) -> Table:
    """Data set, server, versions and the client's machine, as run.json has them."""
    rows = [("started", str(run.info["started"])), ("recipe hash", str(run.info["recipe_hash"]))]
    for part, name in _PARTS.items():
        found = run.info.get(part)
        if isinstance(found, Mapping):
            rows += [(f"{name} {key}", value) for key, value in _flat(found) if key != "notes"]
    return Table("Environment", ("what", "value"), tuple(rows))


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        elif value not in (None, {}, [], ""):
            yield f"{prefix}{key}", _shown(value)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
