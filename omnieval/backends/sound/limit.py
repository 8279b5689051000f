"""Sounds cut to the length that an engine bears."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from omnieval.backends.failed import FailedTry
from omnieval.errors import MediaError
from omnieval.media.recording import read_recording
from omnieval.media.wav import wav_head, write_wav
from omnieval.types import Failure

_HEAD_BYTES = 4096


def within(
    paths: Sequence[Path], most_s: float | None, folder: Path
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The files, each longer one replaced by its beginning in a file of `folder`; and what a reader must
    know.

    most_s: in seconds; None cuts nothing. Blocking. Raises FailedTry where a file cannot be read or
    written.
    """
    if most_s is None:
        return tuple(paths), ()
    kept = tuple(_within(path, most_s, folder / f"{number}.wav") for number, path in enumerate(paths))
    if kept == tuple(paths):
        return kept, ()
    return kept, (
        f"a sound longer than {most_s:g} s was cut to that, the longest that llamacpp.max_sound_s allows",
    )


def _within(path: Path, most_s: float, target: Path) -> Path:
    try:
        if _is_short(path, most_s):
            return path
        pcm = read_recording(path).pcm
        if pcm.duration_s <= most_s:
            return path
    except (MediaError, OSError) as error:
        raise FailedTry(
            Failure("media", str(error), hint="a file was changed or removed; resume the run")
        ) from error
    kept = int(most_s * pcm.format.rate_hz) * pcm.format.frame_bytes
    try:
        target.write_bytes(write_wav(replace(pcm, data=pcm.data[:kept])))
    except OSError as error:
        raise FailedTry(no_room(target.parent.parent, error)) from error
    return target


def no_room(folder: Path, error: OSError) -> Failure:
    """A folder for passing files does not take the sounds of a request."""
    message = f"{folder}: sounds that are cut cannot be kept there: {error.strerror or error}"
    return Failure("configuration", message, hint="free some space, or name another folder with TMPDIR")


def _is_short(path: Path, most_s: float) -> bool:
    """Whether the size of a WAV alone says so, which is quick for the many small cuts of a video."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head.startswith(b"RIFF"):
        return False
    found = wav_head(head)
    if found is None:
        return False
    return path.stat().st_size - found.start <= most_s * found.format.rate_hz * found.format.frame_bytes
