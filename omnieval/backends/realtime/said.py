"""The words of a full-duplex session, of which a server may send two streams."""

from __future__ import annotations

from omnieval.backends.failed import FailedTry
from omnieval.backends.realtime.events import TRANSCRIPT
from omnieval.backends.token_times import TokenTimes
from omnieval.parsing import well_formed
from omnieval.types import Failure

_MOST_TEXT = 2**20  # characters; nobody speaks as many in one session


class Said:
    """What the sound says (`transcript`), and what the model writes (`text`): the same words, as a rule. The
    transcript counts where there is one, so that no word counts twice."""

    def __init__(self) -> None:
        self._transcript: list[str] = []
        self._text: list[str] = []
        self._transcript_times, self._text_times = TokenTimes(), TokenTimes()
        self._size = 0

    def add(self, kind: str, delta: str, at_s: float) -> None:
        """A delta that came. Raises FailedTry where they do not come to an end."""
        self._size += len(delta)
        if self._size > _MOST_TEXT:
            message = f"the text of one session is longer than {_MOST_TEXT} characters"
            hint = "the model does not come to an end; look at the server's log"
            raise FailedTry(Failure("protocol", message, hint=hint))
        of_sound = kind in TRANSCRIPT
        (self._transcript if of_sound else self._text).append(delta)
        (self._transcript_times if of_sound else self._text_times).take(at_s, 1, is_text=True)

    @property
    def text(self) -> str:
        return well_formed("".join(self._transcript or self._text))

    @property
    def times(self) -> TokenTimes:
        """Of the words that count."""
        return self._transcript_times if self._transcript else self._text_times

    @property
    def first_s(self) -> float | None:
        """When the first word came, of either stream."""
        known = [self._transcript_times.first_text_s, self._text_times.first_text_s]
        return min((at_s for at_s in known if at_s is not None), default=None)
