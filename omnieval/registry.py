"""Named plug-ins: the built-in ones by import path, third parties' through entry points.

Nothing is imported until it is asked for, so listing names stays cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from omnieval.errors import ConfigError
from omnieval.wording import suggest


@dataclass(frozen=True)
class Registry:
    """kind: the word for messages ("benchmark"). group: the entry-point group of third parties.
    builtin: name -> `module:attribute`."""

    kind: str
    group: str
    builtin: Mapping[str, str]

    def names(self) -> list[str]:
        """All names, built-in ones first, each once."""
        return list(dict.fromkeys([*self.builtin, *sorted(self._third_party())]))

    def load(self, name: str) -> Any:
        """The object behind a name. Raises ConfigError with the nearest name for an unknown one, and
        with the import's own message when a plug-in cannot be imported."""
        third_party = self._third_party()
        if name in self.builtin:
            module, _, attribute = self.builtin[name].partition(":")
            return getattr(import_module(module), attribute)
        if name not in third_party:
            raise ConfigError(f"unknown {self.kind} {name!r}{suggest(name, self.names())}")
        try:
            return third_party[name].load()
        except Exception as error:
            raise ConfigError(f"the {self.kind} {name!r} cannot be loaded: {error}") from error

    def _third_party(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}
