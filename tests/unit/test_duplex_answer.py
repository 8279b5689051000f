"""What a full-duplex client makes of the events of a session, without a connection."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from omnieval.backends.failed import FailedTry
from omnieval.backends.realtime import clock as clock_module
from omnieval.backends.realtime.answer import DuplexAnswer
from omnieval.backends.realtime.pace import PIECE_BYTES, DuplexInput
from omnieval.backends.realtime.recent import RecentEvents
from omnieval.config import PcmConfig
from omnieval.duplex.record import _shown
from omnieval.media.wav import parse_wav
from omnieval.types import JsonDict, Response


class Session:
    """An answer whose clock is set by hand, after `session.created`. pieces: of 200 ms of sound that go up
    first; silence follows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pieces: int = 0) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(clock_module.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(clock_module.time, "time", lambda: self.now_s + 1e9)
        self.heard = DuplexInput(b"\1\0" * (pieces * PIECE_BYTES // 2))
        self.answer = DuplexAnswer("s0", self.heard, PcmConfig(rate_hz=None))
        self.answer.begin()
        self.add(0.0, "session.created", session={"id": "mine"})

    def at(self, at_s: float) -> None:
        """So many seconds after the session was asked for."""
        self.now_s = 100.0 + at_s

    def send(self, at_s: float) -> None:
        self.at(at_s)
        self.answer.sent(self.heard.next())

    def add(self, at_s: float, kind: str, **fields: Any) -> None:
        self.at(at_s)
        self.answer.add({"type": kind, **fields})

    def sound(self, at_s: float, ms: int, length_ms: float | None = None, **fields: Any) -> None:
        delta = base64.b64encode(b"\1\0" * (24 * ms)).decode()
        counted = {} if length_ms is None else {"metadata": {"audio_duration_ms": length_ms}}
        self.add(at_s, "response.audio.delta", delta=delta, **counted, **fields)

    def acknowledged(self, at_s: float) -> JsonDict | None:
        self.at(at_s)
        return self.answer.acknowledgement()

    def end(self) -> Response:
        return self.answer.response(None)


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Session:
    """It hears silence from 0.5 s on."""
    session = Session(monkeypatch)
    session.send(0.5)
    return session


def test_all_times_count_from_the_first_silence(quiet: Session) -> None:
    quiet.send(0.7)
    quiet.add(0.9, "response.audio_transcript.delta", delta="one ")
    quiet.sound(1.1, 400)
    quiet.add(1.2, "response.audio_transcript.delta", delta="two")
    quiet.sound(1.5, 600)
    quiet.add(1.8, "response.done")
    timing = quiet.end().timing
    assert (timing.ttft_s, timing.ttfp_s, timing.e2e_s) == (0.4, 0.6, 1.3)
    assert timing.rtf == 1.0
    assert (timing.itl_s, timing.tpot_s) == ((), None)  # its deltas are no tokens
    assert timing.started == 1e9 + 100.5


def test_the_sound_of_the_input_is_no_time_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch, pieces=2)
    for at_s in (0.5, 0.7, 0.9):
        session.send(at_s)
    session.sound(1.4, 1000)
    session.add(1.5, "response.done")
    assert (session.end().timing.ttfp_s, session.end().timing.rtf) == (0.5, 0.5)


def test_words_that_come_in_two_streams_count_once(quiet: Session) -> None:
    for at_s, word in ((1.0, "one "), (1.5, "two ")):
        quiet.add(at_s - 0.1, "response.output_text.delta", delta=word)
        quiet.add(at_s, "response.output_audio_transcript.delta", delta=word)
    quiet.add(2.0, "response.done")
    answer = quiet.end()
    assert answer.text == "one two "
    assert answer.timing.ttft_s == 0.4


@pytest.mark.parametrize("kind", ["response.text.delta", "response.output_text.delta"])
def test_text_alone_is_text_in_both_spellings(quiet: Session, kind: str) -> None:
    quiet.add(1.0, kind, delta="yes")
    quiet.add(1.1, "response.done")
    assert quiet.end().text == "yes"


def test_a_response_is_acknowledged_until_all_of_it_has_been_played(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(monkeypatch, pieces=20)
    session.send(0.0)
    session.sound(1.0, 600, response_id="r1", item_id="i1")
    session.add(1.1, "response.done")
    session.sound(1.2, 400, response_id="r2", item_id="i2")
    session.add(1.3, "response.done")
    told = [session.acknowledged(at_s) for at_s in (1.0, 1.25, 1.25, 1.8, 1.8, 3.0, 3.0)]
    assert [ack and (ack["response_id"], ack["item_id"], ack["played_ms"]) for ack in told] == [
        None, ("r1", "i1", 250), None, ("r1", "i1", 600), ("r2", "i2", 200), ("r2", "i2", 400), None,
    ]  # fmt: skip
    assert all(ack is None or ack["committed_ms"] == ack["played_ms"] for ack in told)


def test_gaps_in_the_sound_of_a_response_are_stalls_and_pauses_between_two_are_none(quiet: Session) -> None:
    quiet.sound(1.0, 200)
    quiet.sound(1.5, 200)
    assert quiet.end().session["stalls"] == [[1200, 300]]


def test_a_count_of_each_response_and_one_of_the_session_are_both_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for lengths, lost in (((300, 100, 200), False), ((300, 400, 500), False), ((300, 400, 600), True)):
        session = Session(monkeypatch, pieces=20)
        session.send(0.0)
        session.sound(1.0, 300, lengths[0])
        session.add(1.1, "response.done")
        session.sound(2.0, 100, lengths[1])
        session.sound(2.1, 100, lengths[2])
        if lost:
            with pytest.raises(FailedTry, match=r"100 ms of the sound never came"):
                session.add(2.2, "response.done")
        else:
            session.add(2.2, "response.done")
            assert session.end().notes == ()


def test_more_sound_than_the_server_counts_is_noted(quiet: Session) -> None:
    quiet.sound(1.0, 400, 200)
    quiet.add(1.1, "response.done")
    assert any("counts 200 ms of sound, but 400 ms came" in note for note in quiet.end().notes)


def test_an_event_that_comes_again_is_taken_once_but_not_another_with_its_id(quiet: Session) -> None:
    for delta in ("one ", "one ", "two"):
        quiet.add(1.0, "response.text.delta", delta=delta, event_id="e")
    quiet.add(1.1, "response.done", event_id="e")
    answer = quiet.end()
    assert (answer.text, quiet.answer.finished) == ("one two", True)
    assert any("twice" in note for note in answer.notes)


def test_no_more_events_are_remembered_than_a_server_says_again() -> None:
    recent = RecentEvents()
    events = [{"type": "x", "event_id": f"e{number}"} for number in range(10_001)]
    assert not any(recent.again(event) for event in events)
    assert all(recent.again(event) for event in events[1:])
    assert not recent.again(events[0])


def test_another_session_in_the_place_of_the_first_is_no_answer(quiet: Session) -> None:
    quiet.add(1.0, "session.resumed", session={"id": "mine"})
    with pytest.raises(FailedTry, match=r"the session mine became other"):
        quiet.add(1.1, "session.created", session={"id": "other"})


def test_what_the_server_tells_of_its_own_work_is_kept(quiet: Session) -> None:
    first = {"stage_metrics": {"0": {"stage_gen_time_ms": 5}}, "response_request_metrics": {"ttft_ms": 70.0}}
    created = {
        "metadata": {"duplex_event": {"response_request_metrics": {"ttfp_ms": 90.0, "source": "clock"}}}
    }
    quiet.add(0.9, "response.created", response=created)
    quiet.add(1.0, "response.speak", metadata={"vllm_omni": first})
    done = {"vllm_omni": {"stage_metrics": {"0": {"stage_gen_time_ms": 6}, "1": {"stage_gen_time_ms": 7}}}}
    quiet.add(1.1, "response.done", response={"metadata": done})
    answer = quiet.end()
    assert answer.server_metrics == {"0": {"stage_gen_time_ms": 6}, "1": {"stage_gen_time_ms": 7}}
    assert answer.session["server_times"] == {"ttft_ms": 70.0, "ttfp_ms": 90.0}


def test_a_server_that_is_behind_may_still_decide_to_speak(quiet: Session) -> None:
    quiet.add(30.0, "response.listen")
    ends = [30.5, 32.9, 35.9]  # 3 s without a decision are the end
    for at_s in ends[:2]:
        quiet.at(at_s)
        quiet.answer.end_of_input()
        assert not quiet.answer.finished
    quiet.add(33.0, "response.listen")
    quiet.at(ends[2])
    quiet.answer.end_of_input()
    assert not quiet.answer.finished
    quiet.sound(36.5, 200)
    quiet.add(36.6, "response.done")
    assert quiet.answer.finished
    assert quiet.end().finish_reason == "stop"


def test_a_model_that_goes_on_listening_has_decided(quiet: Session) -> None:
    quiet.add(30.0, "response.listen")
    for at_s in (30.5, 33.6):
        quiet.at(at_s)
        quiet.answer.end_of_input()
    assert quiet.answer.finished
    assert quiet.end().finish_reason == "listen"


def test_sound_behind_the_end_of_the_answer_is_left_out(quiet: Session) -> None:
    quiet.sound(1.0, 200)
    quiet.add(1.1, "response.done")
    quiet.sound(1.2, 200)
    quiet.add(1.3, "response.done")
    answer = quiet.end()
    assert answer.audio is not None
    assert parse_wav(answer.audio.wav).duration_s == 0.2
    assert answer.session["responses"] == 1


def test_an_answer_without_sound_and_decision_is_told_as_such(quiet: Session) -> None:
    quiet.add(1.0, "response.done", response={"status": "completed"})
    answer = quiet.end()
    assert (answer.error, answer.audio, answer.finish_reason) == (None, None, "stop")
    assert answer.session["decision"] is None


def test_sound_is_left_out_of_the_events_wherever_it_stands() -> None:
    sound = "A" * 1000
    content = [{"type": "output_audio", "audio": sound}, {"text": "B" * 1000}]
    shown = _shown({"type": "response.done", "response": {"output": [{"content": content}]}, "delta": sound})
    assert shown == {
        "type": "response.done",
        "response": {
            "output": [
                {
                    "content": [
                        {"type": "output_audio", "audio": "1000 characters of sound"},
                        {"text": "B" * 1000},
                    ]
                }
            ]
        },
        "delta": "1000 characters of sound",
    }


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ((0,), "a rate of 0 Hz"),
        ((-24_000,), "a rate of -24000 Hz"),
        ((10**9,), "a rate of 1000000000 Hz"),
        ((24_000, 16_000), "changes on the way from 24000 Hz"),
    ],
)
def test_a_rate_that_no_sound_has_or_that_changes_fails_the_try(
    quiet: Session, rates: tuple[int, ...], message: str
) -> None:
    with pytest.raises(FailedTry, match=message):
        for rate_hz in rates:
            quiet.sound(1.0, 200, sample_rate_hz=rate_hz)


def test_the_rate_that_the_server_says_counts(quiet: Session) -> None:
    quiet.sound(1.0, 200, sample_rate_hz="48000")
    quiet.add(1.1, "response.done")
    audio = quiet.end().audio
    assert audio is not None
    assert (audio.rate_hz, audio.frames) == (48_000, 4_800)


@pytest.mark.parametrize("kind", ["session.closed", "session.expired"])
def test_a_session_that_ends_before_its_answer_is_no_answer(quiet: Session, kind: str) -> None:
    quiet.sound(1.0, 200)
    with pytest.raises(FailedTry, match=rf"ended with {kind} before response\.done"):
        quiet.add(1.1, kind)


def test_a_session_may_end_after_its_answer(quiet: Session) -> None:
    quiet.sound(1.0, 200)
    quiet.add(1.1, "response.done")
    quiet.add(1.2, "session.closed")
    assert quiet.end().finish_reason == "stop"


def test_a_response_that_was_listened_to_and_then_spoken_is_spoken(quiet: Session) -> None:
    quiet.add(0.6, "response.listen")
    assert quiet.answer.decision == "listen"
    quiet.add(0.8, "response.speak")
    assert (quiet.answer.decision, quiet.answer.speaking) == ("speak", True)
