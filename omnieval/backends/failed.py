"""A failed try, on its way to the Response."""

from __future__ import annotations

from omnieval.types import Failure


class FailedTry(Exception):  # noqa: N818 - not an error of the program but the end of one try
    """Raised inside a backend alone, which turns it into a Response."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
