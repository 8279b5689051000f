"""The deployment that a run asks, ready to be asked: its backend, and how media reach it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from omnieval.backends.base import BackendContext, BackendFactory, Need, TellsNeeds
from omnieval.backends.registry import BACKENDS
from omnieval.backends.replicas import Replicas
from omnieval.config import RunConfig
from omnieval.errors import BackendError, ConfigError
from omnieval.media.transport import (
    FileServer,
    InlineMedia,
    allowed_media_path,
    file_url,
    is_local,
    is_loopback,
)
from omnieval.types import Backend, MediaUrl, ServerFacts


@contextlib.asynccontextmanager
async def deployment(
    config: RunConfig,
    folders: Sequence[Path],
    api_key: str | None,
    notify: Callable[[str], None],
    needed: Callable[[Need], None] = lambda _: None,
) -> AsyncIterator[tuple[Backend, ServerFacts]]:
    """The configured backend and what it says of itself, closed at the end.

    folders: where media parts lie, for a server that reads files itself; notify is told what it must be
    allowed to read. needed: is told what the backend needs of this machine, met or not. Raises ConfigError,
    BackendError.
    """
    with _media_url(config) as (kind, media_url):
        backend = _backend(config, BackendContext(media_url, api_key, reads_media=kind == "inline"))
        _advise(kind, backend, folders, notify)
        try:
            await _require_needs(backend, needed)
            yield backend, await backend.check()
        finally:
            await backend.close()


async def require_ready(
    config: RunConfig,
    api_key: str | None,
    folders: Sequence[Path] = (),
    notify: Callable[[str], None] = lambda _: None,
) -> None:
    """That the configured servers answer, or this machine has what the backend needs: what can be told in
    seconds, before anything is prepared for it. api_key: else the environment variable that the configuration
    names. folders, notify: see `deployment`. Raises ConfigError, BackendError."""
    with _media_url(config) as (kind, media_url):
        backend = _backend(config, BackendContext(media_url, api_key or os.environ.get(config.api_key_env)))
        _advise(kind, backend, folders, notify)
        try:
            if isinstance(backend, TellsNeeds):
                await _require_needs(backend, lambda _: None)
            else:
                await backend.check()
        finally:
            await backend.close()


def _advise(kind: str, backend: Backend, folders: Sequence[Path], notify: Callable[[str], None]) -> None:
    if kind == "file" and folders and backend.capabilities.needs_transport:
        notify(media_advice(folders))


async def _require_needs(backend: Backend, needed: Callable[[Need], None]) -> None:
    """Raises BackendError with all that is missing."""
    if not isinstance(backend, TellsNeeds):
        return
    needs = await asyncio.to_thread(backend.needs)
    for need in needs:
        needed(need)
    missing = [f"{need.name}: {need.found}; {need.fix}" for need in needs if need.fix is not None]
    if missing:
        raise BackendError("\n".join(missing))


def media_advice(folders: Sequence[Path]) -> str:
    """The server's flag for media by path, or what to do where it would open the whole disk."""
    folder = allowed_media_path(folders)
    if folder != Path(folder.anchor):
        return f"media go as file:// paths; the server needs --allowed-local-media-path {folder}"
    return (
        f"media go as file:// paths below {' and '.join(map(str, folders))}, which have no folder in common "
        "that a server should be allowed to read; give --cache-dir a folder beside the data, or "
        "--transport inline"
    )


def _backend(config: RunConfig, context: BackendContext) -> Backend:
    """The configured backend; several servers of one model are one. Raises ConfigError."""
    create: BackendFactory = BACKENDS.load(config.backend)
    if not config.replicas:
        return create(config, context)
    if config.base_url is None:
        raise ConfigError("replicas are servers beside the one of base_url; give that one too")
    urls = list(dict.fromkeys([config.base_url, *config.replicas]))
    return Replicas(
        [(url, create(config.model_copy(update={"base_url": url, "replicas": ()}), context)) for url in urls]
    )


@contextlib.contextmanager
def _media_url(config: RunConfig) -> Iterator[tuple[str, MediaUrl]]:
    """(kind of transport, the function that makes a part's URL)."""
    kind = config.transport.kind
    if kind == "auto":
        kind = "file" if _servers(config) and all(map(is_local, _servers(config))) else "inline"
    if kind == "http":
        settings = config.transport
        _check_reachable(config)
        with FileServer(settings.host, settings.port, public_url=settings.public_url) as server:
            yield kind, server.url
    else:
        yield kind, file_url if kind == "file" else InlineMedia().url


def _servers(config: RunConfig) -> list[str]:
    return [] if config.base_url is None else [config.base_url, *config.replicas]


def _check_reachable(config: RunConfig) -> None:
    """Refuse a file server that the model server cannot reach at the address that it would be told."""
    settings = config.transport
    elsewhere = not all(map(is_local, _servers(config)))
    unnamed = settings.host in ("0.0.0.0", "::")
    if settings.public_url is None and (unnamed or (elsewhere and is_loopback(settings.host))):
        raise ConfigError(
            f"transport http on {settings.host}: the model server cannot reach media at that address; set "
            "transport.host to an address of this machine that it sees, or transport.public_url"
        )
