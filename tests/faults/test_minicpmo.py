"""MiniCPM-o in process that fails in every way: what the sample hears of it, and that the next one is answered."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from omnieval import api
from omnieval.backends.base import BackendContext
from omnieval.backends.minicpmo.backend import create
from omnieval.config import RunConfig
from omnieval.errors import BackendError
from omnieval.media.encode import encode_wav
from omnieval.types import (
    Backend,
    Generation,
    MediaPart,
    Message,
    Request,
    Response,
    SpeechTask,
    TextPart,
)
from tests.command import lines, omnieval, start
from tests.faults.test_engine import all_gone
from tests.standins.minicpmo.build import build

# Every death costs a new start of torch, which takes long on a busy machine.
pytestmark = [pytest.mark.torch, pytest.mark.timeout(900)]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Its diary has the id of every process that loaded it."""
    return build(tmp_path / "model", "acting_omni", diary=str(tmp_path / "diary"))


def configured(model: Path, recipe: str = "daily-omni", **more: Any) -> RunConfig:
    settings: dict[str, Any] = {
        "model": str(model),
        "backend": "transformers-minicpmo",
        "engine.devices": ["cpu"],
        "engine.trust_remote_code": True,
        "cache_dir": str(model.parent / "cache"),
    }
    return api.configure(recipe, list((settings | more).items()))


def request(text: str = "?", *, name: str = "s", media: tuple[MediaPart, ...] = ()) -> Request:
    options = {
        "mm_processor_kwargs": {"use_audio_in_video": False, "max_slice_nums": 1, "use_image_id": False}
    }
    return Request(name, (Message("user", (*media, TextPart(text))),), Generation(), extra_body=options)


def spoken(text: str, reference: Path) -> Request:
    task = SpeechTask(text, "en", reference_audio=MediaPart("audio", reference, "audio/wav"))
    return Request(
        "u", (Message("user", (TextPart(text),)),), Generation(temperature=None), speech=task,
        modalities=("text", "audio"), extra_body={"chat_template_kwargs": {"use_tts_template": True}},
    )  # fmt: skip


def play(config: RunConfig, work: Callable[[Backend], Awaitable[None]]) -> None:
    async def whole() -> None:
        backend = create(config, BackendContext())
        try:
            await backend.check()
            await work(backend)
        finally:
            await backend.close()

    asyncio.run(whole())


def processes(model: Path) -> list[int]:
    return [int(line) for line in (model.parent / "diary").read_text().split()]


def failed(response: Response) -> tuple[str, bool, str]:
    assert response.error is not None, response.text
    return response.error.kind, response.error.retryable, response.error.message


def test_a_failure_that_leaves_the_process_alive_costs_one_try(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a module of the folder that one happens to be in')")
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 256, (31, 17, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "frame.png")
    tone = (np.sin(np.arange(1600) / 7) / 2).astype(np.float32)
    (tmp_path / "sound.wav").write_bytes(encode_wav(tone))
    picture = MediaPart("image", tmp_path / "frame.png", "image/png")
    sound = MediaPart("audio", tmp_path / "sound.wav", "audio/wav")

    async def work(backend: Backend) -> None:
        told = json.loads((await backend.generate(request("and?", media=(picture, sound, picture)))).text)
        assert told["given"] == {  # by the names of this revision
            "sampling": False, "sound": False, "omni_input": True, "generate_audio": False,
            "max_new_tokens": 128, "max_slice_nums": 1, "use_image_id": False,
        }  # fmt: skip
        [(role, first, second, third, text)] = told["parts"]
        assert (role, text) == ("user", "and?")
        assert (
            first == third == ["Image", "uint8", [31, 17, 3], hashlib.sha256(pixels.tobytes()).hexdigest()]
        ), "no pixel is changed"
        assert second[:3] == ["ndarray", "float32", [1600]]

        gone = MediaPart("image", tmp_path / "gone.png", "image/png")
        assert failed(await backend.generate(request(media=(gone,))))[0] == "media"
        video = MediaPart("video", tmp_path / "v.mp4", "video/mp4")
        assert failed(await backend.generate(request(media=(video,))))[0] == "configuration"
        for act, kind, again, words in (
            ("run out of memory", "server", True, "OutOfMemoryError: CUDA out of memory"),
            ("raise", "server", False, "IndexError: list index out of range"),
            ("return nothing", "protocol", False, "chat() returned NoneType"),
        ):
            found = failed(await backend.generate(request(f"[do: {act}]")))
            assert found[:2] == (kind, again) and words in found[2]
        noise = await backend.generate(request("[do: return noise]"))
        assert noise.error is None and noise.text.endswith("x" * 300_000), "what it prints is no answer"

    play(configured(model), work)
    assert len(processes(model)) == 1
    assert all_gone(processes(model))


def test_a_death_or_a_hang_costs_one_try_and_a_new_process_answers(model: Path) -> None:
    async def work(backend: Backend) -> None:
        for act, kind, words in (
            ("die", "server", "exit code 3"),
            ("lose the device", "server", "illegal memory access"),
            ("hang", "timeout", "did not answer within"),
        ):
            found = failed(await backend.generate(request(f"[do: {act}]", name=act)))
            assert found[:2] == (kind, True) and words in found[2]
            assert (await backend.generate(request(name=f"after {act}"))).error is None

    play(configured(model, **{"timeouts.total_s": 25.0}), work)
    assert len(processes(model)) == 4
    assert all_gone(processes(model))


def test_a_sound_is_what_the_model_wrote_or_a_failure(model: Path, tmp_path: Path) -> None:
    reference = tmp_path / "voice.wav"
    reference.write_bytes(encode_wav(np.zeros(8000, dtype=np.float32)))

    async def work(backend: Backend) -> None:
        told = json.loads((silent := await backend.generate(spoken("Hello.", reference))).text)
        assert silent.audio is None, "no file, no sound"
        assert told["given"]["sound"] is True and told["given"]["generate_audio"] is True
        system, user = told["parts"]
        assert system[0] == "system" and system[2][:3] == ["ndarray", "float32", [8000]]
        assert user == ["user", "Please read the text below.", "Hello."]
        pair = await backend.generate(spoken("[do: return a pair]", reference))
        assert pair.audio is not None and (pair.audio.rate_hz, pair.audio.frames) == (24_000, 2400)
        tensor = await backend.generate(spoken("[do: return a tensor]", reference))
        assert tensor.audio is not None and tensor.audio.frames == 2400
        assert failed(await backend.generate(spoken("[do: return no numbers]", reference)))[0] == "audio"
        assert failed(await backend.generate(spoken("[do: write half a sound]", reference)))[0] == "audio"

    play(configured(model, "seed-tts", backend="transformers-minicpmo"), work)


def test_a_disk_without_room_for_a_sound_is_named_with_the_next_step(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = tmp_path / "voice.wav"
    reference.write_bytes(encode_wav(np.zeros(8000, dtype=np.float32)))
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", disk], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("this machine permits no tmpfs of our own")
    monkeypatch.setattr(tempfile, "tempdir", str(disk))

    async def work(backend: Backend) -> None:
        for act, words in (
            ("write a long sound", "No space left on device"),
            ("write a long sound and call it a system error", "LibsndfileError: System error."),
            ("write a long sound and tell nobody", "it may be cut off"),
        ):
            response = await backend.generate(spoken(f"[do: {act}]", reference))
            assert response.error is not None
            assert (response.error.kind, response.error.hint) == (
                "configuration",
                "free some space, or set TMPDIR",
            )
            assert f"{disk}: no room for the sound of an answer: " in response.error.message
            assert words in response.error.message
        assert list(disk.iterdir()) == [], "what was begun is removed"
        assert (await backend.generate(spoken("[do: return a pair]", reference))).audio is not None
        (disk / "of others").write_bytes(bytes(60_000))
        found = failed(await backend.generate(spoken("[do: raise]", reference)))
        assert found[0] == "configuration", "next to nothing is left, whatever the error"

    try:
        play(configured(model, "seed-tts", backend="transformers-minicpmo"), work)
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    ("at_start", "words"),
    [
        ("raises", "the weights do not fit this code"),
        ("lacks a package", "minicpmo-utils; install what the model's card asks for"),
        ("dies", "exit code 3"),
        ("talks", "exit code 3"),
        ("hangs", "is not ready after 45 s"),
    ],
)
def test_a_model_that_cannot_be_loaded_says_why(
    at_start: str, words: str, model: Path, tmp_path: Path
) -> None:
    path = model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"at_start": at_start}))

    async def work(backend: Backend) -> None:
        raise AssertionError("it must not start")

    with pytest.raises(BackendError, match=r"cannot start|is not ready") as error:
        play(configured(model, **{"engine.start_s": 45.0}), work)
    assert words in str(error.value)
    assert all_gone(processes(model))


def run_arguments(model: Path, cache: Path, out: Path) -> list[str | Path]:
    """Four questions, of which the second makes the first process hang."""
    rows = [
        {
            "id": f"q{i}",
            "question": f"Which?{' [do: once hang]' if i == 1 else ''}",
            "options": ["a", "b"],
            "answer": "A",
        }
        for i in range(4)
    ]
    data = out.parent / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [
        "run", "mcq", "--data", data, "--backend", "transformers-minicpmo", "--model", model, "--out", out,
        "--cache-dir", cache, "--set", "engine.devices=[cpu]", "--set", "engine.trust_remote_code=true",
    ]  # fmt: skip


def until_asked(out: Path, answers: int) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if (out / "responses.jsonl").exists() and len(lines(out / "responses.jsonl")) >= answers:
            time.sleep(0.5)
            return
        time.sleep(0.1)
    raise AssertionError("nothing was answered")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process_and_is_resumed(
    number: signal.Signals, model: Path, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    process = start(*run_arguments(model, cache_dir, out))
    until_asked(out, 1)
    process.send_signal(number)
    if number == signal.SIGINT:
        time.sleep(1.0)
        process.send_signal(number)
    output = process.communicate(timeout=60)[0]
    assert "Traceback" not in output
    assert all_gone(processes(model))
    kept = (out / "responses.jsonl").read_bytes()
    resumed = omnieval("run", "--resume", out)
    assert resumed.returncode == 0, resumed.stderr
    assert (out / "responses.jsonl").read_bytes().startswith(kept)
    assert sorted(line["sample_id"] for line in lines(out / "responses.jsonl") if not line["error"]) == [
        "q0", "q1", "q2", "q3"
    ]  # fmt: skip
