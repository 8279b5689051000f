"""llama.cpp-omni's server, as a stand-in: sessions in order, sounds taken when whole, and every fault at every step."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.registry import BACKENDS
from omnieval.errors import BackendError, ConfigError
from omnieval.types import Backend, Generation, Message, Request, SpeechTask, TextPart
from tests.faults.test_llamacpp_cli import SMALL, picture, play, question, sound
from tests.standins.llamacpp_server import METRICS, LlamaCppServerStandIn


def backend(server: LlamaCppServerStandIn, recipe: str = "daily-omni", **more: Any) -> Backend:
    settings = {"backend": "llamacpp-omni", "llamacpp.transport": "http", "base_url": server.base_url, **more}
    config = api.configure(recipe, list(settings.items()), sample=True)
    made: Backend = BACKENDS.load("llamacpp-omni")(config, BackendContext(lambda part: str(part.path)))
    return made


def spoken(name: str, folder: Path) -> Request:
    task = SpeechTask("Say this.", "en", reference_audio=sound(folder))
    message = Message("user", (TextPart("Say this."),))
    return Request(name, (message,), Generation(), modalities=("text", "audio"), speech=task)


def test_a_session_has_all_parts_in_order_and_keeps_the_stage_times(tmp_path: Path) -> None:
    async def work(made: Backend) -> None:
        await made.check()
        long = sound(tmp_path, 1, letters=700)
        parts = (long, TextPart("between"), picture(tmp_path))
        system = Message("system", (TextPart("Be brief."),))
        asked = question("a", *parts, extra_body={"mm_processor_kwargs": {"max_slice_nums": 1}})
        response = await made.generate(
            Request("a", (system, *asked.messages), Generation(), extra_body=asked.extra_body)
        )
        assert response.error is None, response.error
        assert (response.text, response.finish_reason) == ("B is right", "stop")
        assert response.server_metrics == {k: v for k, v in METRICS.items() if k != "event"}
        assert response.timing.ttft_s is not None and response.timing.e2e_s is not None
        assert "29.9 s" in response.notes[0]

    with LlamaCppServerStandIn() as server:
        play(backend(server), work)
    paths = [path for path, _ in server.said][1:]
    assert paths == ["omni_init", *["prefill"] * 7, "decode"]
    init, *prefills, _ = [body for _, body in server.said][1:]
    assert (init["media_type"], init["use_tts"], init["duplex_mode"]) == (2, False, False)
    assert [body["cnt"] for body in prefills] == list(range(7))
    assert [body["text"] for body in prefills] == ["Be brief.", "", "\n", "between", "", "\n", "Which?"]
    assert prefills[1]["audio_path_prefix"].endswith(".wav")
    assert prefills[4]["img_path_prefix"].endswith("frame0.jpg")
    assert prefills[4]["max_slice_nums"] == 1


@pytest.mark.parametrize("marks_end", [True, False])
def test_sounds_are_taken_when_they_are_whole_and_joined_in_their_order(
    marks_end: bool, tmp_path: Path
) -> None:
    async def work(made: Backend) -> None:
        response = await made.generate(spoken("a", tmp_path))
        assert response.error is None, response.error
        assert response.audio is not None
        assert (response.audio.rate_hz, response.audio.frames) == (24000, 1200 * 30)
        assert [round(length_s, 2) for _, length_s in response.audio.chunks] == [0.5, 1.0]
        assert 0 < (response.timing.ttfp_s or 0) < (response.timing.rtf or 0) * 1.5
        assert not list(tmp_path.glob("omnieval-*")), "what was taken is removed"

    with LlamaCppServerStandIn(marks_end=marks_end) as server:
        play(backend(server, "seed-tts-en", **{"llamacpp.output_dir": str(tmp_path)}), work)
    assert server.said[0][1]["voice_audio"] == str(tmp_path / "sound0.wav")
    assert server.said[0][1]["use_tts"] is True


FAULTS = {
    ("omni_init", "reset"): ("connection", True),
    ("omni_init", "hang"): ("timeout", True),
    ("omni_init", "garbage"): ("protocol", False),
    ("omni_init", "error"): ("server", True),
    ("omni_init", "no success"): ("server", True),
    ("prefill", "reset"): ("connection", True),
    ("prefill", "hang"): ("timeout", True),
    ("prefill", "garbage"): ("protocol", False),
    ("prefill", "error"): ("server", True),
    ("prefill", "no success"): ("server", True),
    ("decode", "reset"): ("connection", True),
    ("decode", "hang"): ("timeout", True),
    ("decode", "garbage"): ("server", True),
    ("decode", "error"): ("server", True),
    ("decode", "die"): ("server", True),
    ("decode", "hang midway"): ("timeout", True),
    ("decode", "noise"): ("protocol", True),
    ("decode", "error midway"): ("server", True),
    ("decode", "no end"): ("server", True),
}


@pytest.mark.parametrize(("path", "fault"), FAULTS)
def test_a_fault_costs_one_try_and_the_next_session_is_clean(path: str, fault: str, tmp_path: Path) -> None:
    async def work(made: Backend) -> None:
        await made.check()
        server.faults[path].append(fault)
        failed = (await made.generate(question("a", picture(tmp_path)))).error
        assert failed is not None
        assert (failed.kind, failed.retryable) == FAULTS[path, fault], failed
        assert failed.message
        again = await made.generate(question("a", picture(tmp_path)))
        assert again.text == "B is right", again.error

    limits = {"timeouts.first_token_s": 1.0, "timeouts.between_chunks_s": 1.0}
    with LlamaCppServerStandIn() as server:
        play(backend(server, **limits), work)


def test_a_file_that_is_no_sound_is_a_failure(tmp_path: Path) -> None:
    async def work(made: Backend) -> None:
        server.faults["decode"].append("garbage sound")
        failed = (await made.generate(spoken("a", tmp_path))).error
        assert failed is not None and failed.kind == "audio" and ".wav: not a WAV" in failed.message
        assert (await made.generate(spoken("a", tmp_path))).audio is not None

    with LlamaCppServerStandIn() as server:
        play(backend(server, "seed-tts-en"), work)


def test_a_sound_that_is_never_whole_is_a_failure_and_none_at_all_is_no_sound(tmp_path: Path) -> None:
    async def work(made: Backend) -> None:
        server.faults["decode"].extend(["cut sound", "silent", "listen"])
        failed = (await made.generate(spoken("a", tmp_path))).error
        assert failed is not None and failed.kind == "server" and "unfinished" in failed.message
        silent = await made.generate(spoken("b", tmp_path))
        assert silent.error is None and silent.audio is None
        listens = await made.generate(question("c"))
        assert listens.text == "" and "listen on" in listens.notes[0]

    with LlamaCppServerStandIn() as server:
        play(backend(server, "seed-tts-en"), work)


def test_requests_that_come_together_are_sessions_one_after_the_other(tmp_path: Path) -> None:
    async def work(made: Backend) -> None:
        assert made.capabilities.max_concurrency == 1
        responses = await asyncio.gather(
            *(made.generate(question(f"q{i}", picture(tmp_path))) for i in range(4))
        )
        assert all(response.answered for response in responses)

    with LlamaCppServerStandIn() as server:
        play(backend(server), work)


def test_another_server_and_one_that_is_not_there_are_told_apart() -> None:
    async def refused(made: Backend) -> None:
        with pytest.raises(BackendError, match="expected the engine comni"):
            await made.check()

    async def gone(made: Backend) -> None:
        with pytest.raises(BackendError, match="is the server up"):
            await made.check()

    with LlamaCppServerStandIn(engine="llama") as server:
        play(backend(server), refused)
    play(backend(server), gone)


def test_a_server_elsewhere_needs_a_folder_that_both_see() -> None:
    with LlamaCppServerStandIn() as server, pytest.raises(ConfigError, match=r"llamacpp\.output_dir"):
        backend(server, "seed-tts-en", base_url="http://192.0.2.1:9060")


def test_a_run_over_http_survives_faults(tmp_path: Path) -> None:
    with LlamaCppServerStandIn() as server:
        server.faults["decode"].extend(["", "die", "", "error midway"])
        server.faults["prefill"].extend([*[""] * 7, "vanish"])
        run = api.run(
            "daily-omni", sample=True, limit=5, out=tmp_path / "run", cache_dir=str(tmp_path / "cache"),
            backend="llamacpp-omni", base_url=server.base_url, llamacpp={"transport": "http"},
            retry={"first_wait_s": 0.05}, **SMALL,
        )  # fmt: skip
    last = run.last_responses().values()
    assert [response.text for response in last] == ["B is right"] * 5
    assert server.vanished == 1
