"""The questions that a deployment is asked before a run, each adding one thing to the one before.

All of them go through the run's own backend, transport and decoding options, so that what passes here
passes in the run.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from omnieval.backends.base import NamesMedia, ShowsTokens
from omnieval.config import RunConfig
from omnieval.engine.preflight.asking import NAMES, PROCESSOR_KEYS, Asker, failed, media_of, seconds
from omnieval.engine.preflight.finding import Finding
from omnieval.engine.preflight.largest_probe import LargestProbe
from omnieval.engine.preflight.order import MARKS, order_kept
from omnieval.engine.preflight.tiny_media import tiny_picture, tiny_sound
from omnieval.types import Backend, MediaPart, Part, Request, ServerFacts, TextPart

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
        self._asker = Asker(config, backend, largest)
        self._largest_probe = LargestProbe(
            self._asker, largest, facts, most_answered=config.decode.max_tokens
        )
        self._plain_tokens: int | None = None

    def necessary(self) -> list[Step]:
        """Without these the others make no sense. A backend without a server is asked nothing but what the
        run asks."""
        return [self.answers, self.media] if self._backend.capabilities.needs_transport else []

    def others(self) -> list[Step]:
        """The probes that stand each for itself."""
        if not self._backend.capabilities.needs_transport:
            return [self._largest_probe.ask]
        largest = self._largest_probe.ask
        return [self.processor, self.order, largest, self.text_alone, self.repeats, self.names]

    async def answers(self) -> list[Finding]:
        """A request of one line of text."""
        if self._config.modalities != ("text",):
            return []  # a model that only speaks is asked its largest request instead
        response = await self._asker.ask([TextPart("Say yes.")], max_tokens=4)
        if response.error is not None:
            return [failed("answers", response.error)]
        self._plain_tokens = response.usage.prompt_tokens if response.usage else None
        found = [Finding("answers", "pass", f"a line of text in {seconds(response)}")]
        if response.model in (None, self._facts.model):
            return found
        said = f"the answer is of {response.model!r}, though {self._facts.model!r} was asked"
        return [*found, Finding("model", "fail", said, "does the server, or a router before it, map names?")]

    async def media(self) -> list[Finding]:
        """One tiny picture and one tiny sound, as far as the run sends such, each by itself."""
        if self._config.modalities != ("text",):
            return []
        found = []
        if self._asker.kinds["image"]:
            found.append(await self._reaches(tiny_picture(self._cache_root, 0)))
        if self._asker.kinds["audio"]:
            found.append(await self._reaches(tiny_sound(self._cache_root, 0)))
        return found

    async def processor(self) -> list[Finding]:
        """The arguments for the server's media processor, which newer servers refuse unless they are told."""
        wanted = {k: v for k, v in self._asker.extra().items() if k in PROCESSOR_KEYS}
        if not wanted or not self._asker.kinds:
            return []
        part = (
            tiny_picture(self._cache_root, 0)
            if self._asker.kinds["image"]
            else tiny_sound(self._cache_root, 0)
        )
        if not self._asker.kinds["image"] and not self._asker.kinds["audio"]:
            return []
        response = await self._asker.ask([part, TextPart("Say yes.")], extra=wanted)
        if response.error is not None:
            return [failed("processor arguments", response.error)]
        return [Finding("processor arguments", "pass", f"taken: {json.dumps(wanted)}")]

    async def order(self) -> list[Finding]:
        """Whether text, pictures and sounds keep their order, by the tokens that the server makes of them."""
        if not (self._asker.kinds["image"] and self._asker.kinds["audio"]):
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
        tokens = await self._backend.tokens(self._asker.request(parts))
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

    async def text_alone(self) -> list[Finding]:
        """No sound where none is asked for."""
        if self._config.modalities != ("text",):
            return []
        if not self._asker.unasked_sound:
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
        answers = [await self._asker.ask(parts, max_tokens=_REPEATED_TOKENS) for _ in range(2)]
        fault = next((answer.error for answer in answers if answer.error is not None), None)
        if fault is not None:
            return [failed(name, fault)]
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
            if self._asker.kinds[kind]:
                reason = await self._backend.name_media(makers[kind](self._cache_root, 2))
                name = f"{NAMES[kind]}s kept by name"
                found.append(
                    Finding(name, "pass", f"a {NAMES[kind]} that was sent once is not sent again")
                    if reason is None
                    else Finding(name, "unknown", f"every request carries its {NAMES[kind]}s: {reason}")
                )
        return found

    async def _reaches(self, part: MediaPart) -> Finding:
        kind = NAMES[part.kind]
        name = f"a {kind} reaches the model"
        response = await self._asker.ask([part, TextPart("Say yes.")])
        if response.error is not None:
            return failed(name, response.error)
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

    def _interleaves(self) -> bool:
        """Whether the run itself depends on the order of its parts."""
        kinds = [part.kind for part in media_of(self._largest)] if self._largest else []
        return len(set(kinds)) > 1 and kinds != sorted(kinds)
