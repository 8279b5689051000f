"""llama.cpp-omni's evaluation programs, as a stand-in: every death, hang and garbage at every moment, and what a
run makes of it."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.failed import FailedTry
from omnieval.backends.registry import BACKENDS
from omnieval.backends.sound.limit import within
from omnieval.errors import BackendError, ConfigError
from omnieval.runlog import Run
from omnieval.types import Backend, Generation, MediaPart, Message, Part, Request, TextPart
from tests.command import lines, omnieval, start
from tests.faults.test_engine import all_gone
from tests.standins.llamacpp_programs import install, install_model, journal, tone

NAME = "llama-omni-eval-daily-cli"
SMALL = {"max_frames": 2, "preflight": "never", "prepare": {"workers": 1}}


class Machine:
    """A folder with the stand-in, a model and a cache."""

    def __init__(self, folder: Path, name: str = NAME, **plan: Any) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.program = install(self.bin, name, **plan)
        self.model = install_model(folder / "model")

    def settings(self, **more: Any) -> dict[str, Any]:
        return {
            "backend": "llamacpp-omni", "model": str(self.model), "llamacpp.program": str(self.program),
            "cache_dir": str(self.folder / "cache"), "retry.first_wait_s": 0.05, "retry.wait_for_server_s": 2,
            "timeouts.total_s": 5.0, "engine.start_s": 5.0, **more,
        }  # fmt: skip

    def arguments(self, **more: Any) -> list[str]:
        given = [f"{key}={value}" for key, value in self.settings(**{"prepare.workers": 1}, **more).items()]
        return [word for pair in given for word in ("--set", pair)]

    def backend(self, recipe: str = "daily-omni", **more: Any) -> Backend:
        config = api.configure(recipe, list(self.settings(**more).items()), sample=True)
        made: Backend = BACKENDS.load("llamacpp-omni")(config, BackendContext())
        return made

    def pids(self) -> list[int]:
        started = [entry for entry in journal(self.bin) if entry["what"] == "start"]
        return [entry[key] for entry in started for key in ("pid", "child")]

    def asked(self) -> Counter[str]:
        return Counter(entry["id"] for entry in journal(self.bin) if entry["what"] in ("infer", "say"))


def picture(folder: Path, number: int = 0) -> MediaPart:
    path = folder / f"frame{number}.jpg"
    path.write_bytes(b"\xff\xd8")
    return MediaPart("image", path, "image/jpeg")


def sound(folder: Path, number: int = 0, letters: int = 20) -> MediaPart:
    path = folder / f"sound{number}.wav"
    path.write_bytes(tone(letters))
    return MediaPart("audio", path, "audio/wav")


def question(name: str, *parts: Part, **fields: Any) -> Request:
    return Request(name, (Message("user", (*parts, TextPart("Which?"))),), Generation(), **fields)


def play(backend: Backend, work: Callable[[Backend], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await work(backend)
        finally:
            await backend.close()

    asyncio.run(whole())


def test_a_folder_that_takes_no_cut_sounds_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "0.wav").symlink_to("/dev/full")
    with pytest.raises(FailedTry) as full:
        within([sound(tmp_path).path], 0.1, tmp_path / "cut")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))

    async def work(backend: Backend) -> None:
        error = (await backend.generate(question("s", picture(tmp_path), sound(tmp_path)))).error
        assert error is not None and f"{tmp_path / 'gone'}: sounds that are cut cannot" in error.message
        for found in (error, full.value.failure):
            assert (found.kind, found.hint) == (
                "configuration", "free some space, or name another folder with TMPDIR",
            )  # fmt: skip

    play(Machine(tmp_path).backend(), work)
    assert (
        f"{tmp_path}: sounds that are cut cannot be kept there: No space left" in full.value.failure.message
    )


FAULTS = {
    "die": ("server", "exit code 134"),
    "be killed": ("server", "SIGKILL"),
    "crash": ("server", "SIGSEGV"),
    "leave": ("server", "exit code 0"),
    "half a line": ("server", "exit code 0"),
    "hang": ("timeout", "within 1 s"),
    "garbage": ("protocol", "found {'type': 'result'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_middle_costs_one_try_of_one_sample(fault: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, samples={"b": [fault]})

    async def work(backend: Backend) -> None:
        await backend.check()
        assert (await backend.generate(question("a"))).text == "C"
        response = await backend.generate(question("b"))
        kind, words = FAULTS[fault]
        assert response.error is not None
        assert (response.error.kind, response.error.retryable) == (kind, True)
        assert words in response.error.message
        assert response.error.hint
        for name in ("b", "c"):
            assert (await backend.generate(question(name))).text == "C"

    play(machine.backend(**{"timeouts.total_s": 1.0 if fault == "hang" else 5.0}), work)
    assert machine.asked() == {"a": 1, "b": 2, "c": 1}
    assert all_gone(machine.pids())


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"start": ["die"]}, "exit code 134 (its log: CANN error 507018"),
        ({"start": ["be killed"]}, "SIGKILL"),
        ({"start": ["hang"]}, "not ready after 1 s"),
        ({"start": ["half a line"]}, "exit code 0"),
        ({"fatal": True}, "failed to load the vision model"),
    ],
)
def test_a_fault_at_the_start_is_told_before_anything_is_asked(
    plan: dict[str, Any], words: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, **plan)

    async def work(backend: Backend) -> None:
        with pytest.raises(BackendError) as error:
            await backend.check()
        assert words in str(error.value)

    play(machine.backend(**{"engine.start_s": 1.0 if "ready" in words else 20.0}), work)
    assert all_gone(machine.pids())


def test_noise_is_no_fault_and_a_refusal_needs_no_restart(tmp_path: Path) -> None:
    machine = Machine(tmp_path, start=["noise"], samples={"a": ["noise"], "b": ["refuse"]})

    async def work(backend: Backend) -> None:
        assert (await backend.generate(question("a"))).text == "C"
        refused = (await backend.generate(question("b"))).error
        assert refused is not None
        assert (refused.kind, refused.retryable) == ("sample", False)
        assert "stream_prefill(image) failed" in refused.message
        assert (await backend.generate(question("c"))).text == "C"

    play(machine.backend(), work)
    assert len(machine.pids()) == 2


def test_pictures_and_sounds_go_in_pairs_and_long_sounds_are_cut_with_a_note(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    long = sound(tmp_path, 1, letters=700)  # 35 s

    async def work(backend: Backend) -> None:
        parts = (picture(tmp_path), sound(tmp_path), picture(tmp_path, 1), long, picture(tmp_path, 2))
        extra = {"mm_processor_kwargs": {"max_slice_nums": 1}}
        response = await backend.generate(question("a", *parts, extra_body=extra))
        assert response.error is None, response.error
        assert response.notes == (
            "a sound longer than 29.9 s was cut to that, the longest that llamacpp.max_sound_s allows",
        )
        for other in ((sound(tmp_path), picture(tmp_path)), (TextPart("First this."), picture(tmp_path))):
            refused = (await backend.generate(question("b", *other))).error
            assert refused is not None and refused.kind == "configuration"
            assert "llamacpp.transport=http" in (refused.hint or "")

    play(machine.backend(), work)
    asked = next(entry for entry in journal(machine.bin) if entry["what"] == "infer")
    assert [Path(path).name for path in asked["frames"]] == ["frame0.jpg", "frame1.jpg", "frame2.jpg"]
    assert asked["audios"][0] == str(tmp_path / "sound0.wav")
    assert asked["audios"][1] != str(long.path)
    assert not Path(asked["audios"][1]).exists(), "the cut one is needed no more"
    assert (asked["max_slice_nums"], asked["n_predict"], asked["prompt"]) == (1, 128, "Which?")


def test_without_a_limit_a_long_sound_goes_out_whole(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    long = sound(tmp_path, 1, letters=700)

    async def work(backend: Backend) -> None:
        assert (await backend.generate(question("a", picture(tmp_path), long))).notes == ()

    play(machine.backend(**{"llamacpp.max_sound_s": None}), work)
    assert journal(machine.bin)[-1]["audios"] == [str(long.path)]


def test_the_limit_of_sounds_is_stored_and_the_report_counts_whom_it_met(tmp_path: Path) -> None:
    settings = nested(Machine(tmp_path).settings(**{"llamacpp.max_sound_s": 0.5}))
    run = api.run("daily-omni", sample=True, limit=2, out=tmp_path / "run", **SMALL, **settings)
    assert run.config["llamacpp"]["max_sound_s"] == 0.5
    [note] = [note for note in api.load_report(run).notes if "longer than 0.5 s" in note]
    assert "llamacpp.max_sound_s" in note and "(2 samples, for example" in note


def test_the_program_for_pictures_is_sent_no_sounds(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "llama-omni-eval-cli")

    async def work(backend: Backend) -> None:
        assert (await backend.generate(question("a", picture(tmp_path)))).answered
        refused = (await backend.generate(question("b", picture(tmp_path), sound(tmp_path)))).error
        assert refused is not None and refused.kind == "configuration"

    play(machine.backend("video-mme"), work)
    assert machine.asked() == {"a": 1}


def test_each_card_has_a_process_of_its_own_and_one_that_dies_leaves_the_others_at_work(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, samples={"q1": ["die"]}, seconds=0.05)

    async def work(backend: Backend) -> None:
        await backend.check()
        assert backend.capabilities.max_concurrency == 2
        responses = await asyncio.gather(
            *(backend.generate(question(f"q{i}", cluster="v")) for i in range(2))
        )
        assert Counter(response.answered for response in responses) == {True: 1, False: 1}
        assert {response.server for response in responses} == {"npu:0", "npu:5+6"}
        assert (await backend.generate(question("q1"))).answered

    play(machine.backend(**{"engine.devices": ["npu:0", "npu:5+6"]}), work)
    cards = [
        entry["devices"]["ASCEND_RT_VISIBLE_DEVICES"] for entry in journal(machine.bin) if "devices" in entry
    ]
    assert sorted(set(cards)) == ["0", "5,6"]
    assert all_gone(machine.pids())


def test_decoding_options_become_flags_and_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    decode = {"decode.top_k": 5, "decode.top_p": 0.5, "decode.repetition_penalty": 1.2, "decode.seed": 7}

    async def work(backend: Backend) -> None:
        facts = await backend.check()
        assert facts.details["program_sha256"]

    play(machine.backend(**decode, **{"llamacpp.context": 4096}), work)
    assert journal(machine.bin)[0]["arguments"] == {
        "-m": str(machine.model), "-ngl": "999", "--n-predict": "128", "-c": "4096", "--temp": "0.0",
        "--top-p": "0.5", "--top-k": "5", "--repeat-penalty": "1.2", "--seed": "7",
    }  # fmt: skip
    with pytest.raises(ConfigError, match="constrain"):
        machine.backend(**{"decode.constrain": "choice"})
    with pytest.raises(ConfigError, match="npu:N"):
        machine.backend(**{"engine.devices": ["gpu0"]})


def test_a_run_meets_every_fault_once_and_answers_everything(tmp_path: Path) -> None:
    whole = Machine(tmp_path / "well")
    first = api.run("daily-omni", sample=True, out=tmp_path / "first", **SMALL, **nested(whole.settings()))
    ids = [score.sample_id for score in first.scores()]
    acts = ["die", "garbage", "be killed", "half a line", "noise", "leave"]
    machine = Machine(tmp_path / "ill", samples={name: [act] for name, act in zip(ids, acts, strict=False)})
    second = api.run(
        "daily-omni", sample=True, out=tmp_path / "second", **SMALL, **nested(machine.settings())
    )
    assert {r.sample_id: r.text for r in second.responses() if r.answered} == {
        r.sample_id: r.text for r in first.responses()
    }
    assert len(machine.asked()) == len(ids)
    assert all_gone(machine.pids())


@pytest.mark.slow
def test_a_poisonous_sample_costs_itself_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    run = api.run(
        "daily-omni", sample=True, limit=3, out=tmp_path / "ids", **SMALL, **nested(machine.settings())
    )
    name = [score.sample_id for score in run.scores() if score.outcome != "not_asked"][1]
    ill = Machine(tmp_path / "ill", samples={name: ["die"] * 9})
    run = api.run("daily-omni", sample=True, limit=3, out=tmp_path / "run", **SMALL, **nested(ill.settings()))
    failed = {r.sample_id for r in run.last_responses().values() if not r.answered}
    assert failed == {name}
    assert ill.asked()[name] == 2


@pytest.mark.slow
def test_a_program_that_dies_at_every_question_ends_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, start=["", *["die"] * 99], samples={})
    well = Machine(tmp_path / "well")
    settings = nested(machine.settings(**{"engine.restarts": 2}))
    run = api.run(
        "daily-omni", sample=True, limit=2, out=tmp_path / "probe", **SMALL, **nested(well.settings())
    )
    first = next(score.sample_id for score in run.scores() if score.outcome != "not_asked")
    (machine.bin / "plan.json").write_text(
        f'{{"start": {["", *["die"] * 99]!r}, "samples": {{"{first}": ["die"]}}}}'.replace("'", '"')
    )
    out = tmp_path / "run"
    run = api.run("daily-omni", sample=True, out=out, **SMALL, **settings)
    assert [event for event in run.events() if event["event"] == "stopped"][-1]["reason"] == "refused"
    assert len(machine.pids()) <= 2 * 4
    (machine.bin / "plan.json").write_text("{}")
    run = api.resume(out)
    assert all(response.answered for response in run.last_responses().values())
    assert len(run.last_responses()) == 23


def nested(settings: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys as the nested mappings that `api.run` takes."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        section, _, inner = key.partition(".")
        if inner:
            found.setdefault(section, {})[inner] = value
        else:
            found[section] = value
    return found


def wait_for_question(machine: Machine, number: int) -> None:
    deadline = time.monotonic() + 60
    while sum(machine.asked().values()) < number:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_or_interrupted_leaves_no_process_and_goes_on(
    number: signal.Signals, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, seconds=0.2)
    out = tmp_path / "run"
    process = start("run", "daily-omni", "--sample", "--out", out, *machine.arguments(max_frames=2))
    wait_for_question(machine, 4)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert all_gone(machine.pids())
    answered = sum(response["error"] is None for response in lines(out / "responses.jsonl"))
    assert 3 <= answered < 23
    (machine.bin / "plan.json").write_text("{}")
    done = omnieval("run", "--resume", out)
    assert done.returncode == 0, done.stderr
    asked = machine.asked()
    assert len(asked) == 23 and sum(asked.values()) <= 24
    assert len(Run.load(out).last_responses()) == 23


@pytest.mark.slow
def test_two_interrupts_end_a_hanging_program_at_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path, samples={})
    process = start(
        "run", "daily-omni", "--sample", "--out", tmp_path / "run", *machine.arguments(max_frames=2)
    )
    wait_for_question(machine, 1)
    os.kill(machine.pids()[-2], signal.SIGSTOP)  # it answers nothing more, as in a device call
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert all_gone(machine.pids())


CHECKS = {
    "program missing": ("program", "no file", "build llama.cpp-omni"),
    "not executable": ("program", "not executable", "chmod +x"),
    "wrong version": ("version", "does not know --n-predict", "build a version"),
    "libraries missing": ("version", "exit code 127", "LD_LIBRARY_PATH"),
    "another program": ("version", "--help prints without end: 'y y y", "is this the right program"),
    "model missing": ("model", "no file", "--model"),
    "vision model missing": ("vision model", "no ", "whole folder"),
    "several models": ("model", "2 files", "name the .gguf file"),
    "a pointer": ("audio model", "is a Git LFS pointer", "git lfs pull"),
    "another file": ("model", "is no GGUF file", "fetch it again"),
    "no such card": ("device npu:63", "this machine has", "engine.devices"),
}


@pytest.mark.parametrize("case", CHECKS)
def test_check_names_what_is_missing_and_what_to_do(case: str, tmp_path: Path) -> None:
    plans: dict[str, dict[str, Any]] = {
        "wrong version": {"lacks_flags": ["--n-predict"]},
        "libraries missing": {"help_exit": 127},
    }
    machine = Machine(tmp_path, **plans.get(case, {}))
    if case == "program missing":
        machine.program.unlink()
    elif case == "not executable":
        machine.program.chmod(0o644)
    elif case == "another program":
        machine.program.write_text("#!/bin/sh\nexec yes\n")
    elif case == "model missing":
        machine.model.unlink()
    elif case == "vision model missing":
        next((machine.model.parent / "vision").iterdir()).unlink()
    elif case == "several models":
        (machine.model.parent / "MiniCPM-o-4_5-F16.gguf").write_bytes(b"GGUF")
        machine.model = machine.model.parent
    elif case == "a pointer":
        next((machine.model.parent / "audio").iterdir()).write_bytes(
            b"version https://git-lfs.github.com/spec/v1\n"
        )
    elif case == "another file":
        machine.model.write_bytes(b"PK")
    settings = machine.settings(**({"engine.devices": ["npu:63"]} if case == "no such card" else {}))
    config = api.configure("daily-omni", list(settings.items()), sample=True)
    findings = api.check_config(config)
    wrong = [finding for finding in findings if finding.verdict == "fail"]
    name, found, fix = CHECKS[case]
    assert [finding.check for finding in wrong] == [name]
    assert found in wrong[0].found and fix in (wrong[0].fix or "") and wrong[0].fatal
    with pytest.raises(BackendError) as error:
        api.run("daily-omni", sample=True, out=tmp_path / "run", **SMALL, **nested(settings))
    assert fix in str(error.value)
    assert journal(machine.bin) == []


def test_check_of_a_whole_machine_asks_the_largest_request(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    config = api.configure("daily-omni", [*machine.settings().items(), ("max_frames", 2)], sample=True)
    findings = api.check_config(config)
    assert {finding.verdict for finding in findings} == {"pass"}
    assert [finding.check for finding in findings][-2:] == ["server", "largest request"]
    assert all_gone(machine.pids())
