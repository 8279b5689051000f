"""Words that go with numbers and names."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from pathlib import Path


def counted(count: int, one: str, many: str) -> str:
    """`1 row is`, `2 rows are`: a number with the words that go with it."""
    return f"{count} {one if count == 1 else many}"


def suggest(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` when a known name is near, else the known names."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1)
    if near:
        return f" (did you mean {near[0]!r}?)"
    return f" (known: {', '.join(names)})" if names else ""


def as_typed(path: Path | str) -> str:
    """A path inside a command that a reader may copy into a shell."""
    return shlex.quote(str(path))
