"""What a backend's factory is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from omnieval.config import RunConfig
from omnieval.types import Backend, Failure, MediaPart, MediaUrl, Request


@dataclass(frozen=True)
class BackendContext:
    """What a factory needs beside the configuration, and what must never be stored with it.

    media_url: makes the URL of a media part; None for a backend that declares no `needs_transport`.
    reads_media: media_url reads the file, which takes time; else it is but a name.
    api_key: never written to a file, a log or an error message.
    """

    media_url: MediaUrl | None = None
    api_key: str | None = field(default=None, repr=False)
    reads_media: bool = True


@runtime_checkable
class ShowsTokens(Protocol):
    """A backend that can tell what a request becomes before the model sees it."""

    async def tokens(self, request: Request) -> Sequence[str] | None:
        """The prompt's tokens as text, media expanded; None where the server does not tell."""


@runtime_checkable
class TellsNamedMedia(Protocol):
    """A backend that knows how its media travelled."""

    def media_by_name(self) -> dict[str, int]:
        """Parts so far that were `named` alone, `carried`, and `missed`: carried in the place of a request by
        names of which the server no longer had all."""


@runtime_checkable
class NamesMedia(TellsNamedMedia, Protocol):
    """A backend whose server may keep media by name, so that a later request need not carry them."""

    async def name_media(self, part: MediaPart) -> str | None:
        """Prove with a part of known content that the server does, and name media of its kind from then on.

        Gives None, or why not.
        """


@dataclass(frozen=True, slots=True)
class Need:
    """Something of this machine that a backend cannot run without.

    found: what was seen, in words. fix: how to mend it; None where it is as it must be.
    """

    name: str
    found: str
    fix: str | None = None


@runtime_checkable
class TellsNeeds(Protocol):
    """A backend that can tell what it needs of this machine before anything is started."""

    def needs(self) -> Sequence[Need]:
        """May take seconds, and runs in a thread."""


# Kinds of failure that a server which is gone, or whose engine died, makes of every request.
OF_THE_SERVER = frozenset({"connection", "server", "timeout"})
# Failures met before a request was sent; they say nothing of the server.
OF_THIS_MACHINE = frozenset({"data", "media_missing", "media"})


def may_be_gone(failure: Failure) -> bool:
    """Whether a server that is gone would fail so. A proxy before it says 503."""
    return failure.kind in OF_THE_SERVER or failure.status == 503


@runtime_checkable
class TellsLife(Protocol):
    """A backend whose server may go away and come back while a run goes on."""

    async def alive(self) -> bool:
        """Whether the server really answers now; a sign of health alone is no proof. Takes a minute."""


@runtime_checkable
class GivesUp(Protocol):
    """A backend that starts its model itself, a bounded number of times."""

    @property
    def given_up(self) -> Failure | None:
        """Why it will answer nothing more; None as long as it may."""


def given_up(backend: Backend) -> Failure | None:
    """Why a backend will answer nothing more; None for one that may, or that cannot tell."""
    return backend.given_up if isinstance(backend, GivesUp) else None


BackendFactory = Callable[[RunConfig, BackendContext], Backend]
