"""What two configurations have different."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def differences(stored: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """Lines `key: stored -> current` for every key in which two flat configurations differ."""
    lines: list[str] = []
    for key in sorted(set(stored) | set(current)):
        old, new = stored.get(key), current.get(key)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            lines += [f"{key}.{line}" for line in differences(old, new)]
        else:
            lines.append(
                f"{key}: {json.dumps(old, ensure_ascii=False)} -> {json.dumps(new, ensure_ascii=False)}"
            )
    return lines
