"""The words of a full-duplex session, of which a server may send two streams."""

from __future__ import annotations

from omnieval.backends.failed import FailedTry
from omnieval.backends.realtime.events import TRANSCRIPT
from omnieval.parsing import well_formed
from omnieval.types import Failure

_MOST_TEXT = 2**20  # characters; nobody speaks as many in one session


class Said:
    """What the sound says (`transcript`), and what the model writes (`text`): the same words, as a rule. The
    transcript counts where there is one, so that no word counts twice. first_s: when the first word came, of
    either stream. A delta holds the words of about a second, and tells nothing of single tokens."""

    def __init__(self) -> None:
        self._transcript: list[str] = []
        self._text: list[str] = []
        self._size = 0
        self.first_s: float | None = None

    def add(self, kind: str, delta: str, at_s: float) -> None:
        """A delta that came. Raises FailedTry where they do not come to an end."""
        self._size += len(delta)
        if self._size > _MOST_TEXT:
            message = f"the text of one session is longer than {_MOST_TEXT} characters"
            hint = "the model does not come to an end; look at the server's log"
            raise FailedTry(Failure("protocol", message, hint=hint))
        (self._transcript if kind in TRANSCRIPT else self._text).append(delta)
        self.first_s = at_s if self.first_s is None else self.first_s

    @property
    def text(self) -> str:
        return well_formed("".join(self._transcript or self._text))
