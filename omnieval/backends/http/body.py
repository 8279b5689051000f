"""The JSON body of a request as pieces of bytes, so that media inside it are never copied together."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from omnieval.types import MediaPart, MediaUrl

# Stands for the URL of a part that comes as bytes; no text of a data set can hold it by chance.
_PLACE = f"omnieval-part-{secrets.token_hex(12)}-"


class Body:
    """pieces: the body in order. length: bytes in all, for Content-Length."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.length = sum(map(len, pieces))

    async def stream(self) -> AsyncIterator[bytes]:
        """The pieces, one after the other, each sent before the next is touched."""
        for piece in self.pieces:
            yield piece


def encoded(build: Callable[[Callable[[MediaPart], str]], Mapping[str, Any]], media_url: MediaUrl) -> Body:
    """Encode what `build` returns.

    build: gets the function that makes the URL of a part, and returns the JSON object. URLs that
    `media_url` gives as bytes are put in as they are: ASCII that needs no escape. Raises OSError when a
    part's file cannot be read.
    """
    inline: list[bytes] = []

    def url(part: MediaPart) -> str:
        made = media_url(part)
        if isinstance(made, str):
            return made
        inline.append(made)
        return f"{_PLACE}{len(inline) - 1}-"

    text = json.dumps(build(url), ensure_ascii=False)
    pieces: list[bytes] = []
    for number, content in enumerate(inline):  # in the order in which they were made
        before, place, after = text.partition(f"{_PLACE}{number}-")
        if place:  # a further field of the body may have replaced the part's own
            pieces += [before.encode("utf-8", "replace"), content]
            text = after
    return Body([*pieces, text.encode("utf-8", "replace")])
