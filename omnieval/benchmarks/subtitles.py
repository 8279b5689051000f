"""Subtitles as text for a prompt: all lines, or those that are shown at the chosen frames."""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    lines = _lines(path)
    if times is None:
        return "\n".join(text for _, _, text in lines)
    shown = (next((i for i, (start, end, _) in enumerate(lines) if start < t < end), None) for t in times)
    return "\n".join(lines[i][2] for i in dict.fromkeys(i for i in shown if i is not None))


@lru_cache(maxsize=16)
def _lines(path: Path) -> tuple[Line, ...]:
    """(start and end in seconds, text) of every subtitle that says something, by start."""
    import pysubs2

    content = read_small_file(path)
    try:
        text = well_formed(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    try:
        parsed = pysubs2.SSAFile.from_string(text, format_="srt")
    except Exception as error:
        raise MediaError(f"{path}: cannot be read as subtitles: {error}; fetch it again") from error
    lines = [(event.start / 1000, event.end / 1000, _plain(event.plaintext)) for event in parsed]
    if not lines and text.strip():
        raise MediaError(f"{path}: no subtitle in it, but text; expected the SRT format")
    return tuple(sorted(line for line in lines if line[2]))


def _plain(text: str) -> str:
    return " ".join(_TAG.sub(" ", text).split())
