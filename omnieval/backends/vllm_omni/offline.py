"""vLLM-Omni's engine without a server: its class `Omni` in a process that the run starts, one a device.

The engine gives its answer whole: the time to the first text is its own, where it tells, and there is none to
the first sound. It is given as many requests at a time as the run has in flight for it, and works on them
together.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter

from omnieval import own_process
from omnieval.backends.base import BackendContext, Need
from omnieval.backends.engines.backed import EngineBacked
from omnieval.backends.engines.devices import visible
from omnieval.backends.engines.engine import Launch
from omnieval.backends.engines.log import EngineLog, new_log_folder
from omnieval.backends.engines.model_folder import model_name
from omnieval.backends.failed import FailedTry
from omnieval.backends.faults import shorten
from omnieval.backends.replicas import Replicas
from omnieval.backends.rounding import rounded
from omnieval.backends.sound.piece import add_base64
from omnieval.backends.sound.spoken import Spoken
from omnieval.backends.stages import thinker_s
from omnieval.backends.vllm_omni.needs import engine_needs, installed
from omnieval.backends.vllm_omni.prompt import EXTRA_FIELDS
from omnieval.config import RunConfig, most_in_flight
from omnieval.errors import ConfigError
from omnieval.media.cache import default_cache_dir
from omnieval.parsing import well_formed
from omnieval.types import (
    Backend,
    Capabilities,
    Failure,
    JsonDict,
    Request,
    Response,
    ServerFacts,
    Timing,
    Usage,
)

_REQUEST = TypeAdapter(Request)
_OWN_ARGUMENTS = ("model", "deploy_config", "stage_init_timeout", "trust_remote_code")
# What an engine's own errors mean: (pattern, kind, retryable, next step).
_MEANINGS = (
    (r"At most \d+ (image|audio|video)", "configuration", False,
     "--set 'vllm_omni.arguments={limit_mm_per_prompt: {image: 64, audio: 64}}', or the deploy file's"),
    (r"maximum (context|model) length|max_model_len", "configuration", False,
     "raise max_model_len in the deploy file, or lower max_frames or decode.max_tokens"),
    (r"out of memory|OutOfMemory|alloc failed", "server", True,
     "lower --concurrency, or gpu_memory_utilization in the deploy file"),
    (r"EngineDead|Orchestrator|stage.*(dead|died)", "server", True, "look at the engine's log"),
    (r"^(ValueError|TypeError|VLLMValidationError|OmniClientError)", "sample", False,
     "the engine takes this request for a wrong one; look at the sample and at the engine's log"),
)  # fmt: skip


def create(config: RunConfig, context: BackendContext) -> Backend:
    """The backend `vllm-omni-offline`, one engine for each of `engine.devices`.

    Raises ConfigError without a model, and for settings that it would not heed.
    """
    del context
    if config.model is None:
        raise ConfigError(
            "the backend vllm-omni-offline needs the model: --model with its folder, or its name on the hub"
        )
    _refuse_unheeded(config)
    logs = new_log_folder(config.cache_dir or default_cache_dir())
    devices = config.engine.devices
    if len(devices) < 2:
        return VllmOmniOffline(config, devices[0] if devices else None, logs)
    return Replicas([(device, VllmOmniOffline(config, device, logs)) for device in devices])


class VllmOmniOffline(EngineBacked):
    """One engine. Follows `omnieval.types.Backend`, `TellsNeeds`, `TellsLife` and `GivesUp`.

    device: as in `engine.devices`; None for what the environment shows. logs: folder for what the engine
    says.
    """

    def __init__(self, config: RunConfig, device: str | None, logs: Path) -> None:
        share = -(-most_in_flight(config.concurrency) // max(1, len(config.engine.devices)))
        self.capabilities = Capabilities(max_concurrency=share)
        self._config = config
        self._model = model_name(config.model or "")
        self._device = device
        self._log = EngineLog(logs / f"{(device or 'engine').replace(':', '')}.log")
        super().__init__(self._launch(share))

    def needs(self) -> list[Need]:
        """See `TellsNeeds`."""
        return engine_needs(self._config)

    async def check(self) -> ServerFacts:
        """Load the model. Raises BackendError where it cannot be loaded, with what the engine's log says."""
        ready = await self._engine.first_start()
        deploy = self._config.vllm_omni.deploy_config
        details: JsonDict = {
            "vllm": installed("vllm"),
            "sampling": ready.get("sampling"),
            "log": str(self._log.path),
        }
        if deploy is not None:
            details["deploy_sha256"] = hashlib.sha256(deploy.read_bytes()).hexdigest()
        return ServerFacts(
            backend="vllm-omni-offline",
            model=self._model,
            version=installed("vllm-omni"),
            details=details,
        )

    async def generate(self, request: Request) -> Response:
        started_wall = time.time()
        message = {"request": _REQUEST.dump_python(request, mode="json")}
        try:
            await self._engine.up()
            started_wall, started = time.time(), time.monotonic()
            answer = await self._engine.ask(request.sample_id, message, limit_s=self._config.timeouts.total_s)
            if not answer.get("ok"):
                raise FailedTry(self._failure(request.sample_id, answer))
            return self._response(request, answer, started_wall, time.monotonic() - started)
        except FailedTry as failed:
            return Response(request.sample_id, error=failed.failure, timing=Timing(started=started_wall))

    def _launch(self, at_once: int) -> Launch:
        config = self._config
        settings = config.vllm_omni
        return Launch(
            name=f"the engine on {self._device}" if self._device else "the engine",
            command=own_process.command("omnieval.backends.vllm_omni.worker"),
            env=own_process.environment() | visible(self._device),
            log=self._log,
            start_s=config.engine.start_s,
            restarts=config.engine.restarts,
            greeting={
                "model": str(Path(config.model or "").expanduser()),
                "deploy_config": None if settings.deploy_config is None else str(settings.deploy_config),
                "arguments": settings.arguments,
                "trust_remote_code": config.engine.trust_remote_code,
                "stage_init_timeout": int(config.engine.start_s),
                "at_once": at_once,
                "placeholders": {"image": settings.image, "audio": settings.audio},
                "separator": settings.separator,
            },
            at_once=at_once,
        )

    def _failure(self, sample_id: str, answer: Mapping[str, object]) -> Failure:
        error = shorten(str(answer.get("error")))
        kind = answer.get("kind")
        if isinstance(kind, str):
            return Failure(kind, f"sample {sample_id}: {error}", hint=f"see {self._log.path}")
        together = answer.get("together")
        if isinstance(together, int) and together > 1:
            self._engine.suspect(sample_id)
            message = f"one of {together} requests that the engine worked on together failed: {error}"
            return Failure("server", message, retryable=True, hint="each is asked by itself now")
        for pattern, meaning, retryable, hint in _MEANINGS:
            if re.search(pattern, error, re.IGNORECASE):
                return Failure(meaning, f"the engine: {error}", retryable=retryable, hint=hint)
        return Failure("server", f"the engine: {error}", retryable=True, hint=f"see {self._log.path}")

    def _response(
        self, request: Request, answer: Mapping[str, object], started_wall: float, took_s: float
    ) -> Response:
        """Raises FailedTry where the text was given up, or the sound cannot be used."""
        reason = answer.get("finish_reason")
        if reason in ("abort", "error"):
            message = f"the engine gave the answer up ({reason})"
            raise FailedTry(Failure("server", message, retryable=True, hint=f"see {self._log.path}"))
        spoken = Spoken(self._config.pcm)
        wav = answer.get("wav")
        if isinstance(wav, str):
            add_base64(spoken, wav, took_s)
        if answer.get("clipped"):
            spoken.note(f"{answer['clipped']} samples of the sound were beyond full scale and clipped to it")
        length_s = spoken.duration_s
        prompt, completion = answer.get("prompt_tokens"), answer.get("completion_tokens")
        stages = answer.get("stage_metrics")
        metrics = stages if isinstance(stages, dict) else {}
        return Response(
            sample_id=request.sample_id,
            text=well_formed(str(answer.get("text") or "")),
            finish_reason=str(reason) if reason else "stop",
            usage=Usage(
                prompt if isinstance(prompt, int) else None,
                completion if isinstance(completion, int) else None,
            ),
            timing=Timing(
                started=started_wall,
                ttft_s=thinker_s(metrics, "vllm_ttft_ms"),
                tpot_s=thinker_s(metrics, "vllm_tpot_ms"),
                e2e_s=rounded(took_s),
                rtf=rounded(took_s / length_s) if length_s else None,
            ),
            model=self._model,
            audio=spoken.finish(in_pieces=False),
            notes=spoken.notes,
            server_metrics=metrics,
        )


def _refuse_unheeded(config: RunConfig) -> None:
    """Raises ConfigError."""
    unheeded = [
        name for name, value in config.extra_body.items() if value is not None and name not in EXTRA_FIELDS
    ]
    if unheeded:
        raise ConfigError(
            f"extra_body.{unheeded[0]} means nothing to the backend vllm-omni-offline, which heeds "
            f"{' and '.join(EXTRA_FIELDS)}; leave it out, or set it to null"
        )
    own = [name for name in _OWN_ARGUMENTS if name in config.vllm_omni.arguments]
    if own:
        raise ConfigError(
            f"vllm_omni.arguments.{own[0]} has a setting of its own; set --model, vllm_omni.deploy_config, "
            "engine.start_s or engine.trust_remote_code instead"
        )
