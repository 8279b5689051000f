"""What it takes to go on with a full-duplex session over another connection."""

from __future__ import annotations

from omnieval.types import JsonDict


class Ticket:
    """The session's id, the token that the server gave last, and the number of the last event that came.

    A server keeps its events until they are acknowledged, and says those that did not come again. It gives a
    new token with each connection, and none where a session cannot be resumed.
    """

    def __init__(self) -> None:
        self.session_id: str | None = None
        self._token: str | None = None
        self._number = self._acknowledged = 0

    def take(self, event: JsonDict) -> None:
        """Keep what an event that came tells of this."""
        number, token = event.get("server_event_seq"), event.get("resume_token")
        if isinstance(number, int) and number > self._number:
            self._number = number
        if event.get("type") in ("session.created", "session.resumed"):
            self._token = token if isinstance(token, str) and token else None
        elif event.get("type") == "session.resync_required":  # its memory is full: there is no way back
            self._token = None

    def resume(self) -> JsonDict | None:
        """The event that asks for the session again; None where there is no way back to it."""
        if self.session_id is None or self._token is None:
            return None
        return {
            "type": "session.resume",
            "session_id": self.session_id,
            "resume_token": self._token,
            "last_received_server_event_seq": self._number,
        }

    def acknowledgement(self) -> JsonDict | None:
        """Lets the server forget what has come; None where that is nothing new."""
        if self._number <= self._acknowledged:
            return None
        self._acknowledged = self._number
        return {"type": "session.event_ack", "server_event_seq": self._number}
