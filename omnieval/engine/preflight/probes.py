"""The questions that a deployment is asked before a run, each adding one thing to the one before.

All of them go through the run's own backend, transport and decoding options, so that what passes here
passes in the run.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from omnieval.backends.base import NamesMedia, ShowsTokens
from omnieval.backends.retry import wait_seconds
from omnieval.config import RunConfig
from omnieval.engine.preflight.finding import Finding
from omnieval.engine.preflight.order import MARKS, order_kept
from omnieval.engine.preflight.tiny_media import tiny_picture, tiny_sound
from omnieval.types import (
    Backend,
    Failure,
    Generation,
    MediaPart,
    Message,
    Part,
    Request,
    Response,
    ServerFacts,
    TextPart,
)

_NAMES: Mapping[str, str] = {"image": "picture", "audio": "sound", "video": "video"}
_PROCESSOR_KEYS = ("mm_processor_kwargs", "media_io_kwargs")
# Long enough for two decodings to drift apart.
_REPEATED_TOKENS = 32


Step = Callable[[], Awaitable[list[Finding]]]


class Probes:
    """Asks one deployment. largest: the largest request of the run, or None where none could be made."""

    def __init__(
        self,
        config: RunConfig,
        backend: Backend,
        facts: ServerFacts,
        cache_root: Path,
        largest: Request | None,
    ) -> None:
        self._config = config
        self._backend = backend
        self._facts = facts
        self._cache_root = cache_root
        self._largest = largest
        self._kinds = Counter(part.kind for part in _media_of(largest)) if largest else Counter()
        self._plain_tokens: int | None = None
        self._unasked_sound = False

    def necessary(self) -> list[Step]:
        """Without these the others make no sense. A backend without a server is asked nothing but what the
        run asks."""
        return [self.answers, self.media] if self._backend.capabilities.needs_transport else []

    def others(self) -> list[Step]:
        """The probes that stand each for itself."""
        if not self._backend.capabilities.needs_transport:
            return [self.largest]
        return [self.processor, self.order, self.largest, self.text_alone, self.repeats, self.names]

    async def answers(self) -> list[Finding]:
        """A request of one line of text."""
        if self._config.modalities != ("text",):
            return []  # a model that only speaks is asked its largest request instead
        response = await self._ask([TextPart("Say yes.")], max_tokens=4)
        if response.error is not None:
            return [_failed("answers", response.error)]
        self._plain_tokens = response.usage.prompt_tokens if response.usage else None
        found = [Finding("answers", "pass", f"a line of text in {_seconds(response)}")]
        if response.model in (None, self._facts.model):
            return found
        said = f"the answer is of {response.model!r}, though {self._facts.model!r} was asked"
        return [*found, Finding("model", "fail", said, "does the server, or a router before it, map names?")]

    async def media(self) -> list[Finding]:
        """One tiny picture and one tiny sound, as far as the run sends such, each by itself."""
        if self._config.modalities != ("text",):
            return []
        found = []
        if self._kinds["image"]:
            found.append(await self._reaches(tiny_picture(self._cache_root, 0)))
        if self._kinds["audio"]:
            found.append(await self._reaches(tiny_sound(self._cache_root, 0)))
        return found

    async def processor(self) -> list[Finding]:
        """The arguments for the server's media processor, which newer servers refuse unless they are told."""
        wanted = {k: v for k, v in self._extra().items() if k in _PROCESSOR_KEYS}
        if not wanted or not self._kinds:
            return []
        part = tiny_picture(self._cache_root, 0) if self._kinds["image"] else tiny_sound(self._cache_root, 0)
        if not self._kinds["image"] and not self._kinds["audio"]:
            return []
        response = await self._ask([part, TextPart("Say yes.")], extra=wanted)
        if response.error is not None:
            return [_failed("processor arguments", response.error)]
        return [Finding("processor arguments", "pass", f"taken: {json.dumps(wanted)}")]

    async def order(self) -> list[Finding]:
        """Whether text, pictures and sounds keep their order, by the tokens that the server makes of them."""
        if not (self._kinds["image"] and self._kinds["audio"]):
            return []
        name = "order of the parts"
        if not isinstance(self._backend, ShowsTokens):
            return [Finding(name, "unknown", "this backend does not show its tokens")]
        media = [
            tiny_picture(self._cache_root, 0), tiny_sound(self._cache_root, 0),
            tiny_picture(self._cache_root, 1), tiny_sound(self._cache_root, 1),
        ]  # fmt: skip
        parts: list[Part] = [TextPart(MARKS[0])]
        for part, mark in zip(media, MARKS[1:], strict=True):
            parts += [part, TextPart(mark)]
        tokens = await self._backend.tokens(self._request(parts))
        kept = None if tokens is None else order_kept(tokens)
        if kept is None:
            return [Finding(name, "unknown", "the server does not show its tokens (no /tokenize)")]
        if kept:
            return [Finding(name, "pass", "picture, sound, picture, sound, as sent")]
        return [
            Finding(
                name, "fail", "the server moves pictures or sounds away from where they stand",
                "start the server with --interleave-mm-strings", fatal=self._interleaves(),
            )
        ]  # fmt: skip

    async def largest(self) -> list[Finding]:
        """The largest request of the run itself, with one token of answer, or all of its sound."""
        name = "largest request"
        request = self._largest
        if request is None:
            return [Finding(name, "unknown", "no sample of the run could be prepared")]
        speaks = "audio" in request.modalities
        tokens = request.generation.max_tokens if speaks else 1
        response = await self._generate(
            replace(request, generation=replace(request.generation, max_tokens=tokens))
        )
        if response.error is not None:
            return [_failed(name, response.error, fix=self._limit_flag(response.error))]
        return [self._fits(response), *self._all_reached(response)]

    async def text_alone(self) -> list[Finding]:
        """No sound where none is asked for."""
        if self._config.modalities != ("text",):
            return []
        if not self._unasked_sound:
            return [Finding("text alone", "pass", "no sound came with the answers")]
        return [
            Finding(
                "text alone", "fail", "the server sends sound that nobody asked for, which costs time",
                "does its deploy file set output modalities for every request?",
            )
        ]  # fmt: skip

    async def repeats(self) -> list[Finding]:
        """The same greedy request twice."""
        name = "greedy answers repeat"
        if self._config.modalities != ("text",):
            return []
        if self._config.decode.temperature != 0:
            return [Finding(name, "unknown", "decode.temperature is not 0")]
        parts: list[Part] = [TextPart("Name ten animals, and say something about each.")]
        answers = [await self._ask(parts, max_tokens=_REPEATED_TOKENS) for _ in range(2)]
        failed = next((answer.error for answer in answers if answer.error is not None), None)
        if failed is not None:
            return [_failed(name, failed)]
        if answers[0].text == answers[1].text:
            return [Finding(name, "pass", "two answers to one question are equal")]
        return [
            Finding(
                name, "fail", "two greedy answers to one question differ: so will the scores of two runs",
                "set decode.seed, or the engine's batch-invariant kernels, where it has such",
            )
        ]  # fmt: skip

    async def names(self) -> list[Finding]:
        """Whether the server keeps media by name, so that each is sent but once; each kind for itself."""
        wanted = self._config.transport.by_name == "auto" and self._config.modalities == ("text",)
        if not wanted or not isinstance(self._backend, NamesMedia):
            return []
        makers = {"image": tiny_picture, "audio": tiny_sound}
        found = []
        for kind in ("image", "audio"):
            if self._kinds[kind]:
                reason = await self._backend.name_media(makers[kind](self._cache_root, 2))
                name = f"{_NAMES[kind]}s kept by name"
                found.append(
                    Finding(name, "pass", f"a {_NAMES[kind]} that was sent once is not sent again")
                    if reason is None
                    else Finding(name, "unknown", f"every request carries its {_NAMES[kind]}s: {reason}")
                )
        return found

    async def _reaches(self, part: MediaPart) -> Finding:
        kind = _NAMES[part.kind]
        name = f"a {kind} reaches the model"
        response = await self._ask([part, TextPart("Say yes.")])
        if response.error is not None:
            return _failed(name, response.error)
        usage = response.usage
        counted = (usage.multimodal or {}).get(part.kind) if usage else None
        if counted:
            return Finding(name, "pass", f"{counted} tokens by the server's own count")
        if usage is None or usage.prompt_tokens is None or self._plain_tokens is None:
            return Finding(name, "unknown", "the server does not count the tokens of a prompt")
        grown = usage.prompt_tokens - self._plain_tokens
        if grown > 0:
            return Finding(name, "pass", f"the prompt is {grown} tokens longer with it")
        return Finding(
            name, "fail", f"the prompt has {usage.prompt_tokens} tokens with and without it",
            f"the server drops every {kind}: is this the omni model, with all its media towers?", fatal=True,
        )  # fmt: skip

    def _fits(self, response: Response) -> Finding:
        """What the largest request costs, and whether its answer fits behind it."""
        asked = ", ".join(f"{count} {_NAMES[kind]}s" for kind, count in self._kinds.items())
        used = response.usage.prompt_tokens if response.usage else None
        most, answer = self._facts.max_model_len, self._config.decode.max_tokens
        words = [asked or "text"]
        if used is not None:
            words.append(f"{used} tokens" + (f" of {most}" if most else ""))
        words.append(_seconds(response))
        if used is None or not most or used + answer <= most:
            return Finding("largest request", "pass", ", ".join(words))
        return Finding(
            "largest request", "fail",
            f"{used} tokens leave {most - used} of {most} for an answer of up to {answer}",
            f"--max-model-len {used + answer} on the server, or a lower max_frames or decode.max_tokens",
            fatal=True,
        )  # fmt: skip

    def _all_reached(self, response: Response) -> list[Finding]:
        """What of the largest request came through: its media, and the sound of its answer."""
        found = []
        counts = response.usage.multimodal if response.usage else None
        lost = [_NAMES[kind] for kind in self._kinds if counts and not counts.get(kind)]
        if lost:
            found.append(
                Finding(
                    "all media reach the model", "fail", f"no token of any {' or '.join(lost)}", fatal=True
                )
            )
        if self._largest is not None and "audio" in self._largest.modalities:
            audio = response.audio
            if audio is None or not audio.frames:
                found.append(
                    Finding(
                        "sound comes back", "fail", f"no sound, only {response.text[:60]!r}",
                        "serve all stages (--omni, a deploy file with the speech stages), or take another "
                        "--backend", fatal=True,
                    )
                )  # fmt: skip
            else:
                seconds = f"{audio.duration_s:.1f} s at {audio.rate_hz} Hz"
                found.append(Finding("sound comes back", "pass", "; ".join([seconds, *response.notes])))
        return found

    def _limit_flag(self, failure: Failure) -> str | None:
        """The exact flag where too many parts were refused."""
        if "may be provided in one prompt" not in failure.message or not self._kinds:
            return None
        return f"start the server with --limit-mm-per-prompt '{json.dumps(dict(self._kinds))}'"

    def _interleaves(self) -> bool:
        """Whether the run itself depends on the order of its parts."""
        kinds = [part.kind for part in _media_of(self._largest)] if self._largest else []
        return len(set(kinds)) > 1 and kinds != sorted(kinds)

    def _extra(self) -> Mapping[str, object]:
        return self._largest.extra_body if self._largest else self._config.extra_body

    def _request(
        self, parts: Sequence[Part], *, max_tokens: int = 1, extra: Mapping[str, object] | None = None
    ) -> Request:
        base = {k: v for k, v in self._extra().items() if k not in _PROCESSOR_KEYS}
        options = Generation(**self._config.decode.model_dump())
        return Request(
            sample_id="preflight",
            messages=(Message("user", tuple(parts)),),
            generation=replace(options, max_tokens=max_tokens, constrain=None),
            modalities=self._config.modalities,
            extra_body={**base, **(extra or {})},
        )

    async def _ask(
        self, parts: Sequence[Part], *, max_tokens: int = 1, extra: Mapping[str, object] | None = None
    ) -> Response:
        response = await self._generate(self._request(parts, max_tokens=max_tokens, extra=extra))
        self._unasked_sound |= any("nobody asked for" in note for note in response.notes)
        return response

    async def _generate(self, request: Request) -> Response:
        """Tried again as a run tries again: a hiccup says nothing of a deployment."""
        attempt = 1
        while True:
            response = await self._backend.generate(request)
            error = response.error
            wait_s = None if error is None else wait_seconds(self._config.retry, attempt, error)
            if wait_s is None:
                return response
            await asyncio.sleep(wait_s)
            attempt += 1


def _media_of(request: Request | None) -> list[MediaPart]:
    messages = request.messages if request else ()
    return [part for message in messages for part in message.parts if isinstance(part, MediaPart)]


def _failed(check: str, failure: Failure, fix: str | None = None) -> Finding:
    return Finding(check, "fail", failure.message, fix or failure.hint, fatal=True)


def _seconds(response: Response) -> str:
    return "an unknown time" if response.timing.e2e_s is None else f"{response.timing.e2e_s:.2f} s"
