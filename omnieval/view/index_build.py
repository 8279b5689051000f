"""A run directory's files read once into a new index. It appears whole or not at all."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from omnieval.runlog import PlannedSample
from omnieval.runlog.schema import from_line
from omnieval.runlog.store import RESPONSES, SAMPLES, SCORES
from omnieval.scoring.outcome import settled
from omnieval.types import Response, Score

T = TypeVar("T")
FILES = (RESPONSES, SCORES, SAMPLES)
_SEARCHED_TEXT = 20_000  # characters of a text that can be searched
_EXCERPT = 200  # characters of a text that a list may show
# A half-made index that was not written to for so long belongs to no living process; a whole one that old is
# made again if its run is ever looked at.
_LIVING_S, _KEPT_S = 3600, 30 * 24 * 3600
_BATCH = 2_000
_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE about(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE sample(n INTEGER PRIMARY KEY, id TEXT, outcome TEXT, answer TEXT, gold TEXT, failure TEXT,
  flags TEXT, wer REAL, sim REAL, e2e_s REAL, cluster TEXT, question TEXT, reply TEXT, length INTEGER,
  sample_at INTEGER, score_at INTEGER);
CREATE TABLE words(n INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE tried(id TEXT, at INTEGER);
CREATE TABLE facet(f INTEGER PRIMARY KEY, key TEXT, value TEXT, samples INTEGER);
CREATE TABLE member(f INTEGER, n INTEGER, PRIMARY KEY(f, n)) WITHOUT ROWID;
"""
_INDICES = """
CREATE UNIQUE INDEX by_id ON sample(id); CREATE INDEX by_outcome ON sample(outcome, n);
CREATE INDEX by_flags ON sample(n) WHERE flags <> ''; CREATE INDEX tries ON tried(id);
CREATE INDEX by_wer ON sample(ifnull(wer, -1), n); CREATE INDEX by_e2e ON sample(ifnull(e2e_s, -1), n);
CREATE INDEX by_length ON sample(ifnull(length, -1), n);
"""


def build_index(run: Path, place: Path, state: str, told: Callable[[float], None]) -> None:
    """Make the index of a run. state: of the run's files as read. told: gets the share that is read.

    Raises OSError and sqlite3.Error where it cannot be written.
    """
    began = time.time()
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place.parent)
    new = place.with_name(f"{place.stem}-{uuid4().hex}.tmp")
    connection = sqlite3.connect(new)
    try:
        connection.executescript(_SCHEMA)
        reader = _Reader(run, told)
        _fill(reader, connection)
        connection.executescript(_INDICES)
        facts = {
            "state": state, "built": time.time(), "took": time.time() - began, "damaged": len(reader.damaged),
            "rules": _clean(_names(reader.rules)), "encoders": _clean(_names(reader.encoders)),
        }  # fmt: skip
        connection.executemany("INSERT INTO about VALUES (?, ?)", [(k, str(v)) for k, v in facts.items()])
        connection.commit()
        connection.close()
        new.replace(place)
    finally:
        connection.close()
        new.unlink(missing_ok=True)


class _Reader:
    """The records of a run's files, with what was damaged and how far the reading is."""

    def __init__(self, run: Path, told: Callable[[float], None]) -> None:
        self._run = run
        self._told = told
        self._read = 0
        self._total = sum(path.stat().st_size for name in FILES if (path := run / name).is_file())
        self.damaged: list[str] = []
        self.rules: set[str | None] = set()  # by which replies were read, or which recognisers heard
        self.encoders: set[str | None] = set()  # as which similarity was measured

    def records(self, name: str, kind: type[T]) -> Iterator[tuple[int, T]]:
        """(place, record) of each whole line; a damaged one is counted, a torn last one left out."""
        try:
            with (self._run / name).open("rb") as file:
                at = 0
                for line in file:
                    try:
                        yield at, from_line(kind, line)
                    except ValueError:
                        if line.endswith(b"\n"):
                            self.damaged.append(f"{name} at {at}")
                    at += len(line)
                    self._read += len(line)
                    self._told(min(1.0, self._read / (self._total or 1)))
        except FileNotFoundError:
            return
        except OSError as error:
            self.damaged.append(f"{name}: {error.strerror}")


def _fill(reader: _Reader, connection: sqlite3.Connection) -> None:
    last: dict[str, Response] = {}
    tried: list[tuple[str, int]] = []
    for at, response in reader.records(RESPONSES, Response):
        last[response.sample_id] = response
        tried.append((response.sample_id, at))
    connection.executemany("INSERT INTO tried VALUES (?, ?)", tried)
    scores = {score.sample_id: (at, score) for at, score in reader.records(SCORES, Score)}
    facets: dict[tuple[str, str], int] = {}
    members: list[tuple[int, int]] = []
    rows: list[tuple[object, ...]] = []
    texts: list[tuple[int, str]] = []
    seen: set[str] = set()

    def keep() -> None:
        if rows:
            connection.executemany(f"INSERT INTO sample VALUES ({','.join('?' * len(rows[0]))})", rows)
            connection.executemany("INSERT INTO words VALUES (?, ?)", texts)
        rows.clear()
        texts.clear()

    for n, (at, planned) in enumerate(reader.records(SAMPLES, PlannedSample)):
        sample = planned.sample
        if sample.id in seen:
            reader.damaged.append(f"{SAMPLES}: the id {sample.id} is there twice")
            continue
        seen.add(sample.id)
        answer = last.get(sample.id)
        score_at, score = scores.get(sample.id, (None, None))
        if score is None:
            score = settled(sample, answer, selected=planned.selected) or Score(sample.id, "unscored")
        reply = _reply(answer, score)
        encoder, similarity = next(
            ((key, value) for key, value in score.metrics.items() if key.startswith("sim[")), (None, None)
        )
        reader.rules.add(score.rule)
        reader.encoders.add(encoder)
        rows.append((
            n, sample.id, score.outcome, score.answer, sample.gold, score.failure_kind,
            ", ".join(score.flags), score.metrics.get("wer"), similarity,
            None if answer is None else answer.timing.e2e_s, sample.cluster,
            _clean(sample.question[:_EXCERPT]), _clean(reply[:_EXCERPT]), len(reply), at, score_at,
        ))  # fmt: skip
        searched = "\n".join((sample.question, *sample.options, sample.id))[:_SEARCHED_TEXT]
        texts.append((n, searchable(f"{searched}\n{reply[:_SEARCHED_TEXT]}")))
        for pair in sample.groups.items():
            members.append((facets.setdefault(pair, len(facets)), n))
        if len(rows) == _BATCH:
            keep()
    keep()
    connection.executemany("INSERT INTO member VALUES (?, ?)", members)
    connection.executemany(
        "INSERT INTO facet SELECT ?, ?, ?, count(*) FROM member WHERE f = ?",
        [(f, _clean(key), _clean(value), f) for (key, value), f in facets.items()],
    )


def _reply(answer: Response | None, score: Score) -> str:
    """What a list shows as the reply: its text, what was heard, or why there is none."""
    if answer is None:
        return ""
    heard = score.answer if score.rule and answer.audio is not None else None
    return heard or answer.text or (answer.error.message if answer.error else "")


def searchable(text: str) -> str:
    """A text as it is searched: without case."""
    return _clean(text.casefold()).replace("\0", " ")


def _names(found: set[str | None]) -> str:
    return ", ".join(sorted(filter(None, found)))


def _clean(text: str) -> str:
    """A text that SQLite takes: halves of characters replaced."""
    return text.encode(errors="replace").decode()


def _sweep(folder: Path) -> None:
    """Remove what killed processes left behind, and indices of runs that may be long gone."""
    for pattern, longest in (("*.tmp", _LIVING_S), ("*.sqlite", _KEPT_S)):
        for path in folder.glob(pattern):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > longest:
                    path.unlink()
