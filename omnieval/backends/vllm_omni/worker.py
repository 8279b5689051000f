"""The process of vLLM-Omni's engine; `omnieval.backends.engines.engine` says what it reads and writes.

Run as `python -m omnieval.backends.vllm_omni.worker`; the first line on its input says what to load. Requests
that wait are worked on together, as many as the first line allows, where they ask for the same decoding.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from collections import deque
from typing import IO, Any

from pydantic import TypeAdapter

from omnieval.backends.vllm_omni.output import answers_of
from omnieval.backends.vllm_omni.prompt import prompt_of, sampling_of
from omnieval.errors import MediaError
from omnieval.types import JsonDict, Request

_REQUEST = TypeAdapter(Request)
# How long to wait for the requests that follow on the answers of the last ones.
_GATHER_S = 0.1
_SHOWN_SAMPLING = ("max_tokens", "temperature", "top_p", "top_k", "repetition_penalty", "seed")


class Worker:
    """load: model, deploy_config, arguments, trust_remote_code, stage_init_timeout, at_once, placeholders and
    separator. Raises whatever the engine raises when it cannot be loaded."""

    def __init__(self, load: JsonDict, channel: IO[bytes]) -> None:
        from transformers import AutoTokenizer
        from vllm_omni.entrypoints.omni import Omni

        self._load = load
        self._channel = channel
        trust = {"trust_remote_code": True} if load["trust_remote_code"] else {}
        deploy = {"deploy_config": load["deploy_config"]} if load["deploy_config"] else {}
        self._tokenizer = AutoTokenizer.from_pretrained(load["model"], **trust)
        self._omni = Omni(
            model=load["model"],
            stage_init_timeout=load["stage_init_timeout"],
            **deploy,
            **trust,
            **load["arguments"],
        )
        self._pending: deque[JsonDict] = deque()
        self._broken = False

    def say(self, message: JsonDict) -> None:
        """One line to the one who asks."""
        self._channel.write(json.dumps(message).encode() + b"\n")
        self._channel.flush()

    def ready(self) -> None:
        """Say what was loaded."""
        stages = [
            {name: getattr(stage, name, None) for name in _SHOWN_SAMPLING}
            for stage in self._omni.default_sampling_params_list
        ]
        self.say({"type": "ready", "sampling": stages})

    def serve(self, lines: queue.SimpleQueue[bytes | None]) -> None:
        """Answer until there are no more lines, or until the engine has closed itself after an error."""
        while self._take(lines):
            batch = self._batch()
            self.say({"type": "began", "ids": [message["id"] for message in batch]})
            for message, answer in zip(batch, self._answers(batch), strict=True):
                self.say({**answer, "type": "result", "id": message["id"], "last": self._broken})
            if self._broken:
                sys.stderr.write("the engine closed itself after an error\n")
                return

    def close(self) -> None:
        """Let the engine free its cards."""
        self._omni.close()

    def _take(self, lines: queue.SimpleQueue[bytes | None]) -> bool:
        """Move what has come to `_pending`; False at the end of the input."""
        until: float | None = None
        while len(self._pending) < self._load["at_once"]:
            if self._pending and until is None:
                until = time.monotonic() + _GATHER_S
            try:
                line = lines.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if line is None:
                return False
            self._pending.append(json.loads(line))
        return True

    def _batch(self) -> list[JsonDict]:
        """The next requests that can be worked on together."""
        first = self._pending.popleft()
        if first["alone"]:
            return [first]
        alike = [m for m in self._pending if not m["alone"] and _decoding(m) == _decoding(first)]
        for message in alike:
            self._pending.remove(message)
        return [first, *alike]

    def _answers(self, batch: list[JsonDict]) -> list[JsonDict]:
        requests = [_REQUEST.validate_python(message["request"]) for message in batch]
        made = [self._prompt(request) for request in requests]
        prompts = [prompt for prompt, _ in made if prompt is not None]
        answers = iter(self._generate(requests[0], prompts) if prompts else [])
        return [error or next(answers) for _, error in made]

    def _prompt(self, request: Request) -> tuple[JsonDict | None, JsonDict | None]:
        """(prompt, None), or (None, what is wrong with it)."""
        try:
            prompt = prompt_of(
                request,
                self._tokenizer,
                placeholders=self._load["placeholders"],
                separator=self._load["separator"],
            )
        except (OSError, MediaError) as error:
            return None, {"ok": False, "error": str(error), "kind": "media"}
        except Exception as error:  # noqa: BLE001 - a template may raise anything; it costs one sample
            return None, {"ok": False, "error": _told(error), "kind": "configuration"}
        return prompt, None

    def _generate(self, like: Request, prompts: list[JsonDict]) -> list[JsonDict]:
        try:
            sampling = sampling_of(like, self._omni.default_sampling_params_list)
            outputs = self._omni.generate(prompts, sampling, use_tqdm=False)
            return answers_of(outputs, len(prompts))
        except Exception as error:  # noqa: BLE001 - of the engine; the one who asks decides what it means
            # `Omni` closes itself when a request raises; a stage of it may have died beside that.
            running = getattr(self._omni, "is_running", False) is True
            dead = any(kind.__name__ == "EngineDeadError" for kind in type(error).__mro__)
            self._broken = not running or dead
            return [{"ok": False, "error": _told(error), "together": len(prompts)}] * len(prompts)


def _decoding(message: JsonDict) -> Any:
    request = message["request"]
    return request["generation"], request["options"] if request["generation"]["constrain"] else None


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def main() -> None:
    """Serve standard input. What the engine prints goes to standard error: the channel stays clean."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started it decides what a Ctrl-C means
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    load = json.loads(sys.stdin.buffer.readline())
    try:
        worker = Worker(load, channel)
    except Exception as error:
        channel.write(json.dumps({"type": "fatal", "error": _told(error)}).encode() + b"\n")
        channel.flush()
        raise
    worker.ready()
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, lines), daemon=True).start()
    worker.serve(lines)
    worker.close()


def _read(source: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    for line in source:
        lines.put(line)
    lines.put(None)


if __name__ == "__main__":
    main()
