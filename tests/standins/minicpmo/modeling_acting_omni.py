"""A stand-in for MiniCPM-o: its `chat()` tells what it was given, or does what the text tells it to, also the worst.

`[do: die]` and the like in the text name an act; what begins with `once ` is done by the first process alone.
"""

import hashlib
import json
import os
import signal
import time
import wave
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel


class LibsndfileError(Exception):
    """As the library that many use to write sounds says it."""


class ActingOmniConfig(PretrainedConfig):
    model_type = "acting_omni_stand_in"

    def __init__(self, init_vision=True, init_audio=True, init_tts=True, at_start="", diary="", **kwargs):
        self.init_vision, self.init_audio, self.init_tts = init_vision, init_audio, init_tts
        self.at_start, self.diary = at_start, diary
        super().__init__(**kwargs)


class ActingOmni(PreTrainedModel):
    config_class = ActingOmniConfig
    _supports_sdpa = True

    def __init__(self, config):
        super().__init__(config)
        self.weight = nn.Parameter(torch.zeros(1))
        self.post_init()
        if config.diary:
            with Path(config.diary).open("a") as file:
                file.write(f"{os.getpid()}\n")
        if config.at_start == "raises":
            raise RuntimeError("the weights do not fit this code")
        if config.at_start == "lacks a package":
            raise ImportError("This modeling file requires the package minicpmo-utils")
        if config.at_start == "talks":
            os.write(1, b'{"type": "ready"\n\xff\xfe not JSON at all\n')
        if config.at_start in ("dies", "talks"):
            os._exit(3)
        if config.at_start == "hangs":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)

    def init_tts(self):
        pass

    def chat(self, msgs, sampling=True, output_audio_path=None, tts_ref_audio=None, **kwargs):
        text = "".join(part for msg in msgs for part in msg["content"] if isinstance(part, str))
        act = text.partition("[do: ")[2].partition("]")[0]
        if act.startswith("once "):
            with Path(self.config.diary).open() as file:
                first = len(file.readlines()) == 1
            act = act.removeprefix("once ") if first else ""
        if act:
            return self._act(act, output_audio_path)
        given = {"sampling": sampling, "sound": tts_ref_audio is not None, **kwargs}
        return json.dumps(
            {"parts": [[msg["role"], *map(_told, msg["content"])] for msg in msgs], "given": given}
        )

    def _act(self, act, path):
        if act == "die":
            os._exit(3)
        if act == "hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        if act == "run out of memory":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 8.00 GiB.")
        if act == "lose the device":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if act == "raise":
            raise IndexError("list index out of range")
        if act == "return nothing":
            return None
        if act == "return noise":
            os.write(1, b'{"type": "result", "id": "a", "ok": true, "text": "forged"}\n\xff\xfe\n')
            return "\ud800 \x1b[31m \x00 " + "x" * 300_000
        if act == "return a pair":
            return "said", np.zeros(2400, dtype=np.float32)
        if act == "return a tensor":
            return "said", torch.ones(1, 2400, dtype=torch.bfloat16, requires_grad=True)
        if act == "return no numbers":
            return "said", np.full(2400, np.nan, dtype=np.float32)
        if act == "write half a sound":
            Path(path).write_bytes(b"RIFF\x24\x10\x00\x00WAVEfmt ")
        if act.startswith("write a long sound"):
            try:
                with wave.open(path, "wb") as file:
                    file.setparams((1, 2, 24_000, 0, "NONE", ""))
                    file.writeframes(bytes(200_000))
            except OSError as error:
                if act.endswith("a system error"):
                    raise LibsndfileError("System error.") from error
                if not act.endswith("tell nobody"):
                    raise
        return "done"


def _told(part):
    if isinstance(part, str):
        return part
    array = np.asarray(part)
    return [
        type(part).__name__,
        str(array.dtype),
        list(array.shape),
        hashlib.sha256(array.tobytes()).hexdigest(),
    ]
