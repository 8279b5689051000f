"""llama.cpp-omni's speech program, as a stand-in: many utterances a start, and what each fault costs."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.errors import ConfigError
from omnieval.runlog import Run
from omnieval.samples import sample_dir
from omnieval.types import Backend, Generation, Message, Request, Response, SpeechTask, TextPart
from tests.command import omnieval, start
from tests.faults.test_engine import all_gone
from tests.faults.test_llamacpp_cli import Machine, play, sound, wait_for_question
from tests.standins.llamacpp_programs import journal

NAME = "llama-omni-tts-eval"


def machine(folder: Path, **plan: Any) -> Machine:
    (folder / "bundles" / "sound0").mkdir(parents=True)
    return Machine(folder, NAME, **plan)


def speaker(made: Machine, **more: Any) -> Backend:
    settings = {"decode.temperature": 0.3, "decode.seed": 42, **more}
    return made.backend(
        "seed-tts-zh", **{"llamacpp.prompt_bundles": str(made.folder / "bundles"), **settings}
    )


def utterance(folder: Path, text: str, number: int = 0) -> Request:
    task = SpeechTask(text, "zh", reference_audio=sound(folder, number))
    message = Message("user", (TextPart(text),))
    return Request(text, (message,), Generation(), modalities=("text", "audio"), speech=task)


async def say(backend: Backend, folder: Path, *texts: str) -> list[Response]:
    return await asyncio.gather(*(backend.generate(utterance(folder, text)) for text in texts))


def starts(made: Machine) -> int:
    return sum(entry["what"] == "start" for entry in journal(made.bin))


def test_what_is_asked_together_is_one_start_of_the_program(tmp_path: Path) -> None:
    made = machine(tmp_path)

    async def work(backend: Backend) -> None:
        await backend.check()
        first = await say(backend, tmp_path, "aa", "bbbb")
        assert [response.audio.frames for response in first if response.audio] == [2400, 4800]
        assert all(response.timing.rtf is None for response in first)
        assert (await say(backend, tmp_path, "c"))[0].answered

    play(speaker(made), work)
    assert starts(made) == 2
    arguments = journal(made.bin)[0]["arguments"]
    assert arguments["-m"] == str(made.model.parent) and arguments["--llm"] == str(made.model)
    assert (arguments["--language"], arguments["--seed"], arguments["--temperature"]) == ("zh", "42", "0.3")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("die", "server", "exit code 134"),
        ("be killed", "server", "SIGKILL"),
        ("die amid the file", "server", "exit code 1"),
        ("hang", "timeout", "no sound within 1 s"),
    ],
)
def test_a_fault_costs_the_utterance_at_work_and_the_others_wait_for_the_next_start(
    fault: str, kind: str, words: str, tmp_path: Path
) -> None:
    made = machine(tmp_path, samples={"bb": [fault]})

    async def work(backend: Backend) -> None:
        first, second, third = await say(backend, tmp_path, "a", "bb", "ccc")
        assert first.answered and third.answered
        assert second.error is not None
        assert (second.error.kind, second.error.retryable) == (kind, True)
        assert words in second.error.message
        assert (await say(backend, tmp_path, "bb"))[0].answered

    play(
        speaker(made, **{"timeouts.total_s": 1.0 if fault == "hang" else 20.0, "engine.start_s": 20.0}), work
    )
    assert made.asked() == {"a": 1, "bb": 2, "ccc": 1}
    assert all_gone(made.pids())


def test_an_utterance_without_a_sound_and_one_with_a_broken_one_are_failures_of_their_own(
    tmp_path: Path,
) -> None:
    made = machine(tmp_path, samples={"a": ["pass over"] * 2, "bb": ["garbage"]})

    async def work(backend: Backend) -> None:
        first, second, third = await say(backend, tmp_path, "a", "bb", "ccc")
        assert first.error is not None and (first.error.kind, first.error.retryable) == ("no_audio", True)
        assert second.error is not None and (second.error.kind, second.error.retryable) == ("audio", False)
        assert third.answered
        assert starts(made) == 1
        again = (await say(backend, tmp_path, "a"))[0].error
        assert again is not None and (again.kind, again.retryable) == ("no_audio", False)

    play(speaker(made), work)


def test_an_utterance_that_ends_the_program_twice_is_not_tried_again(tmp_path: Path) -> None:
    made = machine(tmp_path, samples={"a": ["die"] * 5})

    async def work(backend: Backend) -> None:
        for again in (True, False):
            error = (await say(backend, tmp_path, "a"))[0].error
            assert error is not None and error.retryable is again
        assert (await say(backend, tmp_path, "bb"))[0].answered

    play(speaker(made), work)


def test_a_program_that_never_speaks_is_started_a_bounded_number_of_times(tmp_path: Path) -> None:
    made = machine(tmp_path, start=["die"] * 99)

    async def work(backend: Backend) -> None:
        responses = await say(backend, tmp_path, *"abcdef")
        kinds = [response.error.kind for response in responses if response.error]
        assert kinds == ["server"] * 3 + ["connection"] * 3
        assert "3 times in a row" in responses[-1].error.message  # type: ignore[union-attr]

    play(speaker(made, **{"engine.restarts": 2}), work)
    assert starts(made) == 3
    assert all_gone(made.pids())


@pytest.mark.parametrize(
    ("at_start", "kind", "words"),
    [
        ("die", "server", "exit code 134 (its log: CANN error 507018"),
        ("hang", "timeout", "no sound within 1 s"),
        ("half a line", "no_audio", "ended without a sound"),
        ("leave", "no_audio", "ended without a sound"),
    ],
)
def test_a_fault_before_the_first_sound_is_told_and_the_next_start_answers(
    at_start: str, kind: str, words: str, tmp_path: Path
) -> None:
    made = machine(tmp_path, start=[at_start, "noise"])

    async def work(backend: Backend) -> None:
        first = (await say(backend, tmp_path, "a"))[0].error
        assert first is not None and (first.kind, first.retryable) == (kind, True)
        assert words in first.message
        assert str(made.folder / "cache") in (first.hint or ""), "where its log lies"
        assert (await say(backend, tmp_path, "a"))[0].answered

    play(speaker(made, **{"engine.start_s": 1.0 if at_start == "hang" else 20.0}), work)
    assert starts(made) == 2
    assert all_gone(made.pids())


def test_names_of_any_bytes_are_said_and_those_that_a_manifest_cannot_hold_are_refused(
    tmp_path: Path,
) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    made = machine(odd)
    tabbed = tmp_path / "a\tb"
    tabbed.mkdir()

    async def work(backend: Backend) -> None:
        assert (await say(backend, odd, "a \ud800 half"))[0].answered
        refused = (await say(backend, tabbed, "b"))[0].error
        assert refused is not None and refused.kind == "configuration" and "rename it" in str(refused.hint)

    play(speaker(made), work)


def test_an_error_of_our_own_is_told_to_all_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine(tmp_path)

    async def work(backend: Backend) -> None:
        with monkeypatch.context() as broken:
            broken.setattr("omnieval.backends.llamacpp.lines.Line.columns", lambda line, target: 1 / 0)
            found = await asyncio.gather(
                *(backend.generate(utterance(tmp_path, text)) for text in ("a", "bb")), return_exceptions=True
            )
            assert [type(each) for each in found] == [ZeroDivisionError] * 2
        assert (await say(backend, tmp_path, "ccc"))[0].answered

    play(speaker(made), work)


def test_closing_ends_a_program_at_work(tmp_path: Path) -> None:
    made = machine(tmp_path, samples={"a": ["hang"]})

    async def work(backend: Backend) -> None:
        asking = asyncio.create_task(say(backend, tmp_path, "a"))
        while not made.asked():
            await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    play(speaker(made), work)
    assert all_gone(made.pids())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_or_interrupted_leaves_no_process_and_goes_on(
    number: signal.Signals, tmp_path: Path
) -> None:
    made = machine(tmp_path, seconds=0.5)
    for name in ("joe-garden", "joe-window"):
        (tmp_path / "bundles" / name).mkdir()
    out = tmp_path / "run"
    settings = {"llamacpp.prompt_bundles": tmp_path / "bundles", "warmup": 0, "concurrency": 8}
    arguments = made.arguments(**settings)
    process = start("run", "seed-tts-en", "--data", sample_dir("seed-tts"), "--out", out, *arguments)
    wait_for_question(made, 3)
    process.send_signal(number)
    output = process.communicate(timeout=60)[0]
    assert "Traceback" not in output
    assert all_gone(made.pids())
    resumed = omnieval("run", "--resume", out)
    assert resumed.returncode == 0, resumed.stderr
    assert len(made.asked()) == 8 and sum(made.asked().values()) <= 10
    assert all(response.answered for response in Run.load(out).last_responses().values())


def test_bundles_are_found_by_the_name_of_the_recording_or_as_the_engines_own_suite_names_them(
    tmp_path: Path,
) -> None:
    made = machine(tmp_path)
    inside = f"{tmp_path.name}/sound1.wav"
    (tmp_path / "bundles" / hashlib.md5(inside.encode()).hexdigest()[:12]).mkdir()

    async def work(backend: Backend) -> None:
        assert (await backend.generate(utterance(tmp_path, "a", 1))).answered
        missing = (await backend.generate(utterance(tmp_path, "bb", 2))).error
        assert missing is not None and missing.kind == "media_missing" and "sound2" in missing.message

    play(speaker(made), work)


def test_check_names_missing_bundles_and_what_the_program_cannot_do(tmp_path: Path) -> None:
    made = machine(tmp_path)
    (tmp_path / "empty").mkdir()
    for name, words in (("none", "no folder"), ("empty", "0 folders in")):
        settings = [*made.settings().items(), ("llamacpp.prompt_bundles", str(tmp_path / name))]
        config = api.configure("seed-tts", settings, sample=True)
        wrong = [finding for finding in api.check_config(config) if finding.verdict == "fail"]
        assert [finding.check for finding in wrong] == ["prompt bundles"]
        assert words in wrong[0].found and "extract one" in str(wrong[0].fix)
    with pytest.raises(ConfigError, match=r"llamacpp\.prompt_bundles"):
        made.backend("seed-tts-zh")
    with pytest.raises(ConfigError, match=r"decode\.top_k"):
        speaker(made, **{"decode.top_k": 3})
