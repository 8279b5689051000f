"""llama.cpp-omni's server: `/v1/stream/*`, one session at a time, its state in the server.

Each request is a session of its own: init, which also resets, then prefills in order, then decode. Paths of
media are those of the server, so it must see the disks of this machine under the same names.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.backends import faults
from omnieval.backends.base import BackendContext
from omnieval.backends.failed import FailedTry
from omnieval.backends.http.body import Body
from omnieval.backends.http.model_server import ModelServer
from omnieval.backends.http.sse import EventTooLargeError, event_data
from omnieval.backends.http.transport_faults import timeout_failure
from omnieval.backends.llamacpp.answer import StreamAnswer
from omnieval.backends.llamacpp.parts import parts_of, slices
from omnieval.backends.llamacpp.sounds import SoundFolder
from omnieval.backends.sound.limit import within
from omnieval.config import RunConfig
from omnieval.errors import BackendError, ConfigError
from omnieval.media.transport import is_local
from omnieval.types import (
    Capabilities,
    Failure,
    Generation,
    JsonDict,
    MediaPart,
    Message,
    Request,
    Response,
    ServerFacts,
    TextPart,
)

if TYPE_CHECKING:
    import httpx

_ALIVE_S = 60.0
_SOUND, _SOUND_AND_PICTURE = 1, 2
_UNUSABLE_OPTIONS = ("top_p", "top_k", "repetition_penalty", "constrain")


class LlamaCppServer:
    """One server. Follows `omnieval.types.Backend` and `TellsLife`. Raises ConfigError without a base URL,
    for decoding that the server cannot do, and where nobody could read the sounds that it writes."""

    capabilities = Capabilities(max_concurrency=1)

    def __init__(self, config: RunConfig, context: BackendContext) -> None:
        useless = [key for key in _UNUSABLE_OPTIONS if getattr(config.decode, key) is not None]
        if useless:
            raise ConfigError(
                f"a llama.cpp-omni server takes no decode.{useless[0]} in a request; set it to null, and "
                "start the server with it"
            )
        self._speaks = "audio" in config.modalities
        base_url = (config.base_url or "").removesuffix("/v1")
        if base_url:
            if self._speaks and config.llamacpp.output_dir is None and not is_local(base_url):
                raise ConfigError(
                    "the server writes its sounds to its own disk: --set llamacpp.output_dir=FOLDER, one "
                    "that this machine sees under the same name"
                )
            config = config.model_copy(update={"base_url": f"{base_url}/v1"})
        self._base_url = base_url
        self._settings = config.llamacpp
        self._model = config.model
        self._server = ModelServer("llamacpp-omni", config, context)
        self._one = asyncio.Lock()

    async def check(self) -> ServerFacts:
        """Have it load its model. Raises BackendError where it does not."""
        said = await self._server.about.health()
        if said is None:
            raise BackendError(
                f"{self._base_url}/health: no answer in JSON; is the server up, and the address right?"
            )
        if said.get("engine") != "comni":
            raise BackendError(
                f"{self._base_url}/health: expected the engine comni, found {said}; is this a "
                "llama-omni-server? For llama-server take --backend openai-chat"
            )
        try:
            with self._folder() as folder:
                await self._begin(Request("check", (), Generation()), folder)
        except FailedTry as failed:
            hint = failed.failure.hint or "look at its log: it loads its model with the first request"
            raise BackendError(f"{self._base_url}: {failed.failure.message} ({hint})") from failed
        model = self._model or "llama.cpp-omni"
        details = {"base_url": self._base_url, "health": said}
        return ServerFacts("llamacpp-omni", model=model, details=details)

    async def generate(self, request: Request) -> Response:
        answer = StreamAnswer(request.sample_id)
        limit_s = self._server.timeouts.total_s
        try:
            async with self._one, asyncio.timeout(limit_s):
                with self._folder() as folder:
                    await self._session(request, folder, answer)
        except FailedTry as failed:
            return answer.response(self._server.safe(failed.failure))
        except TimeoutError:
            return answer.response(timeout_failure("in all", limit_s, "total_s"))
        return answer.response(None)

    async def alive(self) -> bool:
        """See `TellsLife`: by an answer, since `/health` says ok whatever happens."""
        if await self._server.about.health() is None:
            return False
        hello = Request("alive", (Message("user", (TextPart("Hello"),)),), Generation(max_tokens=1))
        try:
            async with asyncio.timeout(_ALIVE_S):
                return (await self.generate(hello)).answered
        except TimeoutError:
            return False

    async def close(self) -> None:
        await self._server.close()

    async def _session(self, request: Request, folder: Path, answer: StreamAnswer) -> None:
        system, parts = parts_of(request)
        media = [part for part in parts if isinstance(part, MediaPart)]
        sounds = [part.path for part in media if part.kind == "audio"]
        kept, answer.notes = await asyncio.to_thread(within, sounds, self._settings.max_sound_s, folder)
        heard = iter(kept)
        await self._begin(request, folder)
        answer.begin()
        turn = 0
        await self._prefill(turn, text=system)
        for part in parts:
            turn += 1
            if isinstance(part, TextPart):
                await self._prefill(turn, text=part.text)
                continue
            if part.kind == "image":
                await self._prefill(turn, image=part.path, slices=slices(request))
            else:
                await self._prefill(turn, audio=next(heard))
            turn += 1
            await self._prefill(turn, text="\n")  # between the parts, as the evaluation programs have it
        await self._decode(folder / "out", answer, speaks="audio" in request.modalities)

    async def _begin(self, request: Request, folder: Path) -> None:
        """A new session; nothing of the one before is left."""
        pictures = any(
            isinstance(part, MediaPart) and part.kind == "image" for m in request.messages for part in m.parts
        )
        out = folder / "out"
        out.mkdir(exist_ok=True)
        speech = request.speech
        voice = speech.reference_audio if speech is not None else None
        wanted: dict[str, Any] = {
            "media_type": _SOUND_AND_PICTURE if pictures else _SOUND,
            "use_tts": "audio" in request.modalities,
            "duplex_mode": False,
            "output_dir": str(out),
            "voice_audio": None if voice is None else str(voice.path),
            "voice_clone_prompt": self._settings.voice_clone_prompt,
            "assistant_prompt": self._settings.assistant_prompt,
            "temperature": request.generation.temperature,
            "seed": request.generation.seed,
        }
        await self._succeed("stream/omni_init", {k: v for k, v in wanted.items() if v is not None})

    async def _prefill(
        self,
        turn: int,
        *,
        text: str = "",
        image: Path | None = None,
        audio: Path | None = None,
        slices: int = 0,
    ) -> None:
        await self._succeed(
            "stream/prefill",
            {
                "audio_path_prefix": "" if audio is None else str(audio),
                "img_path_prefix": "" if image is None else str(image),
                "cnt": turn,
                "text": text,
                **({"max_slice_nums": slices} if slices else {}),
            },
        )

    async def _succeed(self, path: str, content: JsonDict) -> None:
        """Raises FailedTry where the server does not say that it did."""
        found = await self._server.post(path, content)
        if found.get("success") is not True:
            message = (
                f"{path}: expected success, found {faults.shorten(json.dumps(found, ensure_ascii=False))}"
            )
            raise FailedTry(Failure("server", message, retryable=True, hint="look at the server's log"))

    async def _decode(self, out: Path, answer: StreamAnswer, *, speaks: bool) -> None:
        body = Body([json.dumps({"stream": True, "debug_dir": str(out), "round_idx": 0}).encode()])
        folder = SoundFolder(out, answer.began)
        watching = asyncio.create_task(folder.watch()) if speaks else None
        try:
            async with self._server.answer(
                "stream/decode", body, accept="text/event-stream", finished=lambda: answer.ended
            ) as response:
                async for event in self._events(response, answer):
                    answer.add(event)
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        if speaks:
            await folder.rest()
            answer.sounds = folder

    async def _events(self, response: httpx.Response, answer: StreamAnswer) -> AsyncIterator[JsonDict]:
        """To `[DONE]`, which alone says that the answer is whole."""
        events = event_data(self._server.pieces(response))
        first = True
        while True:
            wait = self._server.first if first else self._server.next
            try:
                data = await wait(anext(events, None))
            except EventTooLargeError as error:
                raise FailedTry(Failure("protocol", str(error))) from error
            first = False
            if data is None:
                message = "the answer ended before its [DONE], so it is cut short"
                raise FailedTry(
                    Failure("server", message, retryable=True, hint="the server died; see its log")
                )
            if data.strip() == "[DONE]":
                answer.end()
                return
            yield self._server.event_object(data, "the answer")

    @contextlib.contextmanager
    def _folder(self) -> Any:
        """A folder of this request's own, where the server may write. Raises FailedTry where it cannot be
        made."""
        parent = self._settings.output_dir
        try:
            folder = Path(tempfile.mkdtemp(prefix="omnieval-", dir=parent))
            folder.chmod(0o777)  # the server may be another user's
        except OSError as error:
            hint = "free space there, or name another folder with --set llamacpp.output_dir=FOLDER"
            raise FailedTry(Failure("configuration", f"no folder for sounds: {error}", hint=hint)) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
