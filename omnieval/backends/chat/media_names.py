"""Media that a server keeps by name, so that a later request names a part instead of carrying it.

vLLM takes a `uuid` beside the URL of a picture, sound or video and keys its cache of processed media with it;
a part whose URL is null is then taken from that cache. Seen on vLLM 0.32: the counts of tokens and the greedy
answer are those of the part itself, other processor arguments are another entry, and a name that it does not
know, or no longer, is a 400 ("Cache miss for image at index 0 but data is not provided."). Two contents under
one name would give the first one's answer: the name is the content's SHA-256.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from omnieval.types import Failure, MediaPart, Request

# Names that are taken to be there; the server's own cache is bounded in bytes, and says when one is gone.
_MOST_NAMES = 20_000


class MediaNames:
    """What one server holds. No part has a name until its kind is proven with `use`.

    named, carried, missed: parts that went by name alone, with their content, and with their content in the
    place of a request by names of which the server no longer had all.
    """

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self._held: OrderedDict[str, None] = OrderedDict()
        self.named = self.carried = self.missed = 0

    def use(self, kind: str) -> None:
        """From now on, name parts of this kind."""
        self._kinds.add(kind)

    def held(self, request: Request) -> frozenset[str] | None:
        """Those names of a request's parts that the server holds; None where parts have no names."""
        if not self._kinds:
            return None
        return frozenset(name for name in self._names(request) if name in self._held)

    def keep(self, request: Request, held: frozenset[str]) -> None:
        """The server answered a request in which the names of `held` stood alone."""
        for name in self._names(request):
            if name in held:
                self.named += 1
            else:
                self.carried += 1
            self._held[name] = None
            self._held.move_to_end(name)
        while len(self._held) > _MOST_NAMES:
            self._held.popitem(last=False)

    def keep_again(self, request: Request, held: frozenset[str]) -> None:
        """The server refused a request with the names of `held`, and answered it without them."""
        self.missed += sum(name in held for name in self._names(request))
        self.keep(request, frozenset())

    def forget(self) -> None:
        """The server failed: nothing is known of what it holds when it is back."""
        self._held.clear()

    def _names(self, request: Request) -> Iterator[str]:
        """The name of each part of known content and of a proven kind, in order."""
        for message in request.messages:
            for part in message.parts:
                if isinstance(part, MediaPart) and part.kind in self._kinds and part.sha256 is not None:
                    yield part.sha256


def may_miss(failure: Failure | None) -> bool:
    """Whether a refusal may be that of a name which the server does not know."""
    return (
        failure is not None and failure.status is not None and 400 <= failure.status < 500
        and not failure.retryable
    )  # fmt: skip
