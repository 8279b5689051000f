"""What a server says of itself beside its answers: models, version, health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnieval.backends import faults
from omnieval.backends.http.body import Body
from omnieval.backends.http.short_answers import fetch
from omnieval.backends.http.transport_faults import broken
from omnieval.errors import BackendError
from omnieval.types import JsonDict

if TYPE_CHECKING:
    import httpx

_CHECK_S = 30.0
_ALIVE_S = 10.0


class ServerDescription:
    """Asks for it with the client of the answers. secret: the key, kept out of every message."""

    def __init__(self, client: httpx.AsyncClient, base_url: str, secret: str | None) -> None:
        self._client = client
        self._base_url = base_url
        self._root = base_url.removesuffix("/v1")
        self._secret = secret

    async def models(self) -> list[JsonDict]:
        """The entries of the list of models. Raises BackendError with the next step."""
        import httpx

        url = f"{self._base_url}/models"
        try:
            status, content = await fetch(self._client, "GET", url, _CHECK_S)
        except httpx.HTTPError as error:
            failure = broken(error, began=False)
            raise BackendError(f"{url}: {failure.message}; {failure.hint}") from error
        said = faults.message_of(content)
        if status != 200:
            failure = faults.classify(status, said, secret=self._secret)
            hint = failure.hint or "check --base-url"
            raise BackendError(f"{url}: {failure.message} ({hint})")
        try:
            entries = faults.decoded(content.decode("utf-8-sig"))["data"]
            return [dict(entry) for entry in entries]
        except (ValueError, KeyError, TypeError) as error:
            found = faults.shorten(faults.redact(said, self._secret))
            raise BackendError(
                f"{url}: expected a list of models, found {found}; is this an OpenAI-compatible server?"
            ) from error

    async def version(self) -> str | None:
        """What `/version` says; None where it is missing."""
        import httpx

        try:
            status, content = await fetch(self._client, "GET", f"{self._root}/version", _CHECK_S)
            version = faults.decoded(content.decode("utf-8-sig")).get("version") if status == 200 else None
        except (httpx.HTTPError, ValueError, AttributeError):
            return None
        return str(version) if version is not None else None

    async def health(self) -> JsonDict | None:
        """What `/health` says of the server in JSON; None for anything else."""
        import httpx

        try:
            status, content = await fetch(self._client, "GET", f"{self._root}/health", _ALIVE_S)
            found = faults.decoded(content.decode("utf-8", "replace")) if status == 200 else None
        except (httpx.HTTPError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    async def healthy(self) -> bool:
        """Whether the server says that it is well, as far as it can; a missing `/health` says nothing."""
        import httpx

        try:
            status, _ = await fetch(self._client, "GET", f"{self._root}/health", _ALIVE_S)
        except httpx.HTTPError:
            return False
        return status < 500

    async def beside(self, path: str, body: Body) -> JsonDict | None:
        """The JSON object that a path beside the API's root answers to a post, or None for anything else."""
        import httpx

        url = f"{self._root}/{path}"
        headers = {"Content-Type": "application/json", "Content-Length": str(body.length)}
        try:
            status, content = await fetch(
                self._client, "POST", url, _CHECK_S, content=body.stream(), headers=headers
            )
            found = faults.decoded(content.decode("utf-8-sig")) if status == 200 else None
        except (httpx.HTTPError, ValueError):
            return None
        return found if isinstance(found, dict) else None
