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
_LONGEST_ERROR = 2000
# After these a device answers nothing more to this process.
_DEVICE_LOST = ("cuda error", "npu error", "device-side assert", "acl error", "aclrt", "device lost")


class CannotLoadError(Exception):
    """No model, and what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


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


def found_devices() -> JsonDict:
    """How many cards of each kind this process may use; for `npu` a sentence where its package cannot be
    loaded."""
    import torch

    return {"cuda": torch.cuda.device_count(), "npu": _npu_count(torch)}


def _npu_count(torch: Any) -> int | str:
    try:
        import torch_npu  # noqa: F401 - adds torch.npu
    except ModuleNotFoundError:
        return 0
    except Exception as error:  # noqa: BLE001 - what a driver that is not there raises
        return _words(error)
    return int(torch.npu.device_count())


def load(settings: JsonDict) -> tuple[Any, JsonDict]:
    """The model on its device, and what to record of it. Raises CannotLoadError.

    settings: model, device (None: the best that there is), dtype, attention, speaks, trust_remote_code.
    """
    try:
        import torch
        import transformers
        from packaging.version import Version
    except ImportError as error:
        raise CannotLoadError(_words(error), "pip install 'omnieval[minicpmo]'") from error
    device = _device(settings["device"])
    dtype = "dtype" if Version(transformers.__version__) >= Version("4.56") else "torch_dtype"
    try:
        model = transformers.AutoModel.from_pretrained(
            settings["model"],
            trust_remote_code=settings["trust_remote_code"],
            attn_implementation=settings["attention"],
            init_vision=True,
            init_audio=True,
            init_tts=settings["speaks"],
            **{dtype: getattr(torch, settings["dtype"])},
        )
        model = model.eval().to(device)
        if settings["speaks"]:
            model.init_tts()
    except ImportError as error:
        raise CannotLoadError(_words(error), "install what the model's card asks for") from error
    except Exception as error:
        raise CannotLoadError(_words(error), _hint_of(error)) from error
    if not callable(getattr(model, "chat", None)):
        message = f"{type(model).__name__} has no chat(), so it is no MiniCPM-o"
        raise CannotLoadError(message, "name the folder of a MiniCPM-o with --model")
    return model, {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "device": device,
        "class": type(model).__name__,
    }


def _device(wanted: str | None) -> str:
    """The device as torch names it; of several cards only the wanted one is visible here, as the first."""
    found = found_devices()
    usable = [kind for kind in ("npu", "cuda") if found[kind] and not isinstance(found[kind], str)]
    kind = wanted.partition(":")[0] if wanted else next(iter(usable), "cpu")
    if kind != "cpu" and kind not in usable:
        raise CannotLoadError(
            f"{wanted}: there is no such device here, found {json.dumps(found)}",
            "name another with --set 'engine.devices=[cpu]'",
        )
    return kind if kind == "cpu" else f"{kind}:0"


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
    """Some revisions return the sound and write no file."""
    import numpy as np

    if not path.exists():
        path.write_bytes(encode_wav(np.asarray(wave, dtype=np.float32).reshape(-1), _SOUND_HZ))


def _failed_in_chat(torch: Any, error: Exception) -> JsonDict:
    words = _words(error)
    if "out of memory" in words.lower() or isinstance(error, MemoryError):
        for kind in ("cuda", "npu"):
            if hasattr(torch, kind) and getattr(torch, kind).is_available():
                getattr(torch, kind).empty_cache()
        return _failed("server", error, again=True, hint=_hint_of(error))
    if any(sign in words.lower() for sign in _DEVICE_LOST):
        raise DeviceLostError(words) from error
    kind = "protocol" if isinstance(error, TypeError) and "chat() returned" in words else "server"
    return _failed(kind, error)


def _failed(kind: str, error: Exception, *, again: bool = False, hint: str | None = None) -> JsonDict:
    return {"ok": False, "kind": kind, "error": _words(error), "again": again, "hint": hint}


def _hint_of(error: Exception) -> str:
    if "out of memory" in str(error).lower() or isinstance(error, MemoryError):
        return "free the card of other processes, or lower max_frames or transformers.num_beams"
    if "trust_remote_code" in str(error):
        return "read the model's code, then allow it with --set engine.trust_remote_code=true"
    return "is this the folder of a MiniCPM-o, and does this transformers suit it? See the model's card"


def _words(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]} ..."


if __name__ == "__main__":
    main()
