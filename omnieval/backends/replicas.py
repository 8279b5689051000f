"""Several servers of one model as one backend: each request goes where it waits least.

Samples of one video stay with one server, whose caches know the video, as long as that server is not much
busier than the others. A server that fails is left alone until it really answers again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from omnieval.backends.base import OF_THE_SERVER, NamesMedia, Need, ShowsTokens, TellsLife, TellsNeeds
from omnieval.errors import BackendError
from omnieval.types import Backend, Capabilities, MediaPart, Request, Response, ServerFacts

# How many more requests a video's own server may have in flight than the least busy one.
_LOYALTY = 2
_REMEMBERED_CLUSTERS = 10_000
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 15.0


@dataclass
class _Replica:
    url: str
    backend: Backend
    in_flight: int = 0
    there: bool = True
    watch: asyncio.Task[None] | None = field(default=None, repr=False)


class Replicas:
    """Follows `omnieval.types.Backend`, `TellsLife`, `ShowsTokens`, `NamesMedia` and `TellsNeeds`.

    servers: (base URL, or device, and the backend of that server), at least one.
    """

    def __init__(self, servers: Sequence[tuple[str, Backend]]) -> None:
        self._replicas = [_Replica(url, backend) for url, backend in servers]
        self._homes: OrderedDict[str, _Replica] = OrderedDict()

    @property
    def capabilities(self) -> Capabilities:
        """Those of the first, with room for as many requests as all of them take together."""
        one = self._replicas[0].backend.capabilities
        bound = one.max_concurrency
        return replace(one, max_concurrency=bound and bound * len(self._replicas))

    def needs(self) -> list[Need]:
        """See `TellsNeeds`: of the first, since they are alike."""
        backend = self._replicas[0].backend
        return list(backend.needs()) if isinstance(backend, TellsNeeds) else []

    async def check(self) -> ServerFacts:
        """Raises BackendError when a server is not there, or serves something else than the first."""
        facts = await asyncio.gather(*(replica.backend.check() for replica in self._replicas))
        first = facts[0]
        for replica, other in zip(self._replicas[1:], facts[1:], strict=True):
            for name in ("model", "max_model_len", "version"):
                here, there = getattr(first, name), getattr(other, name)
                if here != there:
                    raise BackendError(
                        f"{replica.url} has {name} {there!r}, but {self._replicas[0].url} {here!r}; replicas "
                        "must be one deployment"
                    )
        urls = [replica.url for replica in self._replicas]
        return replace(first, details={**first.details, "replicas": urls})

    async def generate(self, request: Request) -> Response:
        replica = self._chosen(request.cluster)
        replica.in_flight += 1
        try:
            response = await replica.backend.generate(request)
        finally:
            replica.in_flight -= 1
        if response.error is not None and response.error.kind in OF_THE_SERVER:
            self._suspect(replica)
        return replace(response, server=replica.url)

    async def alive(self) -> bool:
        """Whether any server answers."""
        there = await asyncio.gather(*(self._is_alive(replica) for replica in self._replicas))
        return any(there)

    async def tokens(self, request: Request) -> Sequence[str] | None:
        """See `ShowsTokens`, by the first server."""
        backend = self._replicas[0].backend
        return await backend.tokens(request) if isinstance(backend, ShowsTokens) else None

    async def name_media(self, part: MediaPart) -> str | None:
        """See `NamesMedia`: each server that can do it does; why not, where none can."""
        reasons = [
            await replica.backend.name_media(part)
            for replica in self._replicas
            if isinstance(replica.backend, NamesMedia)
        ]
        return None if None in reasons else next(iter(reasons), "its backend cannot")

    def media_by_name(self) -> dict[str, int]:
        """See `NamesMedia`: the sums over all servers."""
        counts: Counter[str] = Counter()
        for replica in self._replicas:
            if isinstance(replica.backend, NamesMedia):
                counts.update(replica.backend.media_by_name())
        return dict(counts)

    async def close(self) -> None:
        watches = [replica.watch for replica in self._replicas if replica.watch is not None]
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        await asyncio.gather(*(replica.backend.close() for replica in self._replicas))

    def _chosen(self, cluster: str) -> _Replica:
        usable = [replica for replica in self._replicas if replica.there] or self._replicas
        least = min(usable, key=lambda replica: replica.in_flight)
        home = self._homes.get(cluster)
        bound = home.backend.capabilities.max_concurrency if home else None
        loyalty = _LOYALTY if bound is None else 0  # one that would make it wait has no use for its memory
        if home is None or home not in usable or home.in_flight > least.in_flight + loyalty:
            home = least
        if cluster:
            self._homes[cluster] = home
            self._homes.move_to_end(cluster)
            if len(self._homes) > _REMEMBERED_CLUSTERS:
                self._homes.popitem(last=False)
        return home

    def _suspect(self, replica: _Replica) -> None:
        """Send nothing more to a server until it has answered."""
        replica.there = False
        if replica.watch is None or replica.watch.done():
            replica.watch = asyncio.create_task(self._until_back(replica))

    async def _until_back(self, replica: _Replica) -> None:
        pause_s = _FIRST_PAUSE_S
        while not await self._is_alive(replica):
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _is_alive(self, replica: _Replica) -> bool:
        backend = replica.backend
        alive = False
        with contextlib.suppress(Exception):  # of a third party's backend; it is not there then
            alive = await backend.alive() if isinstance(backend, TellsLife) else True
        replica.there = alive
        return alive
