"""How a row of any multiple-choice set becomes a Sample."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from omnieval.benchmarks import rows
from omnieval.benchmarks.hub import blobs_of
from omnieval.benchmarks.mcq_columns import Layout, is_empty
from omnieval.media.embedded import write_embedded
from omnieval.media.source import is_there
from omnieval.parsing import gold_letter, lettered
from omnieval.types import Failure, Sample
from omnieval.wording import counted

_LETTERED = "a mapping of A, B, C ... to texts"

AnswerKind = Literal["auto", "letter", "text", "index0", "index1"]


class SampleMaker:
    """Makes the samples of one table. media_root: the folder that media paths start from and must not
    leave, but for links into the store of the hub's cache; cache: where media that lie in the table itself
    are written, once, by their content."""

    def __init__(self, layout: Layout, *, media_root: Path, cache: Path, answers: AnswerKind) -> None:
        self._layout = layout
        self._media_root = _real(media_root)
        self._blobs = blobs_of(self._media_root)
        self._cache = cache
        self._answers = answers
        self._taken: set[str] = set()
        self.disagreeing: list[str] = []
        self.one_based: list[str] = []

    def sample(self, row: Any, number: int) -> Sample:
        """The sample of one row; a row that cannot be asked carries its problem."""
        if not isinstance(row, Mapping):
            row = {}
        layout = self._layout
        question = rows.text(row, *layout.columns["question"])
        options = self._options(row)
        media, problem = self._media(row, number)
        odd = rows.no_text(row, *layout.columns["question"])
        problem = _problem(row, number, question, options, odd, self._unread(row, options)) or problem
        given = rows.text(row, *layout.columns["id"]) if layout.columns["id"] else ""
        cluster = self._cluster(row, media) or given or f"row{number + 1}"
        if given.isprintable() and 0 < len(given) <= 80:
            sample_id = rows.unique_id(given, self._taken)
        else:
            sample_id = rows.sample_id(_short(cluster), question, options, self._taken)
        return Sample(
            id=sample_id,
            benchmark="mcq",
            question=question,
            options=options,
            gold=None if problem else self._gold(row, options, sample_id),
            groups={name: rows.text(row, column) or "unknown" for name, column in layout.groups.items()},
            cluster=cluster,
            media={} if problem else media,
            row=number,
            problem=problem,
        )

    def _options(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        names = self._layout.columns["options"]
        if len(names) == 1:
            return rows.options(row.get(names[0]))
        columns = [None if is_empty(row.get(name)) else row[name] for name in names]
        while columns and columns[-1] is None:
            columns.pop()
        return rows.options(columns)

    def _unread(self, row: Mapping[str, Any], options: tuple[str, ...]) -> str | None:
        """The type of a column of options that holds something of which none could be read."""
        values = [row.get(name) for name in self._layout.columns["options"]]
        filled = [value for value in values if not is_empty(value) and value not in ([], {}, ())]
        return type(filled[0]).__name__ if filled and not options else None

    def _cluster(self, row: Mapping[str, Any], media: Mapping[str, Path]) -> str:
        named = rows.text(row, *self._layout.columns["cluster"]) if self._layout.columns["cluster"] else ""
        first = next((media[role] for role in ("video", "audio", "image-1") if role in media), None)
        if named or first is None:
            return named
        return (
            first.relative_to(self._media_root).as_posix()
            if first.is_relative_to(self._media_root)
            else first.stem
        )

    def _gold(self, row: Mapping[str, Any], options: tuple[str, ...], sample_id: str) -> str | None:
        gold = self._read_answer(self._layout.value(row, "answer"), options, sample_id)
        text = (
            rows.text(row, *self._layout.columns["answer_text"])
            if self._layout.columns["answer_text"]
            else ""
        )
        by_text = gold_letter(text, options) if text else None
        if by_text is not None and gold is not None and by_text != gold:
            self.disagreeing.append(sample_id)
            return None
        return gold

    def _read_answer(self, value: Any, options: tuple[str, ...], sample_id: str) -> str | None:
        # A column of whole numbers with gaps in it often comes as 0.0, 1.0, ...
        text = "" if value is None else str(value).strip()
        index_text = text[:-2] if re.fullmatch(r"\d{1,3}\.0", text) else text
        letters = list(lettered(options))
        if self._answers in ("index0", "index1"):
            whole = re.fullmatch(r"\d{1,3}", index_text)
            index = int(index_text) - (self._answers == "index1") if whole else -1
            return letters[index] if 0 <= index < len(letters) else None
        if self._answers == "letter":
            return text.upper() if text.upper() in letters else None
        same = [letter for letter, option in lettered(options).items() if option == text]
        gold = same[0] if same else gold_letter(text, options)
        if gold is not None or self._answers == "text" or not re.fullmatch(r"\d{1,3}", index_text):
            return gold
        if int(index_text) == len(letters):
            self.one_based.append(sample_id)
        return letters[int(index_text)] if int(index_text) < len(letters) else None

    def _media(self, row: Mapping[str, Any], number: int) -> tuple[dict[str, Path], Failure | None]:
        media: dict[str, Path] = {}
        for role, value in self._media_values(row):
            try:
                media[role] = self._path(value)
            except ValueError as error:
                hint = "mend the row, or set media_root to the folder that holds all media"
                return {}, Failure("data", f"row {number + 1}: {role} {error}", hint=hint)
        return media, None

    def _media_values(self, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for role in ("video", "audio"):
            for i, value in enumerate(self._layout.values(row, role), 1):
                yield (role if i == 1 else f"{role}-{i}"), value
        for i, value in enumerate(self._layout.values(row, "images"), 1):
            yield f"image-{i}", value

    def _path(self, value: Any) -> Path:
        """Raises ValueError that says why the value names no file that may be read."""
        if isinstance(value, bytes):
            return self._written(value, "")
        if isinstance(value, Mapping):
            content = value.get("bytes")
            if content:
                if not isinstance(content, bytes | bytearray):
                    raise ValueError(
                        f"has bytes of the type {type(content).__name__}, expected them as parquet holds them"
                    )
                return self._written(bytes(content), str(value.get("path") or ""))
            value = value.get("path")
        if not isinstance(value, str):
            raise ValueError(f"is a {type(value).__name__}, expected a path")
        if re.match(r"[a-z][a-z0-9+.-]+://", value):
            raise ValueError(f"is the address {value[:80]!r}; fetch the file first")
        path = (self._media_root / value).absolute()
        places = [self._media_root, *([self._blobs] if self._blobs else [])]
        if "\0" in value or not any(_real(path).is_relative_to(place) for place in places):
            raise ValueError(f"{value[:80]!r} lies outside {self._media_root}")
        return path

    def _written(self, content: bytes, name: str) -> Path:
        suffix = PurePosixPath(name).suffix.lower()
        suffix = suffix if re.fullmatch(r"\.[a-z0-9]{1,8}", suffix) else _suffix_of(content)
        return write_embedded(self._cache, content, suffix)


def data_notes(maker: SampleMaker, samples: Sequence[Sample], given: Sequence[str]) -> list[str]:
    """What a reader must know of the data."""
    notes = []
    if maker.disagreeing:
        disagree = counted(len(maker.disagreeing), "row whose", "rows whose")
        notes.append(
            f"{disagree} answer letter and answer text disagree; not asked: {rows.few(maker.disagreeing)}"
        )
    if maker.one_based:
        notes.append(
            "answers look like indices that begin at 1, but are read as beginning at 0; set answer_is=index1 "
            f"(for example {rows.few(maker.one_based, 3)})"
        )
    twice = {name for name, count in Counter(given).items() if name and count > 1}
    if twice:
        notes.append(f"ids that come more than once, each asked and counted: {rows.few(twice)}")
    missing = {path for sample in samples for path in sample.media.values()}
    missing = {path for path in missing if not is_there(path)}
    if missing:
        are = counted(len(missing), "media file is", "media files are")
        notes.append(f"{are} not there, for example {rows.few(path.name for path in missing)}")
    broken = [sample.id for sample in samples if sample.problem is not None]
    if broken:
        cannot = counted(len(broken), "row cannot be asked and is", "rows cannot be asked and are")
        notes.append(f"{cannot} counted as failed: {rows.few(broken)}")
    disagreeing = set(maker.disagreeing)
    rest = [sample for sample in samples if sample.id not in disagreeing]
    return [
        *notes,
        *rows.duplicate_notes(samples),
        *rows.same_option_notes(samples),
        *rows.no_gold_notes(rest),
    ]


def _problem(
    row: Mapping[str, Any],
    number: int,
    question: str,
    options: tuple[str, ...],
    odd: str | None,
    unread: str | None,
) -> Failure | None:
    """What is wrong with a row. odd: the type of a question that is no text; unread: that of options in no
    known form."""
    kind = row.get("dataset_type")
    if not row:
        what = "is no record of named values"
    elif isinstance(kind, str) and kind not in ("", "mcq"):
        what = f"is of the type {kind!r}, not multiple choice"
    elif not question:
        what = "has no question"
    elif odd:
        what = f"has a question of the type {odd}, expected text"
    elif unread:
        what = f"has options in no known form ({unread}), expected a list of texts, lines, or {_LETTERED}"
    elif wrong := rows.options_problem(options):
        what = wrong
    else:
        return None
    return Failure("data", f"row {number + 1} {what}", hint="mend the row, or name the right column")


def _real(path: Path) -> Path:
    """The path without links; unlike `Path.resolve` also where they lead in a circle."""
    return Path(os.path.realpath(path))


def _short(cluster: str) -> str:
    return PurePosixPath(cluster).stem[:40] or "row"


def _suffix_of(content: bytes) -> str:
    for mark, suffix in (
        (b"\xff\xd8", ".jpg"),
        (b"\x89PNG", ".png"),
        (b"RIFF", ".wav"),
        (b"fLaC", ".flac"),
        (b"OggS", ".ogg"),
        (b"ID3", ".mp3"),
    ):
        if content.startswith(mark):
            return ".webp" if suffix == ".wav" and content[8:12] == b"WEBP" else suffix
    return ".mp4" if content[4:8] == b"ftyp" else ".bin"
