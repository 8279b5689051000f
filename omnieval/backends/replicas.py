"""Several servers of one model as one backend: each request goes where it waits least.

Samples of one video stay with one server, whose caches know the video, as long as that server is not much
busier than the others. A server that fails is left alone until it really answers again. One that fails what
another server then answers (a wrong flag, a wrong model, a proxy's page) is left alone for longer each time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from omnieval.backends.base import (
    OF_THIS_MACHINE,
    Need,
    TellsLife,
    TellsNamedMedia,
    TellsNeeds,
    given_up,
    may_be_gone,
)
from omnieval.backends.retry import FIRST_PAUSE_S, pauses
from omnieval.errors import BackendError
from omnieval.types import Backend, Capabilities, Failure, Request, Response, ServerFacts

# How many more requests a video's own server may have in flight than the least busy one.
_LOYALTY = 2
_REMEMBERED = 10_000
# A server that fails what others answer is tried again ever more seldom.
_LONGEST_STRIKE_S = 60.0


@dataclass(eq=False)
class _Replica:
    """strikes: how often it failed what another server answered, since its own last answer."""

    url: str
    backend: Backend
    in_flight: int = 0
    there: bool = True
    strikes: int = 0
    watch: asyncio.Task[None] | None = field(default=None, repr=False)


class Replicas:
    """Follows `omnieval.types.Backend`, `TellsLife`, `GivesUp`, `TellsNamedMedia` and `TellsNeeds`.

    servers: (base URL, or device, and the backend of that server), at least one.
    """

    def __init__(self, servers: Sequence[tuple[str, Backend]]) -> None:
        self._replicas = [_Replica(url, backend) for url, backend in servers]
        self._homes: OrderedDict[str, _Replica] = OrderedDict()
        self._failed: OrderedDict[str, list[_Replica]] = OrderedDict()  # by sample

    @property
    def servers(self) -> list[tuple[str, Backend]]:
        """Each with its URL, or device."""
        return [(replica.url, replica.backend) for replica in self._replicas]

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
        """As the chosen server answers. A refusal is final only where a second server refuses too."""
        failed = self._failed.get(request.sample_id, [])
        replica = self._chosen(request.cluster, failed)
        replica.in_flight += 1
        try:
            response = await replica.backend.generate(request)
        finally:
            replica.in_flight -= 1
        response = replace(response, server=replica.url)
        if response.error is None:
            self._answered(replica, request.sample_id)
        elif response.error.kind not in OF_THIS_MACHINE:
            return replace(response, error=self._judged(replica, request.sample_id, response.error))
        return response

    def _answered(self, replica: _Replica, sample_id: str) -> None:
        """Those that failed a sample which another server answers are at fault, and not the sample."""
        replica.strikes = 0
        for other in self._failed.pop(sample_id, []):
            if other is not replica and other.there:
                other.strikes += 1
                self._leave_alone(other, min(FIRST_PAUSE_S * 2**other.strikes, _LONGEST_STRIKE_S))

    def _judged(self, replica: _Replica, sample_id: str, error: Failure) -> Failure:
        """The failure, to be tried again as long as only one server says it."""
        failed = self._failed.setdefault(sample_id, [])
        if replica not in failed:
            failed.append(replica)
        if may_be_gone(error):
            self._leave_alone(replica)
        if not error.retryable:
            if len(failed) == 1 and any(other.there for other in self._replicas if other is not replica):
                return replace(error, retryable=True, retry_after_s=0.0)
            del self._failed[sample_id]
        if len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)
        return error

    async def alive(self) -> bool:
        """Whether any server answers."""
        there = await asyncio.gather(*(_is_alive(replica) for replica in self._replicas))
        for replica, is_there in zip(self._replicas, there, strict=True):
            if not is_there:
                self._leave_alone(replica)
            elif not replica.strikes:
                replica.there = True
        return any(there)

    @property
    def given_up(self) -> Failure | None:
        """See `GivesUp`: of the last one, where all have."""
        reasons = [given_up(replica.backend) for replica in self._replicas]
        return reasons[-1] if all(reasons) else None

    def media_by_name(self) -> dict[str, int]:
        """See `TellsNamedMedia`: the sums over all servers."""
        counts: Counter[str] = Counter()
        for replica in self._replicas:
            if isinstance(replica.backend, TellsNamedMedia):
                counts.update(replica.backend.media_by_name())
        return dict(counts)

    async def close(self) -> None:
        watches = [replica.watch for replica in self._replicas if replica.watch is not None]
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        await asyncio.gather(*(replica.backend.close() for replica in self._replicas))

    def _chosen(self, cluster: str, failed: Sequence[_Replica]) -> _Replica:
        """failed: servers that have failed this very request, chosen only where there is no other."""
        there = [replica for replica in self._replicas if replica.there] or self._replicas
        usable = [replica for replica in there if replica not in failed] or there
        least = min(usable, key=lambda replica: replica.in_flight)
        home = self._homes.get(cluster)
        bound = home.backend.capabilities.max_concurrency if home else None
        loyalty = _LOYALTY if bound is None else 0  # one that would make it wait has no use for its memory
        if home is None or home not in usable or home.in_flight > least.in_flight + loyalty:
            home = least
        if cluster and not failed:
            self._homes[cluster] = home
            self._homes.move_to_end(cluster)
            if len(self._homes) > _REMEMBERED:
                self._homes.popitem(last=False)
        return home

    def _leave_alone(self, replica: _Replica, pause_s: float = 0.0) -> None:
        """Send nothing more to a server for so long, and until it has answered."""
        replica.there = False
        if replica.watch is None or replica.watch.done():
            replica.watch = asyncio.create_task(_until_back(replica, pause_s))


async def _until_back(replica: _Replica, pause_s: float) -> None:
    await asyncio.sleep(pause_s)
    for pause_s in pauses():
        if given_up(replica.backend) is not None:
            return
        if await _is_alive(replica):
            break
        await asyncio.sleep(pause_s)
    replica.there = True


async def _is_alive(replica: _Replica) -> bool:
    backend = replica.backend
    with contextlib.suppress(Exception):  # of a third party's backend; it is not there then
        return await backend.alive() if isinstance(backend, TellsLife) else True
    return False
