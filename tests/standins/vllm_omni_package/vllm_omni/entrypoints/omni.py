"""`Omni` as vLLM-Omni has it: two stages, a child for each, outputs by stage, and an engine that closes itself
when a request raises. It answers with a letter that depends on the question, and speaks a tone.

The file FAULTS in the model's folder holds, by a word of the prompt, what goes wrong; and `start`, what goes wrong
at the start. A fault with a number N before it (`2 die`) strikes the first N times only; the times are counted in
a file beside it. Every call is written to CALLS there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from vllm.sampling_params import SamplingParams

# Where MiniCPM-o 4.5 finds the voice: (samples, rate in Hz).
_VOICE = "_minicpmo45_reference_audio"
_STAGES = (
    {"num_tokens_in": 9, "num_tokens_out": 2, "stage_gen_time_ms": 40.0, "vllm_ttft_ms": 12.5, "vllm_tpot_ms": 9.0,
     "vllm_itls_ms": [9.0]},
    {"num_tokens_in": 2, "num_tokens_out": 25, "stage_gen_time_ms": 160.0},
)  # fmt: skip


@dataclass
class Completion:
    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    finish_reason: str | None = "stop"
    multimodal_output: dict[str, Any] = field(default_factory=dict)


@dataclass
class RequestOutput:
    request_id: str
    prompt_token_ids: list[int]
    outputs: list[Completion]


@dataclass
class OmniRequestOutput:
    stage_id: int
    final_output_type: str
    request_output: RequestOutput
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def request_id(self) -> str:
        return self.request_output.request_id


class EngineDeadError(Exception):
    pass


class OmniEngineDeadError(EngineDeadError):
    """As the stages' own errors are named when the engine is beyond help."""


class Omni:
    def __init__(
        self,
        model: str,
        *,
        deploy_config: str | None = None,
        stage_init_timeout: int = 300,
        trust_remote_code: bool = False,
        limit_mm_per_prompt: dict[str, int] | None = None,
    ) -> None:
        print("INFO loading the stages", flush=True)  # as vLLM does, on standard output
        self._folder = Path(model)
        self._limits = limit_mm_per_prompt or {"image": 64, "audio": 64}
        self._stages = [
            subprocess.Popen([sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"])
            for _ in range(2)
        ]
        with (self._folder / "PIDS").open("a") as file:
            file.write("".join(f"{pid}\n" for pid in (os.getpid(), *(stage.pid for stage in self._stages))))
        fault = self._fault("start")
        if fault == "raise":
            raise RuntimeError("NPU out of memory. Tried to allocate 20.00 GiB")
        self._misbehave(fault)
        self.default_sampling_params_list = [SamplingParams(), SamplingParams(max_tokens=4096)]
        self.is_running = True

    def generate(
        self,
        prompts: list[dict[str, Any]],
        sampling_params_list: list[Any] | None = None,
        *,
        use_tqdm: bool = True,
    ) -> list[OmniRequestOutput]:
        assert sampling_params_list is not None and len(sampling_params_list) == 2
        if not self.is_running:
            raise EngineDeadError("Orchestrator process is not alive")
        self._write_down(prompts, sampling_params_list)
        try:
            found: list[OmniRequestOutput] = []
            for i, prompt in enumerate(prompts):
                found += self._answer(f"{i}_{uuid.uuid4()}", prompt, sampling_params_list[0])
            return found[::-1]  # in no order that one could count on
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        self.is_running = False
        for stage in self._stages:
            stage.kill()
            stage.wait()

    def _answer(self, name: str, prompt: dict[str, Any], sampling: Any) -> list[OmniRequestOutput]:
        text = prompt["prompt"]
        media = prompt.get("multi_modal_data", {})
        for kind, items in media.items():
            if len(items) > self._limits[kind]:
                raise ValueError(f"At most {self._limits[kind]} {kind}(s) may be provided in one prompt.")
            assert text.count(f"(<{kind}>./</{kind}>)") == len(items)
        fault = next((self._fault(word) for word in self._faults() if word in text), None)
        self._misbehave(fault)
        if fault == "raise":
            raise ValueError("Failed to apply MiniCPMOProcessor")
        if fault == "lose a stage":
            raise OmniEngineDeadError("Stage-1 has no live replica")
        reason = {"give up": "abort", "no reason": None}.get(fault or "", "stop")
        letter = (
            sampling.structured_outputs.choice[0] if sampling.structured_outputs else "ABCD"[len(text) % 4]
        )
        whole = Completion(letter, [1, 2], reason)
        outputs = [OmniRequestOutput(0, "text", RequestOutput(name, [0] * len(text.split()), [whole]))]
        if "audio" in prompt["modalities"]:
            outputs.append(OmniRequestOutput(1, "audio", RequestOutput(name, [], [_sound(fault)])))
        stages: dict[str, Any] = {}
        for output in outputs:
            stages[str(output.stage_id)] = dict(_STAGES[output.stage_id])
            output.metrics = {"stage_metrics": dict(stages)}  # of the stages so far
        if fault == "garbage":
            outputs[0].request_output = RequestOutput(name, [], [object()])  # type: ignore[list-item]
        return [] if fault == "nothing" else outputs

    def _misbehave(self, fault: str | None) -> None:
        if fault == "die":
            print("EngineCore: NPU error 507011, aborting", file=sys.stderr, flush=True)
            os._exit(1)
        if fault == "be killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "hang":
            time.sleep(600)

    def _faults(self) -> dict[str, str]:
        path = self._folder / "FAULTS"
        return json.loads(path.read_text()) if path.is_file() else {}

    def _fault(self, word: str) -> str | None:
        told = self._faults().get(word)
        if told is None or not told[0].isdigit():
            return told
        times, _, fault = told.partition(" ")
        counter = self._folder / f"COUNT-{word}"
        struck = int(counter.read_text()) if counter.exists() else 0
        counter.write_text(str(struck + 1))
        return fault if struck < int(times) else None

    def _write_down(self, prompts: list[dict[str, Any]], sampling: list[Any]) -> None:
        shown = [
            {
                **{key: value for key, value in prompt.items() if key not in ("multi_modal_data", _VOICE)},
                "voice": [len(prompt[_VOICE][0]), prompt[_VOICE][1]] if _VOICE in prompt else None,
                "media": {
                    kind: [list(np.shape(item if kind == "image" else item[0])) for item in items]
                    for kind, items in prompt.get("multi_modal_data", {}).items()
                },
            }
            for prompt in prompts
        ]
        line = {
            "prompts": shown,
            "max_tokens": [stage.max_tokens for stage in sampling],
            "temperature": [stage.temperature for stage in sampling],
            "devices": [os.environ.get(f"{kind}_VISIBLE_DEVICES") for kind in ("ASCEND_RT", "CUDA")],
            "pid": os.getpid(),
        }
        with (self._folder / "CALLS").open("a") as file:
            file.write(json.dumps(line) + "\n")


def _sound(fault: str | None) -> Completion:
    """Half a second at 24 kHz, in the pieces in which a real stage makes it."""
    tone = (0.3 * np.sin(2 * np.pi * 440 * np.arange(12_000) / 24_000)).astype(np.float32)
    if fault == "no numbers":
        tone[5] = np.nan
    if fault == "too loud":
        tone[7] = 1.5
    if fault == "no sound":
        return Completion()
    return Completion(multimodal_output={"audio": [tone[None, :7000], tone[None, 7000:]], "sr": 24_000})
