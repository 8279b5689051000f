"""What an exception of torch, transformers or the model's own code says, and what to do about it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

_LONGEST_ERROR = 2000
_FULL = (errno.ENOSPC, errno.EDQUOT)
# A sound that did not fit has filled its disk but for less than this.
_NEXT_TO_NOTHING_BYTES = 64 * 1024


def hint_of(error: Exception) -> str:
    if "out of memory" in str(error).lower() or isinstance(error, MemoryError):
        return "free the card of other processes, or lower max_frames or transformers.num_beams"
    if "trust_remote_code" in str(error):
        return "read the model's code, then allow it with --set engine.trust_remote_code=true"
    if isinstance(error, OSError) and error.errno in _FULL:
        return "free some space where transformers keeps the model's code and files, or set HF_HOME"
    return "is this the folder of a MiniCPM-o, and does this transformers suit it? See the model's card"


def words(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]} ..."


def room_is_gone(folder: Path, said: str) -> bool:
    """Whether the disk of a folder is what an error is about. Libraries that write sounds
    seldom say so, or leave a sound that is cut off."""
    if any(os.strerror(number) in said for number in _FULL):
        return True
    try:
        return shutil.disk_usage(folder).free < _NEXT_TO_NOTHING_BYTES
    except OSError:
        return False
