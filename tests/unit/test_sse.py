"""Server-sent events come out the same however the bytes were cut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.backends.http.sse import EventTooLargeError, event_data


def read(*chunks: bytes, **options: int) -> list[str]:
    async def source() -> AsyncGenerator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> list[str]:
        return [data async for data in event_data(source(), **options)]

    return asyncio.run(collect())


@given(
    texts=st.lists(st.text(min_size=1).map(lambda t: json.dumps(t, ensure_ascii=False)), max_size=5),
    line_end=st.sampled_from(["\n", "\r\n"]),
    data=st.data(),
)
def test_any_cut_of_the_bytes_gives_the_same_events(
    texts: list[str], line_end: str, data: st.DataObject
) -> None:
    stream = "".join(f": ping{line_end}data: {text}{line_end}{line_end}" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    bounds = list(zip([0, *cuts], [*cuts, len(stream)], strict=True))
    assert read(*(stream[start:end] for start, end in bounds)) == texts


def test_line_separators_inside_json_do_not_split_an_event() -> None:
    text = json.dumps("a\u2028b\u2029c\x85d", ensure_ascii=False)
    assert read(f"data: {text}\n\n".encode()) == [text]


def test_comments_and_other_fields_are_left_out() -> None:
    assert read(b": hello\nevent: x\nid: 7\nretry: 5\ndata: one\n\n:\n\ndata:two\n\n") == ["one", "two"]


def test_several_data_lines_are_one_event() -> None:
    assert read(b"data: a\ndata: b\n\n") == ["a\nb"]


def test_a_whole_last_line_counts_and_a_torn_one_does_not() -> None:
    assert read(b"data: one\n\ndata: two\n") == ["one", "two"]
    assert read(b"data: one\n\ndata: tw") == ["one"]


def test_undecodable_bytes_do_not_end_the_stream() -> None:
    assert read(b"data: a\xffb\n\ndata: c\n\n") == ["a\ufffdb", "c"]


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 200, b"data: xxxxxxxxxx\n" * 30])
def test_an_event_without_end_is_refused(stream: bytes) -> None:
    with pytest.raises(EventTooLargeError):
        read(stream, max_event_bytes=100)
