"""Server-sent events, read from bytes as they arrive."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterable

MAX_EVENT_BYTES = 64 * 1024 * 1024


class EventTooLargeError(ValueError):
    """One event grew beyond the bound; the other side does not speak this protocol."""


async def event_data(
    chunks: AsyncIterable[bytes], max_event_bytes: int = MAX_EVENT_BYTES
) -> AsyncGenerator[str]:
    """Yield the data of each event; comments and other fields are left out.

    Lines end with LF or CRLF only: JSON may carry U+2028 and its like, which must not split a line. An
    event whose last line was whole counts even without the blank line after it; an unfinished line does
    not. Undecodable bytes become U+FFFD. Raises EventTooLargeError.
    """
    buffer = bytearray()
    data: list[bytes] = []
    size = 0
    mark = BOM_UTF8  # may stand before the first line
    async for chunk in chunks:
        buffer += chunk
        while (end := buffer.find(b"\n")) >= 0:
            line = bytes(buffer[:end]).removesuffix(b"\r")
            del buffer[: end + 1]
            line, mark = line.removeprefix(mark), b""
            if not line:
                if data:
                    yield _text(data)
                data, size = [], 0
            elif line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
                size += len(line)
        if size + len(buffer) > max_event_bytes:
            raise EventTooLargeError(f"an event is larger than {max_event_bytes} bytes")
    if data:
        yield _text(data)


def _text(lines: list[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", "replace")
