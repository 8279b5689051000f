"""A hub on loopback that speaks as much of both hubs' protocols as their libraries need to fetch a data set."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """Serves one repository. files: content by path. denied: the HTTP status for everything, or None. cut_after:
    the next download of a large file breaks off after so many bytes. sent: (path, first byte, bytes) of every
    download."""

    def __init__(self, repo: str, files: dict[str, bytes]) -> None:
        self.repo = repo
        self.files = files
        self.denied: int | None = None
        self.cut_after: int | None = None
        self.cut_always = False
        self.sent: list[tuple[str, int, int]] = []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeHub:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(hub: FakeHub) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            path, query = unquote(url.path), {key: value[0] for key, value in parse_qs(url.query).items()}
            if hub.denied is not None:
                self._deny(hub.denied)
            elif path.startswith(f"/datasets/{hub.repo}/resolve/"):
                self._file(path.split("/", 6)[6])
            elif path == f"/api/v1/datasets/{hub.repo}/repo":
                self._file(query["FilePath"])
            elif path == f"/api/v1/datasets/{hub.repo}/repo/tree":
                under = query.get("Root", "").strip("/")
                self._json({"Code": 200, "Success": True, "Data": {"Files": _tree(hub, under)}})
            elif path == f"/api/v1/datasets/{hub.repo}":
                self._json({"Code": 200, "Success": True, "Data": {"Id": 1, "Name": hub.repo}})
            elif re.fullmatch(f"/api/datasets/{hub.repo}(/revision/(main|{REVISION}))?", path):
                siblings = [{"rfilename": name, "size": len(c)} for name, c in hub.files.items()]
                self._json({"id": hub.repo, "sha": REVISION, "siblings": siblings})
            elif re.fullmatch(f"/api/datasets/{hub.repo}/tree/(main|{REVISION})", path):
                entries = [
                    {"type": "file", "path": name, "size": len(c), "oid": _etag(c)}
                    for name, c in hub.files.items()
                ]
                self._json(entries)
            elif path.startswith(f"/api/datasets/{hub.repo}/revision/"):
                self._deny(404, "RevisionNotFound")
            else:
                self._deny(404)

        do_HEAD = do_GET

        def _file(self, name: str) -> None:
            content = hub.files.get(name)
            if content is None:
                self._deny(404, "EntryNotFound")
                return
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            start = int(asked.group(1)) if asked else 0
            end = int(asked.group(2)) + 1 if asked and asked.group(2) else len(content)
            body = content[start:end]
            self.send_response(206 if asked else 200)
            if asked:
                self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(content)}")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", f'"{_etag(content)}"')
            self.send_header("X-Repo-Commit", REVISION)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            cut = hub.cut_after if hub.cut_after is not None and len(body) > hub.cut_after else None
            if cut is not None and not hub.cut_always:
                hub.cut_after = None
            hub.sent.append((name, start, len(body[:cut])))
            self.wfile.write(body[:cut])
            if cut is not None:
                self.close_connection = True

        def _json(self, value: Any) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _deny(self, status: int, code: str | None = None) -> None:
            codes = {401: "RepoNotFound", 403: "GatedRepo", 404: "RepoNotFound"}
            body = json.dumps(
                {"Code": status, "Success": False, "Message": "denied", "error": "denied"}
            ).encode()
            self.send_response(status)
            self.send_header("X-Error-Code", code or codes.get(status, ""))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _tree(hub: FakeHub, under: str) -> list[dict[str, Any]]:
    return [
        {"Path": name, "Name": name.rsplit("/", 1)[-1], "Type": "blob", "Size": len(content),
         "Sha256": hashlib.sha256(content).hexdigest()}
        for name, content in hub.files.items()
        if not under or name.startswith(f"{under}/")
    ]  # fmt: skip


def _etag(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
