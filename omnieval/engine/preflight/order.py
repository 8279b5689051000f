"""Whether a server keeps the order of text and media, read from the tokens that it makes of a message."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Words that no tokenizer joins with what stands beside them; they survive being cut into tokens.
MARKS = ("qzx1", "qzx2", "qzx3", "qzx4", "qzx5")
# Spaces and line ends as byte-level and sentence-piece vocabularies write them.
_BLANK = re.compile(r"[\sĠĊ▁]+|<0x0A>")


def order_kept(tokens: Sequence[str]) -> bool | None:
    """Whether between every two marks there is what the message has there: picture, sound, picture, sound.

    tokens: of a message mark, picture, mark, sound, mark, picture, mark, sound, mark. None where the marks
    are not found, each once.
    """
    text = _BLANK.sub("", "".join(tokens))
    places = [[found.start() for found in re.finditer(mark, text)] for mark in MARKS]
    if any(len(found) != 1 for found in places):
        return None
    starts = [found[0] for found in places]
    if starts != sorted(starts):
        return False
    between = [
        text[start + len(mark) : end] for start, mark, end in zip(starts, MARKS, starts[1:], strict=False)
    ]
    if not all(between):
        return False
    first_picture, first_sound, second_picture, second_sound = map(frozenset, between)
    return first_picture == second_picture and first_sound == second_sound
