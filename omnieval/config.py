"""RunConfig: everything that decides a run, resolved once and stored with the run.

Sources, weakest first: environment (paths only), the recipe file, `--set key=value`, flags. A recipe is
flat YAML; keys that belong to a benchmark (its `Settings` model) stand beside the common ones. Unknown
keys are errors that suggest the nearest known key.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from omnieval.errors import ConfigError

M = TypeVar("M", bound=BaseModel)

_DEVICE = re.compile(r"cpu|(npu|cuda):\d+(\+\d+)*")
# Beyond this `concurrency: auto` does not look.
_MOST_IN_FLIGHT = 256


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
        if len(set(values)) < len(values):
            raise ValueError("a device is named twice; one engine a card")
        return values


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
    extra_body: dict[str, Any] = {}
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
_LATER_KEYS: Mapping[str, Any] = {"question_place": "after"}

# Environment variables that may set a key: paths only, never anything that changes a score.
PATH_VARIABLES: Mapping[str, str] = {
    "OMNIEVAL_CACHE_DIR": "cache_dir",
    "OMNIEVAL_DATA_DIR": "data",
    "OMNIEVAL_RUNS_DIR": "runs_dir",
}


def load_recipe(path: Path) -> dict[str, Any]:
    """The keys of a recipe file.

    Raises ConfigError naming the file (and line, for YAML errors) when it cannot be read as a mapping.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the recipe: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}; mend the recipe") from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ConfigError(f"{path}: a recipe is a mapping of keys to values, found {type(values).__name__}")
    return values


def parse_assignment(text: str) -> tuple[str, Any]:
    """`key=value` or `section.key=value` of `--set`; the value is read as YAML (true, 3, [a, b], null)."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise ConfigError(f"--set {text!r}: expected key=value, for example --set max_frames=32")
    try:
        return key.strip(), yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise ConfigError(f"--set {shown!r}: the value is not valid YAML: {error}") from error


def assign(values: dict[str, Any], dotted_key: str, value: Any) -> None:
    """Set `values["a"]["b"]` for the dotted key `a.b`; a mapping is replaced, not merged."""
    *sections, last = dotted_key.split(".")
    for section in sections:
        child = values.get(section)
        child = dict(child) if isinstance(child, dict) else {}
        values[section] = child
        values = child
    values[last] = value


def environment_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """The path settings that the environment gives."""
    return {key: environ[name] for name, key in PATH_VARIABLES.items() if environ.get(name)}


def resolve(
    recipe: Mapping[str, Any],
    settings_of: Callable[[str], type[Strict]],
    *,
    overrides: Iterable[tuple[str, Any]] = (),
    environ: Mapping[str, str] = os.environ,
) -> RunConfig:
    """Merge the sources into one RunConfig.

    recipe: keys of the recipe file. settings_of: gives a benchmark's settings model by its name.
    overrides: (dotted key, value) pairs, later ones win.
    Raises ConfigError that names the key and, for an unknown one, the nearest known key.
    """
    try:
        values: dict[str, Any] = json.loads(json.dumps(dict(recipe), default=str))
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"the recipe holds what JSON cannot hold ({error}); mend the recipe") from error
    for key, path in environment_paths(environ).items():
        if values.get(key) is None:
            values[key] = path
    for key, value in overrides:
        assign(values, key, value)
    try:
        infinite = list(_infinite(values))
    except RecursionError:
        raise ConfigError(
            "the settings are nested too deep, or one of them holds itself; unfold it"
        ) from None
    for key, number in infinite:
        raise ConfigError(f"configuration key {key!r}: expected a finite number, found {number}")
    benchmark = values.get("benchmark")
    if not isinstance(benchmark, str):
        raise ConfigError("the recipe names no benchmark; add a line such as `benchmark: daily-omni`")
    values.setdefault("recipe", benchmark)
    settings = settings_of(benchmark)
    common = set(RunConfig.model_fields) - {"task"}
    known = common | set(settings.model_fields)
    unknown = sorted(set(values) - known)
    if unknown:
        raise ConfigError("\n".join(_unknown_key(key, known) for key in unknown))
    core = {key: value for key, value in values.items() if key in common}
    own = {key: value for key, value in values.items() if key not in common}
    return _validated(RunConfig, core | {"task": _validated(settings, own)})


def differences(stored: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """Lines `key: stored -> current` for every key in which two flat configurations differ."""
    lines: list[str] = []
    for key in sorted(set(stored) | set(current)):
        old, new = stored.get(key), current.get(key)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            lines += [f"{key}.{line}" for line in differences(old, new)]
        else:
            lines.append(
                f"{key}: {json.dumps(old, ensure_ascii=False)} -> {json.dumps(new, ensure_ascii=False)}"
            )
    return lines


def counted(count: int, one: str, many: str) -> str:
    """`1 row is`, `2 rows are`: a number with the words that go with it."""
    return f"{count} {one if count == 1 else many}"


def suggest(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` when a known name is near, else the known names."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1)
    if near:
        return f" (did you mean {near[0]!r}?)"
    return f" (known: {', '.join(names)})" if names else ""


def _infinite(values: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """(dotted key, value) of every number at any depth that is infinite or none."""
    if isinstance(values, float) and not math.isfinite(values):
        yield place, values
    children = (
        values.items()
        if isinstance(values, Mapping)
        else enumerate(values)
        if isinstance(values, list | tuple)
        else ()
    )
    for key, value in children:
        yield from _infinite(value, f"{place}.{key}" if place else str(key))


def _unknown_key(key: str, known: Iterable[str]) -> str:
    return f"unknown configuration key {key!r}{suggest(key, known)}"


def _validated(model: type[M], values: Mapping[str, Any]) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(model, item) for item in error.errors())) from error


def _explain(model: type[BaseModel], item: Any) -> str:
    location = [str(part) for part in item["loc"]]
    if item["type"] == "extra_forbidden":
        parent: Any = model
        for part in location[:-1]:
            parent = parent.model_fields[part].annotation
        section = ".".join(location[:-1])
        known = [f"{section}.{name}" if section else name for name in parent.model_fields]
        return _unknown_key(".".join(location), known)
    message = item["msg"].removeprefix("Value error, ")
    return f"configuration key {'.'.join(location)!r}: {message}, found {item.get('input')!r}"
