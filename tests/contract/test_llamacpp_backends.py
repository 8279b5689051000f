"""The three ways to ask llama.cpp-omni keep what the engine relies on: see `omnieval.types.Backend`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from omnieval import api
from omnieval.errors import ConfigError
from omnieval.types import (
    FAILURE_KINDS,
    Backend,
    Capabilities,
    Generation,
    MediaPart,
    Message,
    Request,
    ServerFacts,
    SpeechTask,
    TextPart,
)
from tests.faults.test_llamacpp_cli import Machine, picture, play, sound
from tests.faults.test_llamacpp_http import backend as over_http
from tests.standins.llamacpp_server import LlamaCppServerStandIn

Make = Callable[[Path], Backend]


@pytest.fixture(params=["cli", "manifest", "http"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    def by_manifest(folder: Path) -> Backend:
        bundles = folder / "bundles"
        (bundles / "sound0").mkdir(parents=True)
        machine = Machine(folder, "llama-omni-tts-eval")
        return machine.backend("seed-tts-zh", **{"llamacpp.prompt_bundles": str(bundles)})

    if request.param == "http":
        with LlamaCppServerStandIn() as server:
            yield lambda folder: over_http(server, "seed-tts-zh")
    else:
        yield by_manifest if request.param == "manifest" else lambda folder: Machine(folder).backend()


def asked(folder: Path) -> Request:
    """A request with everything in it, so that each way can take what it needs."""
    task = SpeechTask("说一句。", "zh", reference_audio=sound(folder))
    parts = (picture(folder), sound(folder), TextPart("Which?\t一\n\x00\u2028"))
    return Request("视频/1 ", (Message("user", parts),), Generation(), speech=task)


def test_a_backend_says_what_it_is_answers_by_id_and_ends_twice(make: Make, tmp_path: Path) -> None:
    async def work(backend: Backend) -> None:
        assert isinstance(backend.capabilities, Capabilities)
        facts = await backend.check()
        assert isinstance(facts, ServerFacts) and facts.backend == "llamacpp-omni" and facts.model
        request = asked(tmp_path)
        response = await backend.generate(request)
        assert response.error is None, response.error
        assert response.sample_id == request.sample_id
        assert response.text or response.audio
        assert response.timing.started is not None
        await backend.close()

    play(make(tmp_path), work)


def test_what_cannot_be_asked_is_a_failure_and_never_raised(make: Make, tmp_path: Path) -> None:
    async def work(backend: Backend) -> None:
        await backend.check()
        whole = asked(tmp_path)
        lost = MediaPart("audio", tmp_path / "lost.wav", "audio/wav")
        video = MediaPart("video", tmp_path / "v.mp4", "video/mp4")
        for parts in ((picture(tmp_path), lost), (video,)):
            request = replace(whole, messages=(Message("user", parts),), speech=None)
            failure = (await backend.generate(request)).error
            assert failure is not None
            assert failure.kind in FAILURE_KINDS and failure.message and not failure.retryable
        assert (await backend.generate(whole)).error is None, "nothing of it is left behind"

    play(make(tmp_path), work)


def test_an_address_for_programs_is_refused(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with pytest.raises(ConfigError, match=r"llamacpp\.transport=http"):
        machine.backend(base_url="http://127.0.0.1:9060")
    with pytest.raises(ConfigError, match="--model"):
        machine.backend(model=None)
    assert api.configure("daily-omni", [("llamacpp.max_sound_s", None)]).llamacpp.max_sound_s is None
