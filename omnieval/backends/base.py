"""What a backend's factory is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from omnieval.config import RunConfig
from omnieval.types import Backend, MediaUrl


@dataclass(frozen=True)
class BackendContext:
    """What a factory needs beside the configuration, and what must never be stored with it.

    media_url: makes the URL of a media part; None for a backend that declares no `needs_transport`.
    api_key: never written to a file, a log or an error message.
    """

    media_url: MediaUrl | None = None
    api_key: str | None = field(default=None, repr=False)


BackendFactory = Callable[[RunConfig, BackendContext], Backend]
