"""What is made of the events that the session code of vLLM-Omni 0.30.0 sent; `data/duplex_sessions.json` holds
them, and says what of them is made up."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from omnieval.backends.failed import FailedTry
from omnieval.backends.realtime.answer import DuplexAnswer
from omnieval.backends.realtime.events import event_of
from omnieval.backends.realtime.pace import DuplexInput
from omnieval.config import PcmConfig
from omnieval.media.wav import parse_wav
from omnieval.types import Failure, JsonDict, Response

_FILE = Path(__file__).parent / "data" / "duplex_sessions.json"
SESSIONS: dict[str, list[JsonDict]] = {
    session["name"]: session["connections"] for session in json.loads(_FILE.read_text())["sessions"]
}


class Held:
    """A session after the events of its connections; all of its input was sent before."""

    def __init__(self, name: str, *, but_last: bool = False) -> None:
        heard = DuplexInput(silence_s=0.2)
        self.answer = DuplexAnswer("s", heard, PcmConfig())
        self.answer.begin()
        self.answer.sent(heard.next())
        self.openings: list[JsonDict | None] = []
        for connection in SESSIONS[name]:
            self.openings.append(self.answer.ticket.resume())
            for event in connection["received"][: -1 if but_last else None]:
                self.answer.add(event_of(json.dumps(event)))

    @property
    def response(self) -> Response:
        return self.answer.response(None)


def sound_of(name: str) -> bytes:
    """By the pieces themselves, those that came twice once."""
    events = [event for connection in SESSIONS[name] for event in connection["received"]]
    pieces = {event["event_id"]: event["delta"] for event in events if "audio.delta" in event["type"]}
    return b"".join(base64.b64decode(piece) for piece in pieces.values())


@pytest.mark.parametrize("name", ["spoken", "resumed"])
def test_a_spoken_answer_is_read_whole(name: str) -> None:
    response = Held(name).response
    assert response.finish_reason == "stop"
    assert response.text == "two short words "
    assert response.audio is not None
    pcm = parse_wav(response.audio.wav)
    assert (pcm.format.rate_hz, pcm.frames, pcm.data) == (24_000, 96, sound_of(name))
    assert len(response.audio.chunks) == 2
    assert response.session["decision"] == "speak"
    assert response.session["responses"] == 1


def test_what_the_server_tells_of_itself_is_read() -> None:
    response = Held("spoken").response
    assert {stage: told["stage_gen_time_ms"] for stage, told in response.server_metrics.items()} == {
        "0": 30.0, "2": 40.0,
    }  # fmt: skip
    assert set(response.session["server_times"]) == {"ttft_ms", "ttfp_ms"}
    assert response.timing.tpot_s == 0.004


def test_a_session_is_asked_for_again_as_the_server_accepted_it() -> None:
    held = Held("resumed")
    assert held.openings == [None, SESSIONS["resumed"][1]["sent"]]
    assert held.response.session["resumed"] == 1


def test_all_events_that_came_are_acknowledged_by_the_last_ones_number() -> None:
    ticket = Held("spoken").answer.ticket
    last = SESSIONS["spoken"][0]["received"][-1]["server_event_seq"]
    assert ticket.acknowledgement() == {"type": "session.event_ack", "server_event_seq": last}
    assert ticket.acknowledgement() is None


def test_played_sound_is_acknowledged_by_the_names_that_the_server_knows() -> None:
    answer, played = Held("spoken").answer, None
    while played is None:
        played = answer.acknowledgement()
    created = next(e for e in SESSIONS["spoken"][0]["received"] if e["type"] == "response.output_audio.delta")
    assert (played["response_id"], played["item_id"]) == (created["response_id"], created["item_id"])


def test_to_listen_is_a_decision() -> None:
    with pytest.raises(FailedTry, match=r"session\.closed \(\"client_close\"\) before response\.done"):
        Held("listened")  # an end that the client had not asked for would be one of the server
    response = Held("listened", but_last=True).response
    assert (response.finish_reason, response.audio, response.session["decision"]) == (
        "listen",
        None,
        "listen",
    )


@pytest.mark.parametrize(
    ("name", "kind", "retryable", "hint"),
    [("full", "busy", True, "--concurrency"), ("without a voice", "configuration", False, "--ref-audio")],
)
def test_a_refusal_has_its_kind_and_next_step(name: str, kind: str, retryable: bool, hint: str) -> None:
    with pytest.raises(FailedTry) as raised:
        Held(name)
    failure: Failure = raised.value.failure
    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert hint in (failure.hint or "")


def test_nothing_of_it_is_odd() -> None:
    notes: dict[str, Any] = {name: Held(name).response.notes for name in ("spoken", "resumed")}
    assert notes == {"spoken": (), "resumed": ("the connection broke, and the session was resumed",)}
