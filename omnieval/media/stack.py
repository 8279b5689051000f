"""Several pictures joined in one, as MiniCPM-o's own client sends the frames between two seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Black pixels between two pictures; none around them.
LINE = 6


def joined_pictures(pictures: Sequence[npt.NDArray[np.uint8]]) -> npt.NDArray[np.uint8]:
    """One picture of one or more of the same size, in reading order, each [height, width, 3].

    Two or three lie in a row or in a column, whichever is nearer to a square; four in two rows; more in one.
    Source: `concat_images` of minicpmo-utils 1.0.7.
    """
    import numpy as np

    height, width = pictures[0].shape[:2]
    rows, columns = _grid(len(pictures), width, height)
    shape = (rows * (height + LINE) - LINE, columns * (width + LINE) - LINE, 3)
    joined = np.zeros(shape, dtype=np.uint8)
    for number, picture in enumerate(pictures):
        top, left = (number // columns) * (height + LINE), (number % columns) * (width + LINE)
        joined[top : top + height, left : left + width] = picture
    return joined


def _grid(count: int, width: int, height: int) -> tuple[int, int]:
    """(rows, columns)."""
    if count == 4:
        return 2, 2
    if count not in (2, 3):
        return 1, count
    row, column = _from_square(1, count, width, height), _from_square(count, 1, width, height)
    return (1, count) if row <= column else (count, 1)


def _from_square(rows: int, columns: int, width: int, height: int) -> float:
    return abs((columns * (width + LINE) - LINE) / (rows * (height + LINE) - LINE) - 1)
