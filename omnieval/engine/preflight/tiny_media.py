"""The smallest pictures and sounds that every model takes, in the folder where a run's media would lie."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from omnieval.media.cache import storage_errors
from omnieval.media.encode import encode_image, encode_wav
from omnieval.types import ImageEncoding, MediaPart

FOLDER = "preflight"
_SIDE, _SECONDS, _RATE_HZ = 112, 1.0, 16_000


def tiny_picture(cache_root: Path, number: int) -> MediaPart:
    """A picture of one colour, another for each number. Raises StorageError."""
    import numpy as np

    colour = np.array([37 * number % 256, 91 * number % 256, 200], dtype=np.uint8)
    rgb = np.broadcast_to(colour, (_SIDE, _SIDE, 3)).copy()
    content = encode_image(rgb, ImageEncoding(format="png"))
    return _part("image", cache_root, f"picture{number}.png", content, "image/png")


def tiny_sound(cache_root: Path, number: int) -> MediaPart:
    """A second of a tone, another for each number. Raises StorageError."""
    import numpy as np

    times = np.arange(int(_SECONDS * _RATE_HZ)) / _RATE_HZ
    tone = 0.2 * np.sin(2 * np.pi * (300 + 100 * number) * times)
    content = encode_wav(tone.astype(np.float32))
    return _part("audio", cache_root, f"sound{number}.wav", content, "audio/wav")


def _part(
    kind: Literal["image", "audio"], cache_root: Path, name: str, content: bytes, mime: str
) -> MediaPart:
    path = cache_root / FOLDER / name
    with storage_errors(cache_root):
        if not path.is_file() or path.stat().st_size != len(content):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return MediaPart(kind, path, mime, hashlib.sha256(content).hexdigest())
