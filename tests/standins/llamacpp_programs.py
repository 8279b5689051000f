"""A stand-in for llama.cpp-omni's evaluation programs: `llama-omni-eval-daily-cli`, `llama-omni-eval-cli` and
`llama-omni-tts-eval`, as `install` puts them into a folder.

It takes the flags of the real ones and refuses others, speaks their JSON lines (or reads their manifest), is
chatty on stderr, and has a child, as real ones may. What goes wrong is written in `plan.json` beside it: `start`
is a list of what befalls the first, second, ... start, `samples` a list for each id (or text to be said) of what
befalls its first, second, ... asking; nothing does where a list has ended. `journal.jsonl` tells what happened.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

EVAL_FLAGS = (
    "-m", "--vision", "--audio", "--ref-audio", "-c", "--ctx-size", "-ngl", "--max-slice-nums", "--n-predict",
    "--seed", "--temp", "--top-p", "--top-k", "--repeat-penalty",
)  # fmt: skip
SPEECH_FLAGS = (
    "-m", "--manifest", "--language", "--seed", "--temperature", "--max-audio-tokens", "-ngl", "-c", "--llm",
)  # fmt: skip
DEVICES = ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def install(folder: Path, name: str, **plan: Any) -> Path:
    """The program as an executable file; its plan lies beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(plan))
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {Path(__file__)} "$0" "$@"\n')
    program.chmod(0o755)
    return program


def install_model(folder: Path) -> Path:
    """A folder with the names of a model's files; gives the language part."""
    for name in ("vision/MiniCPM-o-4_5-vision-F16", "audio/MiniCPM-o-4_5-audio-F16", "tts/MiniCPM-o-4_5-tts-F16",
                 "tts/MiniCPM-o-4_5-projector-F16", "MiniCPM-o-4_5-Q4_K_M"):  # fmt: skip
        path = folder / f"{name}.gguf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"GGUF" + name.encode())
    return folder / "MiniCPM-o-4_5-Q4_K_M.gguf"


def journal(folder: Path) -> list[dict[str, Any]]:
    path = folder / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Program:
    def __init__(self, place: Path, arguments: list[str]) -> None:
        self.folder, self.name, self.arguments = place.parent, place.name, arguments
        self.plan = json.loads((self.folder / "plan.json").read_text())

    def note(self, **facts: Any) -> int:
        """Write into the journal; gives how often the same thing was noted before."""
        before = sum(
            entry["what"] == facts["what"] and entry.get("id") == facts.get("id")
            for entry in journal(self.folder)
        )
        with (self.folder / "journal.jsonl").open("a") as file:
            file.write(json.dumps(facts) + "\n")
        return before

    def start(self, flags: tuple[str, ...]) -> dict[str, str]:
        """The arguments by flag; and what the plan has for this start."""
        known = [*flags, *self.plan.get("more_flags", ())]
        for flag in self.plan.get("lacks_flags", ()):
            known.remove(flag)
        if "--help" in self.arguments:
            print("Usage:", self.name, *known, file=sys.stderr)
            sys.exit(self.plan.get("help_exit", 0))
        given = dict(zip(self.arguments[::2], self.arguments[1::2], strict=True))
        unknown = [flag for flag in given if flag not in known]
        if unknown:
            sys.exit(f"Unknown argument: {unknown[0]}")
        child = subprocess.Popen([sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"])
        times = self.note(
            what="start", name=self.name, pid=os.getpid(), child=child.pid, arguments=given,
            devices={key: os.environ[key] for key in DEVICES if key in os.environ},
        )  # fmt: skip
        print("ggml_cann_init: found 1 device\nload_model: 100 %", file=sys.stderr, flush=True)
        self.act(self.next("start", times))
        return given

    def next(self, *keys: Any) -> str:
        found: Any = self.plan
        for key in keys[:-1]:
            found = found.get(key, {})
        return found[keys[-1]] if found and keys[-1] < len(found) else ""

    def act(self, what: str) -> None:
        if what == "die":
            print("CANN error 507018: aicore exception", file=sys.stderr, flush=True)
            os._exit(134)
        if what == "be killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # inside a device call
            time.sleep(600)
        if what == "noise":
            sys.stdout.buffer.write(
                b"llama_perf: 12 ms\n" * 3 + b'\xff\x00\n{}\n{"type": 3}\n{"type": "rea\n'
            )
            sys.stdout.flush()
        if what == "half a line":
            sys.stdout.write('{"type": "result", "id"')
            sys.stdout.flush()
        if what in ("half a line", "leave"):
            os._exit(0)


class Choice(Program):
    """One question after the other, by JSON lines."""

    def run(self) -> None:
        given = self.start(EVAL_FLAGS)
        if not Path(given["-m"]).exists():
            sys.exit("Error: -m <llm_model_path> is required")
        if self.plan.get("fatal"):
            say({"type": "fatal", "error": "failed to load the vision model"})
            sys.exit(1)
        say({"type": "ready"})
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "quit":
                return
            say({"type": "pong"} if message["type"] == "ping" else self.infer(message))

    def infer(self, message: dict[str, Any]) -> Any:
        name = message["id"]
        what = self.next("samples", name, self.note(**{**message, "what": "infer", "pid": os.getpid()}))
        time.sleep(self.plan.get("seconds", 0))
        self.act(what)
        if what == "garbage":
            sys.stdout.buffer.write(b'\xff\xfe\x00 tokens/s: 12.5\n{"half": \n[1]\n')
            say({"type": "result", "id": name, "ok": "maybe"})
            return {"type": "pong"}
        if what == "refuse":
            return {"type": "result", "id": name, "ok": False, "error": "stream_prefill(image) failed"}
        for path in [*message["frames"], *message["audios"]]:
            if not Path(path).is_file():
                return {"type": "result", "id": name, "ok": False, "error": f"frame not found: {path}"}
        return {"type": "result", "id": name, "ok": True, "response": "ABCD"[len(message["prompt"]) % 4]}


class Speech(Program):
    """One sound after the other, by a manifest; `seconds` for each."""

    def run(self) -> None:
        given = self.start(SPEECH_FLAGS)
        lines = Path(given["--manifest"]).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        print(f"Manifest: {len(lines)} samples", file=sys.stderr, flush=True)
        for line in lines:
            reference, bundle, text, target = line.split("\t")
            assert Path(reference).is_file() and Path(bundle).is_dir()
            what = self.next("samples", text, self.note(what="say", id=text, pid=os.getpid()))
            time.sleep(self.plan.get("seconds", 0))
            self.act(what)
            if what == "pass over":
                continue
            content = b"no sound at all" if what == "garbage" else tone(len(text))
            with Path(target).open("wb") as file:
                file.write(content[: len(content) // 2])
                file.flush()
                if what == "die amid the file":
                    os._exit(1)
                file.write(content[len(content) // 2 :])
        return


def tone(length: int) -> bytes:
    """A WAV of 24 kHz, 0.05 s for each letter."""
    frames = 1200 * max(1, length)
    data = b"".join(struct.pack("<h", 8000 if i // 40 % 2 else -8000) for i in range(frames))
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 24000, 48000, 2, 16)
    body = b"WAVE" + head + struct.pack("<4sI", b"data", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def say(message: Any) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    (Speech if place.name == "llama-omni-tts-eval" else Choice)(place, sys.argv[2:]).run()
