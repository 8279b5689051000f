"""The viewer as a process: a port, a token, a browser."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

from omnieval.errors import ConfigError
from omnieval.media.cache import default_cache_dir, users_cache_dir
from omnieval.view.folders import find_runs, problem_of

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    root: Path, *, host: str, port: int, allow_remote: bool, browser: bool, told: Callable[[str], None]
) -> None:
    """Show the runs of a folder until interrupted. told: gets the URL, and what should be known beside it.

    Raises ConfigError without the extra `view`, for a folder that is not there or cannot be read, and a
    host or port that cannot be had.
    """
    if host not in LOOPBACK and not allow_remote:
        raise ConfigError(
            f"--host {host} lets other machines read the runs; add --allow-remote if that is meant"
        )
    problem = problem_of(root)
    if problem is not None:
        raise ConfigError(f"{root}: {problem}; name a run directory or a folder of them")
    try:
        import uvicorn

        from omnieval.view.app import make_app
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "starlette"):
            raise
        raise ConfigError("`omnieval view` needs the extra view: pip install 'omnieval[view]'") from None
    with _listening(host, port) as bound, _index_folder(told) as folder:
        number = bound.getsockname()[1]
        token = secrets.token_urlsafe(24)
        app = make_app(root.resolve(), folder, token=token, port=number, remote=allow_remote)
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{number}/?token={token}"
        told(f"{url}\nCtrl-C ends it.")
        if not find_runs(root):
            told(f"There is no run directory in {root} yet; the page shows those that come.")
        if browser and _is_desktop():
            webbrowser.open(url)
        # No access log: it would hold the token.
        settings = uvicorn.Config(
            app, access_log=False, log_level="warning", timeout_graceful_shutdown=1,
            ws="none", proxy_headers=False,
        )  # fmt: skip
        uvicorn.Server(settings).run(sockets=[bound])


def _listening(host: str, port: int) -> socket.socket:
    """Raises ConfigError."""
    place = f"--host {host!r} --port {port}"
    try:
        if host:
            return socket.create_server(
                (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
            )
        number = 0
    except (TypeError, UnicodeError):  # a name that cannot be one
        number = 0
    except OSError as error:
        number = error.errno or 0
    if number <= 0:  # negative: of the look-up
        raise ConfigError(f"{place}: there is no such address; name one of this machine, as 127.0.0.1")
    following = {
        errno.EADDRNOTAVAIL: "name an address of this machine, as 127.0.0.1",
        errno.EACCES: "give a --port above 1023",
    }.get(number, "give another --port; 0 takes a free one")
    raise ConfigError(f"{place} cannot be listened on ({os.strerror(number)}); {following}")


@contextlib.contextmanager
def _index_folder(told: Callable[[str], None]) -> Iterator[Path]:
    """Where indices are kept: with the user's cache; where that cannot be written, in a folder that goes."""
    media = users_cache_dir()
    folder = media.parent / "view" if media == default_cache_dir() else media / "view"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        with tempfile.TemporaryDirectory(prefix="omnieval-view-") as other:
            told(f"{folder} cannot be written ({error.strerror or error}): indices lie in {other} for now")
            yield Path(other)
    else:
        yield folder


def _is_desktop() -> bool:
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
