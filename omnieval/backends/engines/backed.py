"""What backends have in common whose answers come from one engine that they start themselves."""

from __future__ import annotations

from omnieval.backends.engines.engine import Engine, Launch
from omnieval.types import Failure


class EngineBacked:
    """Follows `TellsLife` and `GivesUp`, and has the end of a `Backend`."""

    def __init__(self, launch: Launch) -> None:
        self._engine = Engine(launch)

    async def alive(self) -> bool:
        """See `TellsLife`: it is running, or can be started anew."""
        return await self._engine.alive()

    @property
    def given_up(self) -> Failure | None:
        """See `GivesUp`."""
        return self._engine.given_up

    async def close(self) -> None:
        await self._engine.close()
