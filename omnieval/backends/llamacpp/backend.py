"""llama.cpp-omni: its evaluation programs (transport `cli`), or its server (transport `http`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from omnieval.backends.base import BackendContext
from omnieval.backends.engines.log import new_log_folder
from omnieval.backends.llamacpp.cli import LlamaCppProgram
from omnieval.backends.llamacpp.http import LlamaCppServer
from omnieval.backends.llamacpp.manifest import LlamaCppSpeech
from omnieval.backends.replicas import Replicas
from omnieval.config import RunConfig
from omnieval.media.cache import default_cache_dir
from omnieval.types import Backend

Make = Callable[[RunConfig, str | None, Path], Backend]


def create(config: RunConfig, context: BackendContext) -> Backend:
    """The backend `llamacpp-omni`. Raises ConfigError where the configuration cannot be run."""
    if config.llamacpp.transport == "http":
        return LlamaCppServer(config, context)
    make: Make = LlamaCppProgram if config.modalities == ("text",) else LlamaCppSpeech
    logs = new_log_folder(config.cache_dir or default_cache_dir())
    devices = config.engine.devices
    if len(devices) < 2:
        return make(config, devices[0] if devices else None, logs)
    return Replicas([(device, make(config, device, logs)) for device in devices])
