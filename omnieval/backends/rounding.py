"""Times as they are kept."""

from __future__ import annotations

from typing import overload


@overload
def rounded(seconds: float) -> float: ...
@overload
def rounded(seconds: None) -> None: ...
@overload
def rounded(seconds: float | None) -> float | None: ...
def rounded(seconds: float | None) -> float | None:
    """To microseconds, since clocks are not finer; None stays None."""
    return None if seconds is None else round(seconds, 6)
