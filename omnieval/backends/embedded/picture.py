"""What plain arithmetic sees in a few frames: the colour of what stands out, and where it moves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.float64]

COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (220, 30, 30),
    "green": (30, 160, 50),
    "blue": (30, 60, 220),
    "yellow": (240, 220, 40),
    "orange": (245, 140, 20),
    "purple": (130, 40, 160),
    "pink": (250, 130, 190),
    "brown": (120, 75, 35),
    "white": (245, 245, 245),
    "grey": (128, 128, 128),
    "gray": (128, 128, 128),
    "black": (15, 15, 15),
}
_DIRECTIONS: Mapping[str, tuple[int, int]] = {
    "left": (-1, 0),
    "right": (1, 0),
    "up": (0, -1),
    "upwards": (0, -1),
    "down": (0, 1),
    "downwards": (0, 1),
}
_STANDS_OUT = 60.0
_MOVED = 0.1
_WIDTH, _HEIGHT = 64, 36


def picture_evidence(question: str, options: Mapping[str, str], frames: Sequence[Path]) -> dict[str, float]:
    """Letter -> evidence in 0..1, or empty when the question asks neither for a colour nor for a direction.

    frames: image files in time order. What stands out is what differs from the colour of the border.
    Raises OSError when a frame cannot be read as an image.
    """
    named = {letter: _words(text) & set(COLOURS) for letter, text in options.items()}
    moves = {letter: _direction(text) for letter, text in options.items()}
    about_colour = bool(_words(question) & {"colour", "color"}) or all(named.values())
    about_direction = any(moves.values()) and bool(
        _words(question) & {"direction", "move", "moves", "moving", "go", "goes"}
    )
    if not frames or not (about_colour or about_direction):
        return {}
    import numpy as np

    pixels = np.stack([_small(path) for path in frames])
    mask = _foreground(pixels)
    if not mask.any():
        return {}
    if about_direction:
        return _motion_evidence(moves, mask)
    return _colour_evidence(named, pixels[mask].mean(axis=0))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def _direction(option: str) -> tuple[int, int] | None:
    """The direction that an option names last: `from left to right` goes right."""
    words = [word for word in re.findall(r"[a-z]+", option.lower()) if word in _DIRECTIONS]
    return _DIRECTIONS[words[-1]] if words else None


def _small(path: Path) -> Pixels:
    import numpy as np
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").resize((_WIDTH, _HEIGHT)), dtype=np.float64)


def _foreground(pixels: Pixels) -> npt.NDArray[np.bool_]:
    """[frames, height, width]: where a pixel is far from the border's median colour."""
    import numpy as np

    edges = [pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1]]
    border = np.median(np.concatenate([edge.reshape(-1, 3) for edge in edges]), axis=0)
    distance: Pixels = np.linalg.norm(pixels - border, axis=-1)
    return distance > _STANDS_OUT


def _colour_evidence(named: Mapping[str, set[str]], colour: Pixels) -> dict[str, float]:
    import numpy as np

    def likeness(names: set[str]) -> float:
        distances = [float(np.linalg.norm(colour - np.array(COLOURS[name]))) for name in names]
        return max(0.0, 1 - min(distances) / 255) if distances else 0.0

    return {letter: likeness(names) for letter, names in named.items()}


def _motion_evidence(
    moves: Mapping[str, tuple[int, int] | None], mask: npt.NDArray[np.bool_]
) -> dict[str, float]:
    import numpy as np

    seen = [i for i in range(len(mask)) if mask[i].any()]
    centres = [np.argwhere(mask[i]).mean(axis=0) / (_HEIGHT, _WIDTH) for i in seen]
    down, right = centres[-1] - centres[0]
    if max(abs(down), abs(right)) < _MOVED:
        return {}
    return {
        letter: 0.0 if move is None else max(0.0, float(move[0] * right + move[1] * down))
        for letter, move in moves.items()
    }
