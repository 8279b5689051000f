"""Lists of utterances in the Seed-TTS form: `meta.lst`, `hardcase.lst`.

A line holds, between `|`: id, prompt text, prompt wav, text to speak[, ground-truth wav, or in lists for
voice design a description of the voice]. As the official tools do, two fields are id and text, and three are
id, text and prompt wav, where an id that ends in `.wav` loses it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from omnieval.benchmarks import rows
from omnieval.errors import DataError
from omnieval.media.source import is_archive, listed

_SEPARATOR = "|"
_MOST_FIELDS = 5
_SHOWN = 5
_LANGUAGES = ("en", "zh")
_ARCHIVES = tuple(f"seedtts_testset{suffix}" for suffix in (".tar", ".tar.gz", ".tgz", ".zip"))
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ListLine:
    """One utterance. number: of its line, from 1. prompt_wav: relative to the list's folder, as the recording
    is that `fifth` may name; empty strings are None. problem: why it cannot be spoken, or None."""

    number: int
    utterance: str
    text: str
    prompt_text: str | None = None
    prompt_wav: str | None = None
    fifth: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class UtteranceList:
    """The lines of a list in their order, without blank ones and comments. notes: what a reader must know."""

    path: Path
    lines: tuple[ListLine, ...]
    notes: tuple[str, ...]


def locate(data: Path, language: str, name: str) -> Path:
    """The list of a data set: in the folder of all languages, in that of one, the list itself, or in the
    release's archive, which may be given by its folder.

    Raises DataError with what was found instead.
    """
    if is_archive(data) and data.is_file():
        return _in_archive(data, language, name)
    if data.is_file():
        return data
    if not data.is_dir():
        raise DataError(f"{data}: no such file or folder; give the folder with en/meta.lst")
    if data.name in _LANGUAGES and data.name != language:
        raise DataError(f"{data}: this folder is of language {data.name}, but the recipe asks for {language}")
    roots = [data, data / "seedtts_testset", *sorted(data.glob("snapshots/*"))]
    for root in roots:
        for candidate in (root / language / name, root / name):
            if candidate.is_file():
                return candidate
    archive = rows.first_file(root / archive for root in roots for archive in _ARCHIVES)
    if archive is not None:
        return _in_archive(archive, language, name)
    raise no_list(data, f"{language}/{name}")


def no_list(folder: Path, wanted: str) -> DataError:
    """What to say of a folder without the list."""
    found = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
    tables = any(path.suffix in (".arrow", ".parquet") for path in (*folder.glob("*"), *folder.glob("*/*")))
    what = "a copy as Arrow tables, which is not read" if tables else found
    return DataError(
        f"{folder}: expected {wanted}, found {what}; fetch the official layout: omnieval data pull seed-tts "
        f"--dst {folder.name}-official"
    )


def _in_archive(archive: Path, language: str, name: str) -> Path:
    """The list's path as if the archive were a folder. Raises DataError."""
    wanted = [path for path in map(PurePosixPath, _names(archive)) if path.name == name]
    found = [path for path in wanted if path.parent.name == language] or wanted
    if len(found) != 1:
        what = ", ".join(map(str, found[:_SHOWN])) or "none"
        raise DataError(f"{archive}: expected one {language}/{name} in it, found {what}")
    return archive / found[0]


def _names(archive: Path) -> list[str]:
    return [member.name for member in listed(archive)]


def read_list(path: Path) -> UtteranceList:
    """Read a list, with or without a byte-order mark, with any line ends.

    A malformed line, or one without a text, is kept with its problem. Raises DataError when the file is
    missing, empty, not UTF-8, or holds no usable line.
    """
    found: list[ListLine] = []
    extra: list[str] = []
    for number, line in enumerate(_LINE_END.split(rows.read_text(path)), 1):
        if not line.strip() or (line.lstrip().startswith("#") and _SEPARATOR not in line):
            continue
        fields = [field.strip() for field in line.split(_SEPARATOR)]
        if len(fields) > _MOST_FIELDS:
            extra.append(str(number))
        found.append(_line(number, fields))
    usable = [line for line in found if line.problem is None]
    if not usable:
        raise DataError(f"{path}: no line in the form id|prompt text|prompt wav|text to speak")
    return UtteranceList(path, tuple(found), tuple(_notes(found, extra)))


def _line(number: int, fields: list[str]) -> ListLine:
    prompt_text = prompt_wav = fifth = None
    utterance = fields[0]
    if len(fields) >= 4:
        prompt_text, prompt_wav, text = fields[1:4]
        fifth = fields[4] if len(fields) > 4 else None
    elif len(fields) == 3:
        text, prompt_wav = fields[1:]
        utterance = utterance.removesuffix(".wav")
    elif len(fields) == 2:
        text = fields[1]
    else:
        return ListLine(number, utterance, "", problem=f"line {number} has one field, expected 2 to 5")
    problem = None
    if rows.unsafe_name(utterance):
        problem = f"line {number} has the id {utterance!r}, which {rows.unsafe_name(utterance)}"
    elif not text:
        problem = f"line {number} ({utterance}) has no text to speak"
    return ListLine(number, utterance, text, prompt_text or None, prompt_wav or None, fifth or None, problem)


def _notes(lines: list[ListLine], extra: list[str]) -> list[str]:
    notes = [line.problem for line in lines if line.problem is not None]
    if extra:
        notes.append(
            f"lines with more than {_MOST_FIELDS} fields, of which the rest is ignored: {rows.few(extra)}"
        )
    counts = Counter(line.utterance for line in lines)
    twice = {utterance for utterance, count in counts.items() if count > 1}
    if twice:
        notes.append(f"ids that come more than once: {rows.few(twice)}")
    return notes
