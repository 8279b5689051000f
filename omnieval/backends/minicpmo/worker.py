"""The process that holds a MiniCPM-o in transformers: JSON lines in, JSON lines out (see `engine`).

`python -m omnieval.backends.minicpmo.worker` first takes `{"type": "load", ...}`; with `--devices` it only
says which devices there are. What the model's own code prints goes to standard error, whatever it prints to.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from omnieval.backends.minicpmo.loading import CannotLoadError, found_devices, load
from omnieval.backends.minicpmo.trouble import hint_of, words
from omnieval.backends.sound.samples import NO_NUMBERS, samples_of
from omnieval.media.audio import read_audio
from omnieval.media.encode import encode_wav
from omnieval.types import JsonDict

# Names that an argument of `chat()` has had in MiniCPM-o's revisions. A revision takes names that it does not
# know without a word, so that the right one must be found.
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "do_sample": ("sampling",),
    "omni_input": ("omni_mode",),
    "ref_audio": ("tts_ref_audio",),
}
_SOUND_HZ = 24_000
# After these a device answers nothing more to this process.
_DEVICE_LOST = ("cuda error", "npu error", "device-side assert", "acl error", "aclrt", "device lost")


class NoNumbersError(Exception):
    """A sound with samples that are no numbers."""


class DeviceLostError(Exception):
    """Nothing more can be asked of this process."""


def main() -> None:
    """Load the model that the first line names, then answer every line until the input ends."""
    if "--devices" in sys.argv:
        print(json.dumps(found_devices()))  # noqa: T201 - this is a program of its own
        return
    output = _own_output()

    def say(message: JsonDict) -> None:
        output.write(json.dumps(message) + "\n")
        output.flush()

    try:
        model, facts = load(json.loads(sys.stdin.readline()))
    except CannotLoadError as error:
        say({"type": "fatal", "error": str(error), "hint": error.hint})
        return
    say({"type": "ready", **facts})
    for line in sys.stdin:
        message = json.loads(line)
        try:
            result = answer(model, message)
        except DeviceLostError as error:
            say({"type": "fatal", "error": str(error)})
            return
        say({"type": "result", "id": message["id"], **result})


def _own_output() -> IO[str]:
    """Standard output for this module alone; all other code's goes to standard error from here on."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def answer(model: Any, message: JsonDict) -> JsonDict:
    """The result of one request, as the engine takes it. Raises DeviceLostError."""
    import torch

    began = time.monotonic()
    if message["seed"] is not None:
        torch.manual_seed(message["seed"])
    try:
        messages = [_message(each) for each in message["messages"]]
        arguments: JsonDict = dict(message["arguments"])
        if message["voice"] is not None:
            sound = read_audio(Path(message["voice"]["audio"]))
            messages.insert(0, _voice_message(model, sound, message["voice"]))
            arguments |= {"ref_audio": sound, "output_audio_path": message["sound_file"]}
    except Exception as error:  # noqa: BLE001 - a file may be broken in any way
        return _failed("media", error)
    named = named_as(model.chat, arguments)
    try:
        inspect.signature(model.chat).bind(msgs=messages, **named)
    except TypeError as error:
        hint = "this revision of the model takes other arguments; see extra_body in the recipe"
        return _failed("configuration", error, hint=hint)
    try:
        with torch.no_grad():
            reply = model.chat(msgs=messages, **named)
        text, wave = _text_and_wave(reply)
        if message["sound_file"] is not None and wave is not None:
            _write_if_missing(Path(message["sound_file"]), wave)
    except NoNumbersError as error:
        return _failed("audio", error)
    except Exception as error:  # noqa: BLE001 - the model's own code may raise anything
        return _failed_in_chat(torch, error)
    return {"ok": True, "text": text, "seconds": time.monotonic() - began}


def _message(message: JsonDict) -> JsonDict:
    return {"role": message["role"], "content": [_loaded(part) for part in message["content"]]}


def _loaded(part: JsonDict) -> Any:
    """Text; a picture as PIL has it, in RGB; or a sound: [samples], float32, 16 kHz, mono."""
    ((kind, value),) = part.items()
    if kind == "image":
        from PIL import Image

        with Image.open(value) as image:
            return image.convert("RGB")
    return read_audio(Path(value)) if kind == "audio" else value


def _voice_message(model: Any, sound: Any, voice: JsonDict) -> JsonDict:
    """The system message that gives the model a voice: its own, where it has one."""
    own: Callable[..., JsonDict] | None = getattr(model, "get_sys_prompt", None)
    if own is not None:
        return own(ref_audio=sound, mode="voice_cloning", language=voice["language"])
    return {"role": "system", "content": [voice["instruction"], sound]}


def named_as(chat: Callable[..., Any], arguments: JsonDict) -> JsonDict:
    """The arguments by the names that this revision of `chat()` has for them."""
    known = inspect.signature(chat).parameters
    named = {}
    for name, value in arguments.items():
        others = [other for other in _OTHER_NAMES.get(name, ()) if other in known]
        named[name if name in known or not others else others[0]] = value
    return named


def _text_and_wave(reply: Any) -> tuple[str, Any]:
    """What `chat()` returns: a text, or a pair of it and the samples. Raises TypeError."""
    text, *rest = reply if isinstance(reply, tuple) and reply else (reply,)
    if not isinstance(text, str):
        raise TypeError(f"chat() returned {type(text).__name__} instead of a text: {str(text)[:200]}")
    return text, rest[-1] if rest else None


def _write_if_missing(path: Path, wave: Any) -> None:
    """Some revisions return the sound and write no file. Raises NoNumbersError."""
    import numpy as np

    if path.exists():
        return
    samples = samples_of(wave).astype(np.float32)
    if not np.isfinite(samples).all():
        raise NoNumbersError(NO_NUMBERS)
    path.write_bytes(encode_wav(samples, _SOUND_HZ))


def _failed_in_chat(torch: Any, error: Exception) -> JsonDict:
    said = words(error)
    if "out of memory" in said.lower() or isinstance(error, MemoryError):
        for kind in ("cuda", "npu"):
            if hasattr(torch, kind) and getattr(torch, kind).is_available():
                getattr(torch, kind).empty_cache()
        return _failed("server", error, again=True, hint=hint_of(error))
    if any(sign in said.lower() for sign in _DEVICE_LOST):
        raise DeviceLostError(said) from error
    kind = "protocol" if isinstance(error, TypeError) and "chat() returned" in said else "server"
    return _failed(kind, error)


def _failed(kind: str, error: Exception, *, again: bool = False, hint: str | None = None) -> JsonDict:
    return {"ok": False, "kind": kind, "error": words(error), "again": again, "hint": hint}


if __name__ == "__main__":
    main()
