"""A recording as a full-duplex session hears it: 16 kHz mono PCM16."""

from __future__ import annotations

import shlex
from pathlib import Path

from omnieval.backends.realtime.pace import RATE_HZ
from omnieval.errors import MediaError
from omnieval.media.audio import read_audio
from omnieval.media.wav import PcmFormat, parse_wav, wav_head

_WANTED = PcmFormat(RATE_HZ, 1)
_HEAD_BYTES = 2**16  # enough to refuse what is no such file before all of it is read


def read_input(path: Path, *, convert: bool = False) -> bytes:
    """The samples of a WAV file, or of any file with sound where `convert` is set.

    Raises MediaError, with the command that converts the file, for any other format and for a damaged file.
    """
    if not path.is_file():
        found = "no plain file" if path.exists() else "no such file"
        raise MediaError(f"{path}: {found}; name a recording with --input-wav", kind="media_missing")
    if convert:
        import numpy as np

        samples = read_audio(path)
        return np.rint(np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()
    try:
        with path.open("rb") as file:
            begin = file.read(_HEAD_BYTES)
            head = wav_head(begin)
            if head is not None and head.format != _WANTED:
                raise MediaError(f"expected {_WANTED}, found {head.format}")
            pcm = parse_wav(begin + file.read())
    except OSError as error:
        raise MediaError(f"{path}: cannot be read: {error.strerror or error}") from error
    except MediaError as error:
        raise MediaError(f"{path}: {error}; {_advice(path)}") from error
    if pcm.format != _WANTED:
        raise MediaError(f"{path}: expected {_WANTED}, found {pcm.format}; {_advice(path)}")
    if pcm.missing_bytes:
        raise MediaError(
            f"{path}: cut short: {pcm.missing_bytes} bytes of its sound are missing; record or fetch it again"
        )
    return pcm.data


def _advice(path: Path) -> str:
    """The command for the file, to be copied as it is."""
    target = path.with_name(f"{path.stem}-16k.wav")
    words = ["ffmpeg", "-i", str(path), "-ac", "1", "-ar", str(RATE_HZ), "-c:a", "pcm_s16le", str(target)]
    return f"convert it: {shlex.join(words)} (or give --convert)"
