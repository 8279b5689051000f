"""What a check of a deployment found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from omnieval.backends.base import Need


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. found: what was seen, in words. fix: the server flag or recipe key that mends it. fatal: a
    run as configured would fail, or measure something else than it says."""

    check: str
    verdict: Literal["pass", "fail", "unknown"]
    found: str
    fix: str | None = None
    fatal: bool = False


def of_need(need: Need) -> Finding:
    """What a backend needs of this machine, as a finding; without it there can be no run."""
    met = need.fix is None
    return Finding(need.name, "pass" if met else "fail", need.found, need.fix, fatal=not met)
