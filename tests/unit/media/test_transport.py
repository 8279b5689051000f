"""However a part travels, the same bytes arrive, and nothing else can be fetched."""

from __future__ import annotations

import base64
import http.client
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

import pytest

from omnieval.errors import ConfigError
from omnieval.media.transport import FileServer, InlineMedia, allowed_media_path, file_url, is_local
from omnieval.types import MediaPart

CONTENT = bytes(range(256)) * 4


@pytest.fixture
def part(tmp_path: Path) -> MediaPart:
    folder = tmp_path / "a b#c%20ñ映?"
    folder.mkdir()
    path = folder / "frame 1.jpg"
    path.write_bytes(CONTENT)
    return MediaPart("image", path, "image/jpeg")


def test_a_file_url_names_the_file(part: MediaPart) -> None:
    url = urlsplit(file_url(part))
    assert url.scheme == "file"
    assert (url.query, url.fragment) == ("", "")
    assert Path(unquote(url.path)).read_bytes() == CONTENT


def test_a_relative_path_becomes_absolute(part: MediaPart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(part.path.parent)
    relative = MediaPart("image", Path("frame 1.jpg"), "image/jpeg")
    assert file_url(relative) == file_url(part)


def test_an_inline_url_holds_the_content(part: MediaPart) -> None:
    head, _, data = InlineMedia().url(part).partition(b",")
    assert head == b"data:image/jpeg;base64"
    assert base64.b64decode(data) == CONTENT


def test_an_inline_url_is_made_once_and_again_when_the_file_changed(part: MediaPart) -> None:
    inline = InlineMedia()
    first = inline.url(part)
    assert inline.url(part) is first
    part.path.write_bytes(b"another")
    assert base64.b64decode(inline.url(part).partition(b",")[2]) == b"another"


def test_only_so_many_inline_urls_are_kept(tmp_path: Path) -> None:
    inline = InlineMedia(most_bytes=3_000)
    parts = []
    for number in range(4):
        path = tmp_path / f"{number}.jpg"
        path.write_bytes(bytes(750))
        parts.append(MediaPart("image", path, "image/jpeg"))
    made = [inline.url(each) for each in parts]
    assert inline.url(parts[3]) is made[3]
    assert inline.url(parts[0]) is not made[0]
    assert inline.url(parts[0]) == made[0]


def test_the_file_server_serves_what_it_made_a_url_for(part: MediaPart) -> None:
    with FileServer() as server:
        url = server.url(part)
        assert server.url(part) == url
        answer = urlopen(url)
        assert answer.read() == CONTENT
        assert answer.headers["Content-Type"] == "image/jpeg"
        ranged = urlopen(Request(url, headers={"Range": "bytes=10-19"}))
        assert (ranged.status, ranged.read()) == (206, CONTENT[10:20])
        assert ranged.headers["Content-Range"] == f"bytes 10-19/{len(CONTENT)}"
        assert urlopen(Request(url, headers={"Range": "bytes=-5"})).read() == CONTENT[-5:]
        assert urlopen(Request(url, headers={"Range": "bytes=9999-"})).read() == CONTENT
        head = urlopen(Request(url, method="HEAD"))
        assert (head.headers["Content-Length"], head.read()) == (str(len(CONTENT)), b"")


def test_nothing_else_can_be_fetched(part: MediaPart, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    with FileServer() as server, FileServer() as other:
        made = urlsplit(server.url(part)).path
        signature, _, name = made.lstrip("/").partition("/")
        stolen = base64.urlsafe_b64encode(str(tmp_path / "secret.txt").encode()).decode()
        for path in (
            "/", "/etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", f"/{signature}/",
            f"/{signature}/{stolen}.txt", f"/{'0' * 40}/{name}", f"/{signature[:-1]}x/{name}", f"/é/{name}",
            urlsplit(other.url(part)).path,
        ):  # fmt: skip
            connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.base_url).port)
            connection.putrequest("GET", "/x", skip_host=True)
            connection._buffer[0] = f"GET {path} HTTP/1.1".encode()  # type: ignore[attr-defined]
            connection.endheaders()
            response = connection.getresponse()
            body = response.read()
            assert response.status in (400, 404), path
            assert b"secret" not in body
            assert CONTENT not in body
            connection.close()
        assert len(signature) == 40


def test_a_file_that_has_gone_is_not_found(part: MediaPart) -> None:
    with FileServer() as server:
        url = server.url(part)
        part.path.unlink()
        with pytest.raises(HTTPError, match="404"):
            urlopen(url)


def test_a_public_url_replaces_the_address(part: MediaPart) -> None:
    server = FileServer(public_url="http://gateway.example:8080/media/")
    assert server.url(part).startswith("http://gateway.example:8080/media/")
    with server:
        pass


def test_an_address_that_is_not_ours_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"transport\.host"):
        FileServer("203.0.113.7")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost:8000/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://203.0.113.7/v1", False),
        ("http://no-such-host.invalid/v1", False),
    ],
)
def test_this_machine_is_recognised(url: str, local: bool) -> None:
    assert is_local(url) == local


def test_the_allowed_folder_covers_all_media(tmp_path: Path) -> None:
    (tmp_path / "data" / "x").mkdir(parents=True)
    (tmp_path / "cache").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert allowed_media_path([tmp_path / "data"]) == (tmp_path / "data").resolve()
    assert allowed_media_path([tmp_path / "data" / "x", tmp_path / "cache"]) == tmp_path.resolve()
    assert allowed_media_path([tmp_path / "link"]) == (tmp_path / "data").resolve()
