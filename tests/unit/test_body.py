"""A body in pieces is the very JSON that it would be in one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from omnieval.backends.http.body import Body, encoded
from omnieval.types import MediaPart


async def sent(body: Body) -> bytes:
    return b"".join([piece async for piece in body.stream()])


@given(st.lists(st.one_of(st.text(), st.integers(0, 5)), max_size=12))
def test_the_pieces_make_the_json_with_every_url_in_its_place(content: list[str | int]) -> None:
    urls: dict[str, str | bytes] = {
        "0": "file:///a", "1": b"data:1", "2": b"data:2", "3": "https://x/?a=b", "4": b"", "5": b"data:5",
    }  # fmt: skip

    def part(number: int) -> MediaPart:
        return MediaPart("image", Path(str(number)), "image/jpeg")

    body = encoded(
        lambda url: {"content": [url(part(c)) if isinstance(c, int) else c for c in content]},
        lambda asked: urls[asked.path.name],
    )
    whole = asyncio.run(sent(body))
    assert body.length == len(whole)

    def expected(item: str | int) -> str:
        if isinstance(item, str):
            return item.encode("utf-8", "replace").decode()
        url = urls[str(item)]
        return url if isinstance(url, str) else url.decode()

    assert json.loads(whole) == {"content": [expected(item) for item in content]}


def test_bytes_are_shared_and_not_copied() -> None:
    url = b"data:image/jpeg;base64," + bytes(1000)
    part = MediaPart("image", Path("a"), "image/jpeg")
    body = encoded(lambda make: {"a": make(part), "b": make(part)}, lambda _: url)
    assert sum(piece is url for piece in body.pieces) == 2
