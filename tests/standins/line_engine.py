"""A stand-in for an engine that speaks JSON lines: it does what each message tells it to, also the worst.

Its first argument says how it starts: `well`, or what goes wrong. It has a child, as real engines do, and
writes the ids of both into the file that its second argument names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHILD = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"


def say(message: Any) -> None:
    print(json.dumps(message) if isinstance(message, dict) else message, flush=True)


def answer(message: dict[str, Any]) -> None:
    name, act = message["id"], message.get("do", "answer")
    say({"type": "began", "ids": [name]})
    if act == "die":
        print("RuntimeError: device lost", file=sys.stderr)
        os._exit(3)
    if act == "be killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if act == "hang":
        time.sleep(600)
    if act == "hang in a device call":  # which no signal but the last one ends
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(600)
    if act == "close its output":
        os.close(1)
        time.sleep(600)
    if act == "make noise":
        say("loading shards 3/9")
        say('{"half": ')
        say("[1, 2]")
        say({"no": "type"})
        say({"type": "result", "id": "of another", "ok": True})
        sys.stdout.buffer.write(b"\xff\xfe\x1b[31mcolour\x1b[0m\r\n" + b"x" * 200_000 + b"\n")
        sys.stdout.flush()
    if act == "say what is odd":
        say('{"a":' * 200_000)
        say({"type": "began", "ids": 5})
        say({"type": "result", "id": [name], "ok": True})
    if act in ("flood its output", "flood its log"):
        stream = (sys.stdout if act == "flood its output" else sys.stderr).buffer
        while True:
            stream.write(b"x" * 2**20)
    if act == "say a fatal flood":
        say({"type": "fatal", "error": "e" * 5_000_000, "hint": 5})
    if act == "end in the middle of a line":
        sys.stdout.write('{"type": "result", "id": "' + name)
        sys.stdout.flush()
        os._exit(0)
    if act == "say fatal":
        say({"type": "fatal", "error": "the card fell off the bus"})
        time.sleep(600)
    say({"type": "result", "id": name, "ok": True, "pid": os.getpid(), "alone": message["alone"]})
    if act == "die after it":
        os._exit(0)


def main(start: str, pids: str) -> None:
    child = subprocess.Popen([sys.executable, "-S", "-E", "-c", CHILD])
    with Path(pids).open("a") as file:
        file.write(f"{os.getpid()}\n{child.pid}\n")
    if start == "loses a child":
        lost = subprocess.Popen([sys.executable, "-S", "-E", "-c", CHILD], start_new_session=True)
        with Path(pids).open("a") as file:
            file.write(f"{lost.pid}\n")
    if start == "dies":
        print("ValueError: no such device", file=sys.stderr)
        os._exit(1)
    if start == "hangs":
        time.sleep(600)
    if start == "is refused":
        say({"type": "fatal", "error": "the weights are cut short"})
        time.sleep(600)
    say({"type": "ready", "version": "1"})
    for line in sys.stdin:
        answer(json.loads(line))


if __name__ == "__main__":
    main(*sys.argv[1:])
