"""Requests that no browser sends, byte by byte to a viewer that runs: nothing outside is told, nothing breaks."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("starlette")

from omnieval.media.encode import encode_wav
from tests.integration.viewer import Viewer, viewing
from tests.runs import choice_run

SECRET = b"RIFFsecret"
HOSTILE_PATHS = (
    "/../../outside.wav",
    "/..%2f..%2foutside.wav",
    "/%2e%2e/%2e%2e/outside.wav",
    "/%252e%252e%252foutside.wav",
    "/..\\..\\outside.wav",
    "/..%5c..%5coutside.wav",
    "/%00",
    "/run/..%2f..%2f/sample/0/media/0",
    "/run/{run}/..%2f..%2foutside.wav",
    "/run/{run}/sample/0/media/..%2f..%2f..%2foutside.wav",
    "/run/{run}/sample/0/media/0%2f..%2f..%2foutside.wav",
    "/run/{run}/sample/0/media/-1",
    "/run/{run}/sample/0/media/{huge}",
    "/run/{run}/sample/{huge}",
    "/run/{run}/against/..%2f..%2foutside.wav",
    "/static/..%2fapp.py",
    "/static/%2e%2e/app.py",
    "/static/%252e%252e%252fapp.py",
    "/static/..\\app.py",
    "/static/..%5capp.py",
    "/static/view.js%00.css",
    "//outside.wav",
    "http://evil.example/",
)


@dataclass
class Asking:
    """Requests to one viewer. cookie: what it gave for its token."""

    viewer: Viewer
    cookie: str = ""
    raw: list[bytes] = field(default_factory=list)

    @property
    def netloc(self) -> str:
        return urlsplit(self.viewer.host).netloc

    def bytes_of(self, request: bytes) -> bytes:
        """All that comes back."""
        host, port = self.netloc.split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(request)
            pieces = []
            while piece := connection.recv(65_536):
                pieces.append(piece)
        self.raw.append(b"".join(pieces))
        return self.raw[-1]

    def ask(self, path: str, method: str = "GET", **headers: str | None) -> tuple[int, bytes]:
        """(status, everything). headers: in addition, or other than usual ones; None leaves one out."""
        given = {"host": self.netloc, "cookie": self.cookie, "connection": "close", "content-length": "0"}
        given |= {name.replace("_", "-"): value or "" for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value)]
        answer = self.bytes_of("\r\n".join((*lines, "", "")).encode())
        return int(answer.split(b" ", 2)[1]), answer


def introduced(viewer: Viewer) -> Asking:
    """With the cookie that a browser gets for the URL's token."""
    asking = Asking(viewer)
    status, answer = asking.ask(f"/?token={viewer.token}")
    assert status == 303
    asking.cookie = answer.partition(b"set-cookie: ")[2].partition(b";")[0].decode()
    return asking


@pytest.fixture(scope="module")
def viewers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Asking, Asking]]:
    """Two viewers of one folder. A run's sound is a link that leads out of it; beside it lies a real one."""
    folder = tmp_path_factory.mktemp("requests")
    (folder / "outside.wav").write_bytes(SECRET)
    run = choice_run(folder / "runs" / "a", ["wrong", "correct"]).directory
    (run / "audio").mkdir()
    (run / "audio" / "linked.wav").symlink_to(folder / "outside.wav")
    (run / "audio" / "sound.wav").write_bytes(encode_wav(np.zeros(1600, dtype=np.float32)))
    (run / "audio" / "inside.wav").symlink_to("sound.wav")
    responses = run / "responses.jsonl"
    records = [json.loads(line) for line in responses.read_text().splitlines()]
    for record, name in zip(records, ("linked.wav", "inside.wav"), strict=True):
        record["audio"] = {"rate_hz": 16_000, "channels": 1, "frames": 1600, "file": f"audio/{name}"}
    responses.write_text("".join(json.dumps(record) + "\n" for record in records))
    with ExitStack() as opened:
        shown = [
            introduced(opened.enter_context(viewing(folder / "runs", folder / f"cache-{n}")))
            for n in range(2)
        ]
        yield shown[0], shown[1]


@pytest.mark.parametrize("path", HOSTILE_PATHS)
def test_no_path_leads_to_a_file(viewers: tuple[Asking, Asking], path: str) -> None:
    asking, _ = viewers
    status, answer = asking.ask(path.format(run=asking.viewer.id("a"), huge="9" * 5_000))
    assert status in (404, 414)
    assert SECRET not in answer
    assert b"import " not in answer


def test_a_link_out_of_the_run_is_named_and_not_followed(viewers: tuple[Asking, Asking]) -> None:
    asking, _ = viewers
    base = f"/run/{asking.viewer.id('a')}/sample"
    assert b"The answer lies outside the run" in asking.ask(f"{base}/0")[1]
    assert asking.ask(f"{base}/0/media/0")[0] == 404
    status, answer = asking.ask(f"{base}/1/media/0")
    assert status == 200
    assert answer.partition(b"\r\n\r\n")[2].startswith(b"RIFF")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "localhost.evil.example:{port}",
    "127.0.0.1.evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "user@127.0.0.1:{port}", "10.0.0.1:{port}",
    "[::]:{port}", "0.0.0.0:{port}"])  # fmt: skip
def test_a_name_that_is_not_its_own_is_told_nothing(viewers: tuple[Asking, Asking], host: str) -> None:
    asking, _ = viewers
    port = asking.netloc.rpartition(":")[2]
    for path in ("/", f"/?token={asking.viewer.token}"):
        status, answer = asking.ask(path, host=host.format(port=port))
        assert status == 421
        assert b"set-cookie" not in answer
    assert asking.ask("/", x_forwarded_host=host, forwarded=f"host={host}")[0] == 200, "only Host counts"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://{own}", "http://{own}.evil.example", "x"]
)
def test_a_page_from_elsewhere_is_told_nothing(viewers: tuple[Asking, Asking], origin: str) -> None:
    asking, _ = viewers
    own = f"http://{asking.netloc}"
    given = origin.format(own=asking.netloc)
    for method in ("GET", "HEAD", "POST"):
        assert asking.ask("/", method, origin=given)[0] == 403
        assert asking.ask("/", method, origin=given, sec_fetch_site="cross-site")[0] == 403
    assert asking.ask("/", origin=own)[0] == 200


def test_only_the_token_and_cookie_of_this_viewer_count(viewers: tuple[Asking, Asking]) -> None:
    asking, other = viewers
    name, _, session = asking.cookie.partition("=")
    wrong = (
        None, f"{name}=", f"{name}=x", f"{name}={asking.viewer.token}", f"{name}={other.viewer.token}",
        f"{name}={other.cookie.partition('=')[2]}", f"{name}={session[:-1]}", f"{name}={session}x", other.cookie,
    )  # fmt: skip
    pages = ("/", "/static/view.js", f"/run/{asking.viewer.id('a')}", "/nowhere")
    for cookie in wrong:
        assert [asking.ask(path, cookie=cookie)[0] for path in pages] == [401] * len(pages)
    for token in ("", "x", other.viewer.token, asking.viewer.token[:-1], "%ff%00", "%C3%A9"):
        status, answer = asking.ask(f"/?token={token}", cookie=None)
        assert status == 401
        assert b"set-cookie" not in answer
    assert asking.ask(f"/run/x?token={asking.viewer.token}", cookie=None)[0] == 401
    assert (
        asking.ask(f"/?token={asking.viewer.token}", "POST", cookie=None, origin=f"http://{asking.netloc}")[0]
        == 401
    )
    # Both are looked at by one browser: neither cookie takes the other's place.
    assert asking.ask("/", cookie=f"{other.cookie}; {asking.cookie}")[0] == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "PROPFIND"])
def test_other_methods_are_refused(viewers: tuple[Asking, Asking], method: str) -> None:
    asking, _ = viewers
    for path in ("/", f"/run/{asking.viewer.id('a')}", f"/run/{asking.viewer.id('a')}/sample/0/prepare"):
        assert asking.ask(path, method, origin=f"http://{asking.netloc}")[0] == 405


def test_head_tells_no_content_and_post_changes_nothing(viewers: tuple[Asking, Asking]) -> None:
    asking, _ = viewers
    own = f"http://{asking.netloc}"
    status, answer = asking.ask("/", "HEAD")
    assert (status, answer.partition(b"\r\n\r\n")[2]) == (200, b"")
    assert asking.ask("/", "POST")[0] == 403
    assert asking.ask("/", "POST", origin=own)[0] == 405
    prepare = f"/run/{asking.viewer.id('a')}/sample/0/prepare"
    assert asking.ask(prepare)[0] == 405
    assert asking.ask(prepare, "POST")[0] == 403


def test_what_is_no_request_is_refused_and_the_viewer_goes_on(viewers: tuple[Asking, Asking]) -> None:
    asking, _ = viewers
    own = f"Host: {asking.netloc}\r\nCookie: {asking.cookie}\r\n".encode()
    for request in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n" + own + b"\r\n",
        b"GET /static/view.js\x00.css HTTP/1.1\r\n" + own + b"\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\n" + own + b"\r\n",
    ):
        assert asking.bytes_of(request).startswith(b"HTTP/1.1 400 ")
    assert asking.bytes_of(b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421 ")
    upgrade = {"connection": "Upgrade, close", "upgrade": "websocket", "sec_websocket_version": "13",
               "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    assert asking.ask("/", **upgrade)[0] == 200, "it speaks no other protocol"
    assert asking.ask("/")[0] == 200


def test_every_answer_carries_the_policy_and_none_the_token(viewers: tuple[Asking, Asking]) -> None:
    asking, _ = viewers
    sample = f"/run/{asking.viewer.id('a')}/sample/1"
    answers = [
        asking.ask(path)[1] for path in ("/", "/nowhere", "/static/view.js", sample, f"{sample}/media/0")
    ]
    answers.append(asking.ask("/", cookie=None)[1])
    for answer in answers:
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert b"content-security-policy: default-src 'none'" in head
        assert b"x-content-type-options: nosniff" in head
        assert b"cache-control: no-store" in head
        assert b"access-control-allow" not in head
    assert not any(asking.viewer.token.encode() in answer for answer in asking.raw)
