"""RunConfig: everything that decides a run, resolved once and stored with the run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from omnieval.config.sections import (
    DecodeConfig,
    DuplexConfig,
    EngineConfig,
    LlamaCppConfig,
    OptionsConfig,
    PcmConfig,
    PrepareConfig,
    RetryConfig,
    SelectConfig,
    Strict,
    TelemetryConfig,
    TimeoutConfig,
    TransformersConfig,
    TransportConfig,
    VllmOmniConfig,
)

# Beyond this `concurrency: auto` does not look.
_MOST_IN_FLIGHT = 256

# Where and how fast, not what, and who hears it afterwards: these may differ when a run is resumed. `data` is
# here because the data set's fingerprint is compared instead of its path.
OPERATIONAL: frozenset[str] = frozenset(
    {
        "recipe", "base_url", "replicas", "api_key_env", "data", "runs_dir", "cache_dir", "cache_limit_gb",
        "concurrency", "request_rate", "prepare", "timeouts", "retry", "transport", "engine", "recordings",
        "preflight", "recogniser", "similarity", "score", "gate", "stop_when", "telemetry",
    }
)  # fmt: skip

# Keys that came when there were runs already, with the value that asks as those did.
_LATER_KEYS: Mapping[str, Any] = {"question_place": "after", "stack_frames": 1}


class RunConfig(Strict):
    """One run, fully resolved. `task` holds the benchmark's own settings; the API key is not here.

    question_place: where a question stands, after its media or before them. preflight: a deployment is asked
    a few telling questions before a run of many samples (auto), before every run, or never. stream: ask for
    the answer in pieces as it is made. warmup: requests sent, and kept apart, before the first that counts.
    replicas: base URLs of further servers of the same model. concurrency: requests in flight; auto finds as
    many as the server makes use of. request_rate: requests a second, at random intervals, up to `concurrency`
    in flight; null sends them as fast as there is room. gate: the gate by which the run is to be judged, a
    bundled one's name or a path. stop_when: `gate` asks videos in random order and ends the run once the
    gate's lines are decided (see `omnieval.stats.sequential`). recordings: folder of `{id}.wav`
    files for the backend `recorded`.
    """

    recipe: str
    benchmark: str
    backend: str = "openai-chat"
    model: str | None = None
    parser: str = "official"
    decode: DecodeConfig = DecodeConfig()
    modalities: tuple[str, ...] = ("text",)
    media: Literal["full", "none"] = "full"
    question_place: Literal["after", "before"] = "after"
    options: OptionsConfig = OptionsConfig()
    extra_body: dict[str, Any] = Field(default_factory=dict)
    transformers: TransformersConfig = TransformersConfig()
    select: SelectConfig = SelectConfig()
    backend_seed: int = 0
    gate: str | None = None
    stop_when: Literal["gate"] | None = None
    stream: bool = True
    pcm: PcmConfig = PcmConfig()
    duplex: DuplexConfig = DuplexConfig()
    warmup: int = Field(0, ge=0)

    base_url: str | None = None
    replicas: tuple[str, ...] = ()
    api_key_env: str = "OPENAI_API_KEY"
    data: Path | None = None
    recordings: Path | None = None
    runs_dir: Path = Path("runs")
    cache_dir: Path | None = None
    cache_limit_gb: float | None = Field(None, gt=0)
    concurrency: int | Literal["auto"] = 8
    request_rate: float | None = Field(None, gt=0)
    preflight: Literal["auto", "always", "never"] = "auto"
    prepare: PrepareConfig = PrepareConfig()
    timeouts: TimeoutConfig = TimeoutConfig()
    retry: RetryConfig = RetryConfig()
    transport: TransportConfig = TransportConfig()
    engine: EngineConfig = EngineConfig()
    telemetry: TelemetryConfig = TelemetryConfig()
    llamacpp: LlamaCppConfig = LlamaCppConfig()
    vllm_omni: VllmOmniConfig = VllmOmniConfig()

    task: SerializeAsAny[Strict]

    @field_validator("model")
    @classmethod
    def _a_name(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("expected the model's name, folder or file, or null for the server's first")
        return value

    @field_validator("concurrency", mode="wrap")
    @classmethod
    def _some(cls, value: Any, parsed: ValidatorFunctionWrapHandler) -> Any:
        try:
            found = parsed(value)
        except ValidationError:
            found = 0
        if found != "auto" and found < 1:
            raise ValueError("expected a whole number from 1 up, or auto")
        return found

    @field_validator("request_rate")
    @classmethod
    def _one_that_leads(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("concurrency") == "auto":
            raise ValueError(
                "concurrency auto looks for the load that the server bears, and a rate sets the load: give a "
                "number for --concurrency, or no rate"
            )
        return value

    @field_validator("replicas")
    @classmethod
    def _plain_http_urls(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(_plain_http_url, values))

    @field_validator("base_url")
    @classmethod
    def _plain_http_url(cls, value: str | None) -> str | None:
        return None if value is None else _plain_http_url(value)

    @field_validator("data", "cache_dir", "recordings")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        if value is None or str(value).startswith("hf:"):  # the latter is a place on a hub
            return value
        return value.expanduser().absolute()

    @field_validator("gate")
    @classmethod
    def _absolute_if_path(cls, value: str | None) -> str | None:
        path = Path(value or "")
        if path.suffix not in (".yaml", ".yml") and len(path.parts) < 2:
            return value
        return str(path.expanduser().absolute())

    @field_validator("runs_dir")
    @classmethod
    def _expanded(cls, value: Path) -> Path:
        return value.expanduser()

    def flat(self) -> dict[str, Any]:
        """All keys as a recipe would write them, JSON-ready, benchmark settings beside the others."""
        values = self.model_dump(mode="json")
        task: dict[str, Any] = values.pop("task")
        return {**values, **task}

    def measured(self) -> dict[str, Any]:
        """The part of `flat` that decides what is measured; a resumed run must not change it."""
        return {key: value for key, value in self.flat().items() if key not in OPERATIONAL}

    def recipe_hash(self) -> str:
        """Hash over `measured`, so that two runs with equal hashes asked the same in the same way.

        Keys that came later are left out where they change nothing, so that older runs keep their hash.
        """
        measured = {
            key: value for key, value in self.measured().items() if (key, value) not in _LATER_KEYS.items()
        }
        text = json.dumps(measured, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def most_in_flight(concurrency: int | Literal["auto"]) -> int:
    """The most requests that such a configuration ever has in flight."""
    return _MOST_IN_FLIGHT if concurrency == "auto" else concurrency


def _plain_http_url(value: str) -> str:
    """A server's address without anything that must not be stored. Raises ValueError."""
    url = urlsplit(value)
    if not value.isprintable() or " " in value:
        raise ValueError(f"the URL has blanks or control characters, found {value!r}")
    _ = url.port  # raises for one that is no number, or out of range
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"expected a URL such as http://127.0.0.1:8000/v1, found {value!r}")
    if url.username or url.password:
        raise ValueError(
            "the URL carries a user name or password, which would be stored with the run; "
            "put the secret into an environment variable and name it with --api-key-env"
        )
    if url.query or url.fragment:
        raise ValueError(f"the URL must end with its path, such as /v1, found {value!r}")
    return value.rstrip("/")
