"""The file server meets odd names, odd ranges and rude clients; a server's address is told apart."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from omnieval.media.transport import FileServer, is_local
from omnieval.types import MediaPart


@pytest.fixture(scope="module")
def server() -> Iterator[FileServer]:
    with FileServer() as running:
        yield running


@pytest.mark.parametrize("name", ["a.b c", "a.映", "a.mp4#1", "a.x?y", "a.50%", "no suffix", ".hidden"])
def test_any_file_name_can_be_fetched(name: str, server: FileServer, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"content")
    assert urlopen(server.url(MediaPart("video", path, "video/mp4"))).read() == b"content"


@pytest.mark.parametrize(
    ("header", "status", "expected"),
    [
        ("bytes=2-4", 206, b"234"),
        ("bytes=7-", 206, b"789"),
        ("bytes=7-99", 206, b"789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=-99", 200, b"0123456789"),
        ("bytes=-0", 200, b"0123456789"),
        ("bytes=5-2", 200, b"0123456789"),
        ("bytes=-", 200, b"0123456789"),
        ("bytes=0-1,4-5", 200, b"0123456789"),
        ("bytes=" + "9" * 5_000 + "-", 200, b"0123456789"),
        ("seconds=1-2", 200, b"0123456789"),
    ],
)
def test_ranges(header: str, status: int, expected: bytes, server: FileServer, tmp_path: Path) -> None:
    path = tmp_path / "v.mp4"
    path.write_bytes(b"0123456789")
    url = server.url(MediaPart("video", path, "video/mp4"))
    answer = urlopen(Request(url, headers={"Range": header}))
    assert (answer.status, answer.read()) == (status, expected)


def test_an_empty_file(server: FileServer, tmp_path: Path) -> None:
    path = tmp_path / "v.mp4"
    path.touch()
    url = server.url(MediaPart("video", path, "video/mp4"))
    answer = urlopen(Request(url, headers={"Range": "bytes=-5"}))
    assert (answer.status, answer.read()) == (200, b"")


def test_a_folder_is_not_served(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(HTTPError, match="404"):
        urlopen(server.url(MediaPart("video", tmp_path, "video/mp4")))


def test_a_client_that_hangs_up_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "v.mp4"
    path.write_bytes(bytes(32 * 1024 * 1024))
    with FileServer() as server:
        url = urlsplit(server.url(MediaPart("video", path, "video/mp4")))
        before = set(threading.enumerate())
        connection = socket.create_connection((url.hostname, url.port))  # type: ignore[arg-type]
        connection.sendall(f"GET {url.path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert connection.recv(8).startswith(b"HTTP")
        (handler,) = set(threading.enumerate()) - before
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        handler.join(timeout=30)
        assert not handler.is_alive()
    assert capfd.readouterr() == ("", "")


def test_our_other_loopback_address_is_this_machine() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    assert is_local("http://[::1]:8000/v1")


def test_an_address_of_our_own_network_card_is_this_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.7", 9))  # sends nothing
        except OSError:
            pytest.skip("no network card here")
        address = probe.getsockname()[0]
    assert is_local(f"http://{address}:8000/v1")


@pytest.mark.parametrize("host", ["a" * 70, "a..b", "no-such-host.invalid"])
def test_a_name_that_nobody_knows_is_not_this_machine(host: str) -> None:
    assert not is_local(f"http://{host}:8000/v1")


def test_a_link_with_a_suffix_to_a_file_without_one_says_what_it_is(
    server: FileServer, tmp_path: Path
) -> None:
    (tmp_path / "blob").write_bytes(b"content")
    (tmp_path / "a.wav").symlink_to("blob")
    url = server.url(MediaPart("audio", tmp_path / "a.wav", "audio/wav"))
    answer = urlopen(url)
    assert url.endswith(".wav")
    assert answer.headers["Content-Type"] in ("audio/wav", "audio/x-wav")
    assert answer.read() == b"content"
