"""Answers that are no model's: what a server says of itself, and its refusals; read up to a bound."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 64 * 2**20


async def fetch(
    client: httpx.AsyncClient, method: str, url: str, limit_s: float, **more: Any
) -> tuple[int, bytes]:
    """Status and content of a short answer. Raises httpx.HTTPError, also where it takes too long."""
    import httpx

    try:
        async with (
            asyncio.timeout(limit_s),
            client.stream(method, url, timeout=limit_s, **more) as response,
        ):
            return response.status_code, await beginning(response)
    except TimeoutError:
        raise httpx.ReadTimeout(f"no whole answer in {limit_s:g} s") from None


async def beginning(response: httpx.Response) -> bytes:
    """The content, cut where it is longer than anything that a server says of itself."""
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > MOST_BYTES:
            break
    return bytes(content)


async def refuse_nested(response: httpx.Response) -> None:
    """Each compression within another makes a thousand times as much of a few bytes; no server needs two."""
    import httpx

    if "," in response.headers.get("content-encoding", ""):
        raise httpx.DecodingError("it is compressed more than once", request=response.request)
