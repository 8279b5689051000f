"""Why an answer of several parts ended."""

from __future__ import annotations

from collections.abc import Sequence


def worst_reason(reasons: Sequence[str]) -> str | None:
    """`length` where any part was cut by its limit; else the first that is not `stop`; None for no reason."""
    if "length" in reasons:
        return "length"
    return next((reason for reason in reasons if reason != "stop"), reasons[0] if reasons else None)
