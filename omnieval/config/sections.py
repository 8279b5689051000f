"""The sections of a run's configuration, one model each."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

_DEVICE = re.compile(r"cpu|(npu|cuda):\d+(\+\d+)*")


class Strict(BaseModel):
    """A frozen pydantic model that refuses unknown keys, and numbers that JSON cannot hold."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DecodeConfig(Strict):
    """Decoding options sent to the model; null leaves the server's own default alone.

    constrain: `choice` asks the server to allow nothing but one of the option letters.
    """

    max_tokens: int = Field(128, ge=1)
    temperature: float | None = Field(0.0, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = None
    repetition_penalty: float | None = Field(None, gt=0)
    seed: int | None = None
    constrain: Literal["choice"] | None = None


class OptionsConfig(Strict):
    """The order in which the options of a question are shown.

    order: `original`; `shuffle`, by seed and sample; `circular`, which asks each question once a rotation
    and counts it right only if every answer is.
    """

    order: Literal["original", "shuffle", "circular"] = "original"
    seed: int = 0


class SelectConfig(Strict):
    """Which samples of the data set are asked; the rest is counted as not asked."""

    limit: int | None = Field(None, ge=1)
    sample_id: tuple[str, ...] = ()
    filter: dict[str, str] = {}
    shuffle_seed: int | None = None


class TimeoutConfig(Strict):
    """Seconds. first_token covers upload, queueing and prefill; between_chunks a stalled stream."""

    connect_s: float = Field(10.0, gt=0)
    first_token_s: float = Field(600.0, gt=0)
    between_chunks_s: float = Field(120.0, gt=0)
    total_s: float = Field(1800.0, gt=0)


class RetryConfig(Strict):
    """Bounded retries of failures that can heal: capped exponential waits with jitter.

    stop_after: end the run after this many samples in a row failed for a reason that every sample
    would meet (a refused configuration, a server that is gone, one reason against all); 0 never ends it.
    in_all: tries again over the whole run, so that a sick server is not asked for ever. wait_for_server_s:
    how long a server that is gone may take to come back before the run ends; 0 does not wait.
    """

    attempts: int = Field(4, ge=1)
    first_wait_s: float = Field(1.0, ge=0)
    max_wait_s: float = Field(60.0, ge=0)
    stop_after: int = Field(8, ge=0)
    in_all: int = Field(2000, ge=0)
    wait_for_server_s: float = Field(300.0, ge=0)


class TransportConfig(Strict):
    """How media reach the server.

    kind: `file` (file:// paths), `inline` (base64 in the request), `http` (a small file server of our
    own), or `auto`: file when the server runs on this machine, else inline.
    by_name: a server that keeps media by name (vLLM's `uuid`) is sent each but once, where the preflight
    proves that it does (`auto`), or never.
    host, port, public_url: where the file server of `http` listens (0 picks a free port) and the base
    URL under which the model server reaches it, when that differs.
    """

    kind: Literal["auto", "file", "inline", "http"] = "auto"
    by_name: Literal["auto", "never"] = "auto"
    host: str = "127.0.0.1"
    port: int = Field(0, ge=0, le=65535)
    public_url: str | None = None


class PcmConfig(Strict):
    """The format of raw 16-bit PCM from a server that does not say it.

    rate_hz: null assumes 24 000, and says so in the report.
    """

    rate_hz: int | None = Field(None, ge=4_000, le=384_000)
    channels: int = Field(1, ge=1, le=8)


class DuplexConfig(Strict):
    """How a full-duplex session hears. speed: 1 is real time. silence_s: the most silence after its input."""

    speed: float = Field(1.0, gt=0, le=100)
    silence_s: float = Field(30.0, ge=1, le=600)


class RecogniserConfig(Strict):
    """Who hears what was said. auto: the official one, whisper-hf for English and paraformer for Mandarin.

    model: a local folder or file, or a name that the library knows; null is the protocol's own. device:
    auto, cpu, cuda:N or npu:N.
    """

    name: Literal["auto", "whisper-hf", "whisper", "paraformer", "faster-whisper"] = "auto"
    model: str | None = None
    device: str = "auto"


class SimilarityConfig(Strict):
    """How alike two voices are. encoder: wavlm-sv is the official one; none measures no similarity.

    model: its checkpoint or folder.
    """

    encoder: Literal["wavlm-sv", "wavlm-mean", "ge2e", "none"] = "wavlm-sv"
    model: Path | None = None
    device: str = "auto"


class PrepareConfig(Strict):
    """Media are prepared by processes of their own, so that a broken file costs one of them.

    workers: how many; null for one a processor. The limits are for one file.
    """

    workers: int | None = Field(None, ge=1)
    time_limit_s: float = Field(300.0, gt=0)
    memory_limit_gib: float = Field(4.0, gt=0)


class EngineConfig(Strict):
    """Engines that a run starts itself, one for each entry of `devices`.

    devices: `npu:0`, `cuda:1`, or `cpu`; `npu:0+1` shows one engine two cards. None: one engine, which sees
    what the environment shows. start_s: how long a model may take to load. restarts: of one engine, in a row
    without an answer between. trust_remote_code: whether code that comes with the model may run.
    """

    devices: tuple[str, ...] = ()
    start_s: float = Field(900.0, gt=0)
    restarts: int = Field(8, ge=0)
    trust_remote_code: bool = False

    @field_validator("devices")
    @classmethod
    def _named(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if not _DEVICE.fullmatch(value):
                raise ValueError(f"expected npu:N, cuda:N, npu:N+M or cpu, found {value!r}")
        cards = Counter(card for value in values for card in _cards(value))
        twice = [card for card, count in cards.items() if count > 1]
        if twice:
            raise ValueError(f"{twice[0]} is named twice; one engine a card")
        return values


def _cards(device: str) -> list[str]:
    """`npu:0+1` as npu:0 and npu:1."""
    kind, _, numbers = device.partition(":")
    return [f"{kind}:{int(number)}" for number in numbers.split("+")] if numbers else [kind]


class TelemetryConfig(Strict):
    """How busy this machine is while a run goes on, measured into the run's `telemetry.jsonl`.

    devices: `auto` (processors and memory, and every accelerator where the model runs on this machine),
    `none`, or names of those to measure: `machine`, `npu:N`, `gpu:N`. every_s: from one measurement to the
    next; a coarser series than 0.5 s says little of how busy a device is.
    """

    devices: Literal["auto", "none"] | tuple[str, ...] = "auto"
    every_s: float = Field(0.5, ge=0.05, le=0.5)


class LlamaCppConfig(Strict):
    """The backend `llamacpp-omni`.

    transport: `cli` starts llama.cpp-omni's evaluation programs, `http` asks a `llama-omni-server` at
    base_url. program: the executable; null for the one that the benchmark takes, on the PATH. context,
    gpu_layers: of the programs. max_sound_s: longer sounds are cut to it, since the engine hears 30 s and
    longer ones have crashed it; null sends them whole. prompt_bundles: folder with what was extracted of the
    reference voices, one folder a voice. output_dir: where a server writes its sounds, on a disk that this
    machine sees too; null for a folder of this machine. voice_clone_prompt, assistant_prompt: what the server
    says around the voice to copy; null for its own. arguments: further ones for the program.
    """

    transport: Literal["cli", "http"] = "cli"
    program: Path | None = None
    context: int | None = Field(None, ge=1)
    gpu_layers: int = Field(999, ge=0)
    max_sound_s: float | None = Field(29.9, gt=0)
    prompt_bundles: Path | None = None
    output_dir: Path | None = None
    voice_clone_prompt: str | None = None
    assistant_prompt: str | None = None
    arguments: tuple[str, ...] = ()

    @field_validator("prompt_bundles", "output_dir")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()


class VllmOmniConfig(Strict):
    """The backend `vllm-omni-offline`.

    deploy_config: YAML of the engine's stages; null for the one that vLLM-Omni has for the model. arguments:
    further ones for its class `Omni`, such as limit_mm_per_prompt. image, audio: what stands for a picture or
    a sound in the prompt. separator: what stands between the parts of a message.
    """

    deploy_config: Path | None = None
    arguments: dict[str, Any] = {}
    image: str = "(<image>./</image>)"
    audio: str = "(<audio>./</audio>)"
    separator: str = "\n"

    @field_validator("deploy_config")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()


class TransformersConfig(Strict):
    """A model in process by transformers (backend `transformers-minicpmo`).

    dtype: of its weights. num_beams: how many answers are followed at once; null leaves the model's own.
    """

    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    attention: Literal["sdpa", "flash_attention_2", "eager"] = "sdpa"
    num_beams: int | None = Field(None, ge=1)
