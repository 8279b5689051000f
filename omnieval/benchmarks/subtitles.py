"""Subtitles as text for a prompt: all lines, or those that are shown at the chosen frames."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from omnieval.errors import MediaError
from omnieval.media.source import read_small_file
from omnieval.parsing import well_formed

Line = tuple[float, float, str]
_TAG = re.compile(r"<[^>\n]{0,200}>|\{\\[^}\n]{0,200}\}")


def subtitle_text(path: Path, times: Iterable[float] | None = None) -> str:
    """The subtitles of an SRT file (also one in an archive), one a line, without mark-up.

    times: seconds; only the line shown at each is taken, once. None takes all lines.
    Raises MediaError naming the file when it is missing or no subtitle file.
    """
    lines = _parsed(path, read_small_file(path)).lines
    if times is None:
        return "\n".join(text for _, _, text in lines)
    shown = (next((i for i, (start, end, _) in enumerate(lines) if start < t < end), None) for t in times)
    return "\n".join(lines[i][2] for i in dict.fromkeys(i for i in shown if i is not None))


def subtitle_notes(path: Path) -> tuple[str, ...]:
    """What a reader must know of an SRT file that can be read. Raises MediaError like `subtitle_text`."""
    return _parsed(path, read_small_file(path)).notes


@dataclass(frozen=True)
class _Parsed:
    """lines: (start and end in seconds, text) of every subtitle that says something, by start."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...]


@lru_cache(maxsize=16)
def _parsed(path: Path, content: bytes) -> _Parsed:
    import pysubs2

    text, encoding = _decoded(path, content)
    try:
        parsed = pysubs2.SSAFile.from_string(text, format_="srt")
    except Exception as error:
        raise MediaError(f"{path}: cannot be read as subtitles: {error}; fetch it again") from error
    lines = [(event.start / 1000, event.end / 1000, _plain(event.plaintext)) for event in parsed]
    if not lines and text.strip():
        raise MediaError(f"{path}: no subtitle in it, but text; expected the SRT format; fetch it again")
    said = tuple(sorted(line for line in lines if line[2]))
    notes = [] if encoding is None else [f"subtitles that are not UTF-8 were read as {encoding}"]
    return _Parsed(said, tuple(notes) if said else (*notes, "the subtitle file holds no subtitles"))


def _decoded(path: Path, content: bytes) -> tuple[str, str | None]:
    """(text, the encoding where it is a guess): UTF-8, UTF-16 by its mark, else GB18030."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        tries: tuple[tuple[str, str | None], ...] = (("utf-16", None),)
    else:
        tries = (("utf-8-sig", None), ("gb18030", "GB18030"))
    for encoding, guess in tries:
        with contextlib.suppress(UnicodeDecodeError):
            return well_formed(content.decode(encoding)), guess
    raise MediaError(
        f"{path}: its encoding is not known (neither UTF-8, nor UTF-16 with a mark, nor GB18030); save it as "
        "UTF-8, for example with `iconv -f LATIN1 -t UTF-8`"
    )


def _plain(text: str) -> str:
    return " ".join(_TAG.sub(" ", text).split())
