"""WAV files that another program writes, taken once they are complete."""

from __future__ import annotations

import re
from pathlib import Path

from omnieval.errors import MediaError
from omnieval.media.wav import wav_head

_HEAD_BYTES = 4096
_NUMBER = re.compile(r"(\d+)")


def whole_wav(path: Path) -> bytes | None:
    """The content of a WAV file that holds all that its header promises; None as long as it does not.

    Writers that leave the size open until the end are waited for. Raises MediaError where the file is no WAV.
    """
    try:
        with path.open("rb") as file:
            head = wav_head(file.read(_HEAD_BYTES))
            present = file.seek(0, 2)
            if head is None or not head.size or present < head.start + head.size:
                return None
            file.seek(0)
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MediaError(f"{path}: cannot be read: {error.strerror or error}") from error


def in_order(path: Path) -> list[str | int]:
    """A key that sorts `wav_10.wav` behind `wav_9.wav`, and by folder first."""
    return [int(piece) if piece.isdigit() else piece for piece in _NUMBER.split(str(path))]
