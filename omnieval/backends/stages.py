"""Times of the model's stages, as vLLM-Omni measures them itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from omnieval.backends.rounding import rounded


def thinker_s(stages: Mapping[str, Any], name: str) -> float | None:
    """A time of the first stage, which makes the text, in seconds; None where it is not told.

    stages: metrics by stage. name: of one that is in milliseconds.
    """
    first = stages.get("0")
    found = first.get(name) if isinstance(first, Mapping) else None
    if not isinstance(found, int | float) or isinstance(found, bool) or not 0 < found < math.inf:
        return None
    return rounded(found / 1000)
