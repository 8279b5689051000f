"""Whether the largest request of a run fits, and all of it comes through."""

from __future__ import annotations

import json
from dataclasses import replace

from omnieval.engine.preflight.asking import NAMES, Asker, failed, seconds
from omnieval.engine.preflight.finding import Finding
from omnieval.types import Failure, Request, Response, ServerFacts


class LargestProbe:
    """Asks it. request: the largest of the run, or None where none could be made. most_answered: tokens of an
    answer."""

    def __init__(
        self, asker: Asker, request: Request | None, facts: ServerFacts, *, most_answered: int
    ) -> None:
        self._asker = asker
        self._largest = request
        self._facts = facts
        self._most_answered = most_answered

    async def ask(self) -> list[Finding]:
        """The largest request of the run itself, with one token of answer, or all of its sound."""
        name = "largest request"
        request = self._largest
        if request is None:
            return [Finding(name, "unknown", "no sample of the run could be prepared")]
        speaks = "audio" in request.modalities
        tokens = request.generation.max_tokens if speaks else 1
        response = await self._asker.generate(
            replace(request, generation=replace(request.generation, max_tokens=tokens))
        )
        if response.error is not None:
            return [failed(name, response.error, fix=self._limit_flag(response.error))]
        return [self._fits(response), *self._all_reached(response)]

    def _fits(self, response: Response) -> Finding:
        """What the largest request costs, and whether its answer fits behind it."""
        asked = ", ".join(f"{count} {NAMES[kind]}s" for kind, count in self._asker.kinds.items())
        used = response.usage.prompt_tokens if response.usage else None
        most, answer = self._facts.max_model_len, self._most_answered
        words = [asked or "text"]
        if used is not None:
            words.append(f"{used} tokens" + (f" of {most}" if most else ""))
        words.append(seconds(response))
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
        lost = [NAMES[kind] for kind in self._asker.kinds if counts and not counts.get(kind)]
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
        if "may be provided in one prompt" not in failure.message or not self._asker.kinds:
            return None
        return f"start the server with --limit-mm-per-prompt '{json.dumps(dict(self._asker.kinds))}'"
