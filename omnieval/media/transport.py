"""How media parts reach a model server: by path, inside the request, or over a small file server."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import mimetypes
import os
import re
import secrets
import socket
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, urlsplit

from omnieval.errors import ConfigError
from omnieval.types import MediaPart


def file_url(part: MediaPart) -> str:
    """`file:///absolute/path`, percent-encoded; the server must share the disk and allow the folder."""
    return _file_uri(str(part.path))  # text has its hash made much faster than a path


@lru_cache(maxsize=16_384)
def _file_uri(path: str) -> str:
    """The questions of one video carry the same files."""
    folder, name = os.path.split(path)
    if not name or Path(path).is_symlink():
        return Path(path).resolve().as_uri()
    return f"{_folder_uri(folder)}/{quote(name)}"


@lru_cache(maxsize=4096)
def _folder_uri(folder: str) -> str:
    """A request carries many files of one folder."""
    return Path(folder).resolve().as_uri().removesuffix("/")


class InlineMedia:
    """Makes `data:{mime};base64,...` URLs with the files' content.

    Questions of one video follow each other: the URLs last used, up to most_bytes, are kept and shared, so
    that a video is encoded once and not once a question. Safe in several threads.
    """

    def __init__(self, most_bytes: int = 64 * 2**20) -> None:
        self._most_bytes = most_bytes
        self._urls: OrderedDict[tuple[Path, str, int, int], bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def url(self, part: MediaPart) -> bytes:
        """The URL of a part. Raises OSError when its file cannot be read."""
        status = part.path.stat()
        key = (part.path, part.mime, status.st_size, status.st_mtime_ns)
        with self._lock:
            known = self._urls.get(key)
            if known is not None:
                self._urls.move_to_end(key)
                return known
        made = b"data:%s;base64,%s" % (part.mime.encode(), base64.b64encode(part.path.read_bytes()))
        with self._lock:
            if key not in self._urls:
                self._urls[key] = made
                self._bytes += len(made)
            while self._bytes > self._most_bytes:
                self._bytes -= len(self._urls.popitem(last=False)[1])
        return made


def allowed_media_path(folders: Sequence[Path]) -> Path:
    """The smallest folder that covers all given ones, resolved: for `--allowed-local-media-path`."""
    return Path(os.path.commonpath([folder.resolve() for folder in folders]))


def is_local(base_url: str) -> bool:
    """Whether a server's URL names this machine (loopback, or an address of one of its interfaces)."""
    host = urlsplit(base_url).hostname or ""
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):  # the latter for a name that no resolver accepts
        return False
    return bool(addresses) and all(_is_own_address(str(address)) for address in addresses)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is reached from this machine only."""
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False
    return bool(addresses) and all(ipaddress.ip_address(a.partition("%")[0]).is_loopback for a in addresses)


def _is_own_address(address: str) -> bool:
    """An address is ours when a socket can be bound to it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


class FileServer:
    """Serves media parts over HTTP, each under a path that cannot be guessed.

    A URL carries the file's path with a signature made from a secret of this object, so that only URLs
    which `url` made are served, and nothing has to be remembered. host, port: where to listen (port 0
    picks a free one). public_url: base URL under which the model server reaches it, when that differs.
    Use it as a context manager. Raises ConfigError when the address cannot be bound.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, public_url: str | None = None) -> None:
        self._secret = secrets.token_bytes(32)
        try:
            self._server = _Server((host, port), _handler(self._secret))
        except OSError as error:
            raise ConfigError(
                f"transport http: cannot listen on {host}:{port}: {error.strerror or error}; "
                "set transport.host and transport.port to a free address of this machine"
            ) from error
        self.base_url = (public_url or f"http://{host}:{self._server.server_port}").rstrip("/")
        self._thread = threading.Thread(target=self._server.serve_forever, name="media-server", daemon=True)

    def url(self, part: MediaPart) -> str:
        """The URL of a part; the same file always gets the same one."""
        path = part.path.resolve()
        encoded = base64.urlsafe_b64encode(os.fsencode(path)).decode("ascii")
        return f"{self.base_url}/{_signature(self._secret, encoded)}/{encoded}{quote(part.path.suffix)}"

    def __enter__(self) -> FileServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: a client that hangs up is no fault of ours, and only the command line prints."""


def _signature(secret: bytes, encoded_path: str) -> str:
    return hmac.new(secret, encoded_path.encode(), hashlib.sha256).hexdigest()[:40]


def _signed_path(secret: bytes, route: str) -> Path | None:
    """The file that a URL's path stands for, or None when we did not make that URL."""
    signature, _, name = route.lstrip("/").partition("/")
    encoded = name.partition(".")[0]
    if not hmac.compare_digest(signature.encode(), _signature(secret, encoded).encode()):
        return None
    return Path(os.fsdecode(base64.urlsafe_b64decode(encoded)))


def _handler(secret: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def log_message(self, *_: object) -> None:
            """Stay silent: only the command line prints."""

        def _answer(self, *, with_body: bool) -> None:
            path = _signed_path(secret, urlsplit(self.path).path)
            try:
                file = path.open("rb") if path is not None else None
            except OSError:
                file = None
            if file is None or path is None:
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            with file:
                size = os.fstat(file.fileno()).st_size
                start, end = _range(self.headers.get("Range"), size)
                partial = (start, end) != (0, size)
                self.send_response(206 if partial else 200)
                # The file itself may have no suffix, where a link to it has one.
                mime = mimetypes.guess_type(urlsplit(self.path).path)[0] or "application/octet-stream"
                self.send_header("Content-Type", mime)
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("Content-Length", str(end - start))
                if partial:
                    self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
                self.end_headers()
                if with_body and end > start:
                    self.connection.sendfile(file, start, end - start)

    return Handler


def _range(header: str | None, size: int) -> tuple[int, int]:
    """(start, end) of a single satisfiable byte range, else the whole file."""
    match = re.fullmatch(r"bytes=([0-9]{0,18})-([0-9]{0,18})", header or "")
    if match is None or not any(match.groups()):
        return 0, size
    first, last = match.groups()
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last) + 1, size) if first and last else size
    return (start, end) if start < end else (0, size)
