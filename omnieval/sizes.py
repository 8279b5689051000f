"""Sizes in bytes as people write them."""

from __future__ import annotations

import re

from omnieval.errors import ConfigError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def bytes_of(text: str, option: str) -> int:
    """Bytes of `500MB` or `1.5 GB`, in powers of 1000. Raises ConfigError naming the option."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ConfigError(f"{option} {text!r}: expected a size such as 500MB or 20GB")
    return int(float(match.group(1)) * _UNITS[match.group(2).upper()])


def size_text(count: float) -> str:
    """`1.23 GB`: three digits."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
