"""Seeded random letters: the floor that any model must beat."""

from __future__ import annotations

import hashlib

from omnieval.backends.base import BackendContext
from omnieval.config import RunConfig
from omnieval.types import Capabilities, Failure, Request, Response, ServerFacts


def create(config: RunConfig, context: BackendContext) -> Chance:
    """The backend `chance`; `backend_seed` is its seed."""
    del context
    return Chance(config.backend_seed)


class Chance:
    """Answers with a letter that depends on the seed and the sample's id alone, not on the order."""

    capabilities = Capabilities()

    def __init__(self, seed: int) -> None:
        self._seed = seed

    async def check(self) -> ServerFacts:
        return ServerFacts(backend="chance", model=f"chance-seed-{self._seed}")

    async def generate(self, request: Request) -> Response:
        letters = sorted(request.options)
        if not letters:
            failure = Failure("data", f"sample {request.sample_id}: no options to choose from")
            return Response(request.sample_id, error=failure)
        return Response(
            request.sample_id, text=draw(self._seed, request.sample_id, letters), finish_reason="stop"
        )

    async def close(self) -> None:
        return


def draw(seed: int, sample_id: str, letters: list[str]) -> str:
    """One of the letters, equally likely, fixed by seed and sample id."""
    digest = hashlib.sha256(f"{seed}:{sample_id}".encode()).digest()
    return letters[int.from_bytes(digest, "big") % len(letters)]
