"""The types that the stages hand to each other: row -> Sample -> Request -> Response -> Score.

They are frozen and carry paths, never media bytes, so holding a whole data set of them is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

JsonDict = dict[str, Any]

# Failure kinds, in the order in which a report lists them.
FAILURE_KINDS: tuple[str, ...] = (
    "data",  # the row of the data set cannot be asked (no question, no options, bad id)
    "media_missing",  # a media file that the row names does not exist
    "media",  # the media file exists but cannot be decoded or lacks a needed track
    "connection",  # nothing answers, or the connection broke before an answer began
    "timeout",  # connect, first token, between chunks, or total
    "busy",  # 429, 503, resource exhausted
    "server",  # the server failed: 500, error inside a stream, stream cut short
    "configuration",  # the server refuses the request as configured; every sample would fail
    "sample",  # the server refuses this one sample
    "protocol",  # the answer is not what the protocol promises (not JSON, not SSE, HTML)
    "no_audio",  # an answer without sound, or with a sound of no length
    "listened",  # a full-duplex model chose to listen: an answer, but none with the sound to be scored
    "audio",  # an answer whose sound cannot be used (undecodable, not numbers)
    "recogniser",  # the recogniser failed on the sound
    "reference",  # nothing is left of the text to compare with
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one try at one sample gave no answer.

    `kind` is one of `FAILURE_KINDS`; `retryable` says whether the same request may succeed later;
    `status` is the HTTP status where there was one; `hint` is the next step for the user;
    `retry_after_s` is the wait that the server asked for.
    """

    kind: str
    message: str
    retryable: bool = False
    status: int | None = None
    hint: str | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One question of a benchmark.

    id: unique in the data set and stable between runs; safe to print, not used as a file name.
    question, options: as the data set has them (options may carry their labels).
    gold: the right option's letter, or the text to be said; None where the data set has no usable answer.
    groups: what a report breaks down by, e.g. {"type": ..., "category": ..., "duration": ...}.
    cluster: what samples share (the video); samples of one cluster follow each other in a run.
    media: file path by role, e.g. {"video": ..., "audio": ...}.
    problem: a fault of the row itself, found while reading; such a sample is counted, never asked.
    row: 0-based position in the data set's own order.
    order: where the options are shown in another order than the data set's, the original position of each
    shown one. origin: the question's own id where it is asked several times, in several orders.
    details: what else the benchmark must know of the row, e.g. the transcript of a reference voice.
    """

    id: str
    benchmark: str
    question: str
    options: tuple[str, ...]
    gold: str | None
    groups: Mapping[str, str]
    cluster: str
    media: Mapping[str, Path]
    row: int
    problem: Failure | None = None
    order: tuple[int, ...] = ()
    origin: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImageEncoding:
    """How a frame becomes a file; png and webp are lossless, quality and subsampling are for JPEG."""

    format: Literal["jpeg", "png", "webp"] = "jpeg"
    quality: int = 85
    subsampling: Literal["4:2:0", "4:2:2", "4:4:4"] = "4:2:0"


@dataclass(frozen=True, slots=True)
class MediaPlan:
    """What a sample needs from its media files; equal plans share one cache entry.

    video: source of the frames (and of the sound, where `audio` is None).
    audio: source of the sound when it lies in a file of its own.
    frames: take pictures, as `frame_plan` chooses, at most `max_frames`; real_times: by the times at
    which the file really shows its frames, instead of by their average rate.
    stack_frames: above 1, the so many less one frames between one picture and the next are joined in a
    picture more.
    segments: cut the sound at the frames' timestamps (needs frames).
    whole_audio: the whole sound as one 16 kHz mono WAV.
    whole_video: the video itself, for servers that decode it; a copy only where it lies in an archive.
    """

    video: Path | None
    audio: Path | None
    frame_plan: str
    max_frames: int
    image: ImageEncoding = ImageEncoding()
    real_times: bool = False
    stack_frames: int = 1
    frames: bool = True
    segments: bool = True
    whole_audio: bool = False
    whole_video: bool = False


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text in a message."""

    text: str


@dataclass(frozen=True, slots=True)
class MediaPart:
    """A picture, sound or video in a message, by file. timestamp is in seconds of the source."""

    kind: Literal["image", "audio", "video"]
    path: Path
    mime: str
    sha256: str | None = None
    timestamp: float | None = None


Part = TextPart | MediaPart


@dataclass(frozen=True, slots=True)
class PreparedMedia:
    """The files that a `MediaPlan` asked for.

    frames and segments have one entry a timestamp, in order; segments is empty when the plan asks
    for none. stacked has the joined pictures, each with the timestamp of the frame that it follows. notes say
    what had to be mended (for instance a last frame repeated).
    """

    frames: tuple[MediaPart, ...] = ()
    segments: tuple[MediaPart, ...] = ()
    stacked: tuple[MediaPart, ...] = ()
    audio: MediaPart | None = None
    video: MediaPart | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; the order of the parts is the order in which the model must see them."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """Decoding options; None means the server's own default is left alone.

    constrain: `choice` asks for nothing but one of the option letters.
    """

    max_tokens: int = 128
    temperature: float | None = 0.0
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    constrain: Literal["choice"] | None = None


@dataclass(frozen=True, slots=True)
class SpeechTask:
    """A text to be said.

    language: `en` or `zh`. voice: with `reference_audio` (and its transcript) that of the reference; else the
    named one; else as `instructions` describe it. recording: of a person who says the text, only for the
    backend that gives it back.
    """

    text: str
    language: str
    reference_audio: MediaPart | None = None
    reference_text: str | None = None
    voice: str | None = None
    instructions: str | None = None
    recording: Path | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked, independent of any wire format.

    question and options (letter -> text, without labels) repeat what the text part says, for backends
    that choose among options themselves; the right answer is never here. speech: what is to be said, where
    the answer is a sound. extra_body: further fields for the root of an HTTP body, e.g.
    `mm_processor_kwargs`. cluster: what it shares with others (the video), so that one server may get them
    all. notes: what had to be mended or assumed to make it, one sentence each.
    """

    sample_id: str
    messages: tuple[Message, ...]
    generation: Generation
    question: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    modalities: tuple[str, ...] = ("text",)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    speech: SpeechTask | None = None
    cluster: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server reports them; multimodal is its count by kind, where it gives one."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    multimodal: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, on a monotonic clock, from the moment the request is sent; None where not measured.

    ttft_s: to the first non-empty text. itl_s: gaps between tokens (a chunk of k tokens counts as k
    gaps). tpot_s: (time to the last text - ttft_s) / (text tokens - 1). e2e_s: to the last chunk.
    ttfp_s: to the first sound (first packet). rtf: time to the last sound / duration of the sound, with the
    whole latency instead where nothing but sound is sent. started: wall clock at sending, seconds since the
    epoch.
    """

    started: float | None = None
    ttft_s: float | None = None
    itl_s: tuple[float, ...] = ()
    e2e_s: float | None = None
    tpot_s: float | None = None
    ttfp_s: float | None = None
    rtf: float | None = None


@dataclass(frozen=True, slots=True)
class SpokenAudio:
    """The sound of an answer.

    wav: the whole WAV file, at the model's own rate; empty once the run has written it to a file. file: its
    name in the run directory, then, and sha256 the hash of its content. frames: samples a channel. chunks:
    (seconds from sending to arrival, seconds of sound) of every piece, in order, where it came in pieces.
    """

    rate_hz: int
    channels: int
    frames: int
    wav: bytes = field(default=b"", repr=False)
    file: str | None = None
    sha256: str | None = None
    chunks: tuple[tuple[float, float], ...] = ()

    @property
    def duration_s(self) -> float:
        return self.frames / self.rate_hz


@dataclass(frozen=True, slots=True)
class Response:
    """The end of one try: an answer, or an error with whatever text had arrived by then.

    attempt counts from 1. `text` and `audio` of a failed try are kept for inspection and never scored.
    notes: what had to be mended or assumed to read the answer, one sentence each. server_metrics: figures
    of the server itself, as it reports them. server: the base URL of the one that was asked, where there
    are several. session: of a full-duplex session its id, the model's decision, and what went over it.
    """

    sample_id: str
    text: str = ""
    reasoning: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    timing: Timing = Timing()
    attempt: int = 1
    model: str | None = None
    error: Failure | None = None
    audio: SpokenAudio | None = None
    notes: tuple[str, ...] = ()
    server_metrics: Mapping[str, Any] = field(default_factory=dict)
    server: str | None = None
    session: Mapping[str, Any] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        return self.error is None


Outcome = Literal["correct", "wrong", "unparsed", "scored", "unscored", "failed", "no_gold", "not_asked"]


@dataclass(frozen=True, slots=True)
class Score:
    """How one sample counts.

    outcome: `correct`, `wrong`, `unparsed`, `failed`, `no_gold` or `not_asked`; of a sound, `scored`, or
    `unscored` as long as no recogniser has heard it. failure_kind: set when the outcome is `failed`.
    answer: the letter as the model was shown it, or what was heard. rule: the parser, or the recogniser.
    metrics: e.g. `accuracy`, `wer`, `sim[wavlm-sv]`. readings: what every rule that applies reads from the
    reply, by the rule's name. flags: what is unhealthy about the reply (see `omnieval.scoring.health`).
    """

    sample_id: str
    outcome: Outcome
    answer: str | None = None
    rule: str | None = None
    failure_kind: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    readings: Mapping[str, str | None] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a backend can say of itself before a run; goes into the run's record."""

    backend: str
    model: str | None = None
    max_model_len: int | None = None
    version: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the engine must know of a backend.

    needs_transport: media parts travel to another process, so URLs must be made for them.
    max_concurrency: upper bound on requests in flight; None for no bound of its own.
    """

    needs_transport: bool = False
    max_concurrency: int | None = None


class Backend(Protocol):
    """A model that answers requests. `generate` never raises for a fault of the model or the sample:
    it returns a `Response` with an error. `check` raises `BackendError` when no run is possible."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def check(self) -> ServerFacts: ...

    async def generate(self, request: Request) -> Response: ...

    async def close(self) -> None: ...


class MediaUrl(Protocol):
    """Turns a media part into a URL that the server can read (file://, data:, http://).

    bytes are the ASCII of a URL that is too long to be copied about; they are shared and go out as they
    are. Raises OSError when the part's file cannot be read.
    """

    def __call__(self, part: MediaPart) -> str | bytes: ...
