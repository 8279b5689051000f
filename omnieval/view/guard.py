"""Who may read the pages: a browser on this machine that was given the token, under this server's own name.

A page elsewhere cannot reach them: names that lead here by another name's DNS are refused by Host, requests
that another page makes by Origin and by a cookie that only travels with this server's own pages.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

_LONGEST = 1_000  # characters of a path


class Guard:
    """Middleware around the whole application. remote: other machines may ask, by this one's addresses."""

    def __init__(self, app: ASGIApp, *, token: str, port: int, remote: bool = False) -> None:
        self._app = app
        self._token = token
        self._session = secrets.token_urlsafe(32)
        self._port = port
        self._remote = remote
        self._cookie = f"omnieval_view_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refusal(Request(scope))
        await (answer or self._app)(scope, receive, send_safely)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not self._is_ours(host):
            return _no(421, "This server answers by its own address only; open the URL that it printed.")
        origin = request.headers.get("origin")
        same_site = request.headers.get("sec-fetch-site") == "same-origin"
        # Without a referrer a browser says `null` for the page's own forms.
        if origin is not None and origin != f"http://{host}" and not (origin == "null" and same_site):
            return _no(403, "Asked by a page of another origin.")
        if request.method not in ("GET", "HEAD", "POST"):
            return _no(405, "Only GET, HEAD and POST.")
        if request.method == "POST" and origin is None:
            return _no(403, "A POST needs its origin.")
        if len(request.url.path) > _LONGEST:
            return _no(414, "No address here is that long.")
        given = request.query_params.get("token")
        if given is not None and request.url.path == "/" and request.method == "GET":
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return _no(401, "A wrong token; open the URL that `omnieval view` printed last.")
            answer = RedirectResponse("/", status_code=303)
            answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
            return answer
        cookie = request.cookies.get(self._cookie, "")
        if not hmac.compare_digest(cookie.encode(), self._session.encode()):
            return _no(401, "No token; open the URL that `omnieval view` printed.")
        return None

    def _is_ours(self, host: str) -> bool:
        suffix = f":{self._port}"
        if not host.endswith(suffix) and self._port != 80:  # browsers leave that port out
            return False
        name = host.removesuffix(suffix)
        if name in ("127.0.0.1", "localhost", "[::1]"):
            return True
        if not self._remote:
            return False
        # An address cannot be made to lead elsewhere; a name can, but for the machine's own.
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() in (socket.gethostname().lower(), socket.getfqdn().lower())
        return True


def _no(status: int, text: str) -> Response:
    return PlainTextResponse(text + "\n", status_code=status)
