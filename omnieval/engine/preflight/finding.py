"""What a check of a deployment found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. found: what was seen, in words. fix: the server flag or recipe key that mends it. fatal: a
    run as configured would fail, or measure something else than it says."""

    check: str
    verdict: Literal["pass", "fail", "unknown"]
    found: str
    fix: str | None = None
    fatal: bool = False
