"""The backends by name; each factory is a function `create(config, context) -> Backend`."""

from __future__ import annotations

from omnieval.registry import Registry

BACKENDS = Registry(
    kind="backend",
    group="omnieval.backends",
    builtin={
        "openai-chat": "omnieval.backends.chat.openai_chat:create",
        "openai-speech": "omnieval.backends.speech.openai_speech:create",
        "realtime-duplex": "omnieval.backends.realtime.duplex:create",
        "llamacpp-omni": "omnieval.backends.llamacpp.backend:create",
        "vllm-omni-offline": "omnieval.backends.vllm_omni.offline:create",
        "transformers-minicpmo": "omnieval.backends.minicpmo.backend:create",
        "ground-truth": "omnieval.backends.recorded:create_ground_truth",
        "recorded": "omnieval.backends.recorded:create_recorded",
        "embedded": "omnieval.backends.embedded.backend:create",
        "chance": "omnieval.backends.chance:create",
    },
)
