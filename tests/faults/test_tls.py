"""Trouble before a request can be sent: nothing listens, or what listens speaks TLS badly, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omnieval.config import TimeoutConfig
from omnieval.errors import BackendError
from omnieval.types import Response
from tests.command import omnieval
from tests.faults import test_duplex
from tests.faults.duplex_server import DuplexServer, Turn
from tests.faults.test_openai_chat import backend, check, failure, request

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    b'{"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}'
)


@contextlib.contextmanager
def peer(speak: Callable[[socket.socket], None]) -> Iterator[int]:
    """A TCP server that does this with every connection; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        speak(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=10)


def garbage(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def silence(connection: socket.socket) -> None:
    connection.settimeout(20)
    while connection.recv(4096):
        pass


def reset(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def closing(connection: socket.socket) -> None:
    connection.recv(4096)


def ask(base_url: str) -> Response:
    async def once() -> Response:
        chat = backend(base_url, timeouts=TimeoutConfig(connect_s=0.5))
        try:
            return await chat.generate(request())
        finally:
            await chat.close()

    return asyncio.run(once())


@pytest.mark.parametrize(
    ("speak", "kind", "retryable", "words"),
    [
        (garbage, "configuration", False, "http://"),
        (reset, "connection", True, "is the server up"),
        (closing, "connection", True, "is the server up"),
        (silence, "timeout", True, "is the server up"),
    ],
)
def test_a_handshake_that_fails_says_whether_it_can_heal(
    speak: Callable[[socket.socket], None], kind: str, retryable: bool, words: str
) -> None:
    with peer(speak) as port:
        found = failure(ask(f"https://127.0.0.1:{port}/v1"))
        assert (found.kind, found.retryable) == (kind, retryable), found
        assert words in (found.hint or "")
        if speak is not silence:  # a check waits longer for that one than a test should
            with pytest.raises(BackendError, match=words):
                check(f"https://127.0.0.1:{port}/v1")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(certificate, key) of a server that nobody vouches for."""
    tool = shutil.which("openssl")
    if tool is None:
        pytest.skip("openssl is not installed, so that no certificate can be made")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [tool, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "cert.pem", folder / "key.pem"


def server_context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def speaks_tls(certificate: tuple[Path, Path]) -> Callable[[socket.socket], None]:
    context = server_context(certificate)

    def speak(connection: socket.socket) -> None:
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as wrapped:
            received = b""
            while not received.endswith(b"}"):  # the end of the body; what is unread would reset the answer
                piece = wrapped.recv(1 << 16)
                if not piece:
                    return
                received += piece
            wrapped.sendall(ANSWER)
            wrapped.unwrap()

    return speak


def test_a_certificate_that_nobody_vouches_for_is_named_with_what_mends_it(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with peer(speaks_tls(certificate)) as port:
        base_url = f"https://127.0.0.1:{port}/v1"
        found = failure(ask(base_url))
        assert (found.kind, found.retryable) == ("configuration", False), found
        assert "certificate" in found.message
        assert "SSL_CERT_FILE" in (found.hint or "")
        checked = omnieval("check", "daily-omni", "--sample", "--base-url", base_url)
        assert checked.returncode == 4
        assert "SSL_CERT_FILE" in checked.stderr
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        assert ask(base_url).text == "B"


def test_a_full_duplex_session_over_tls_trusts_the_same_certificates(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    server = DuplexServer(
        lambda _text, _number: Turn(), lambda _: test_duplex.SOUND, tls=server_context(certificate)
    )
    with server.running():
        found = failure(test_duplex.ask(server)[0])
        assert (found.kind, found.retryable) == ("configuration", False), found
        assert "certificate" in found.message
        assert "SSL_CERT_FILE" in (found.hint or "")
        assert server.paths == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        answer = test_duplex.ask(server)[0]
    assert answer.error is None
    assert answer.text == "text 0"
    assert server.paths == ["/v1/realtime?duplex=1"]


def alert(connection: socket.socket) -> None:
    """What a TLS server says to plain HTTP: a fatal alert, after all of the request, so that none resets."""
    received = b""
    while not received.endswith(b"}") and b"\r\n\r\n" not in received[-4:]:
        received += connection.recv(1 << 16)
    connection.sendall(bytes.fromhex("15 03 01 00 02 02 46"))


def test_http_to_a_port_that_speaks_tls_is_told_from_a_server_that_is_gone() -> None:
    with peer(alert) as port:
        found = failure(ask(f"http://127.0.0.1:{port}/v1"))
        with pytest.raises(BackendError, match="http:// against https://"):
            check(f"http://127.0.0.1:{port}/v1")
    assert found.kind == "protocol" and not found.retryable
    assert "http:// against https://" in (found.hint or "")
