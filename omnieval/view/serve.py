"""The viewer as a process: a port, a token, a browser."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path

from omnieval.errors import ConfigError
from omnieval.media.cache import default_cache_dir

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    root: Path, *, host: str, port: int, allow_remote: bool, browser: bool, told: Callable[[str], None]
) -> None:
    """Show the runs of a folder until interrupted. told: gets the URL.

    Raises ConfigError without the extra `view`, for a folder that is not there, and a host or port that
    cannot be had.
    """
    if host not in LOOPBACK and not allow_remote:
        raise ConfigError(
            f"--host {host} lets other machines read the runs; add --allow-remote if that is meant"
        )
    if not root.is_dir():
        raise ConfigError(f"{root}: no such folder; name a run directory or a folder of them")
    try:
        import uvicorn

        from omnieval.view.app import make_app
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "starlette"):
            raise
        raise ConfigError("`omnieval view` needs the extra view: pip install 'omnieval[view]'") from None
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigError(
            f"{host}:{port} cannot be listened on: {error.strerror or error}; give another --port"
        ) from None
    with bound:
        number = bound.getsockname()[1]
        token = secrets.token_urlsafe(24)
        app = make_app(
            root.resolve(), default_cache_dir().parent / "view", token=token, port=number, remote=allow_remote
        )
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{number}/?token={token}"
        told(url)
        if browser and _is_desktop():
            webbrowser.open(url)
        # No access log: it would hold the token.
        settings = uvicorn.Config(app, access_log=False, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(settings).run(sockets=[bound])


def _is_desktop() -> bool:
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
