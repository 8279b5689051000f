"""A run directory as a SQLite file that pages are asked of: where each line lies, and what it is filtered by.

It lies in the cache folder, is made anew when a file of the run has another size or time, and may be deleted
at any moment. What a page shows of a sample is read from the run's own files, at the places kept here.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from omnieval.errors import ScoringError
from omnieval.runlog import PlannedSample
from omnieval.runlog.schema import from_line
from omnieval.runlog.store import RESPONSES, SAMPLES, SCORES
from omnieval.scoring.outcome import settled
from omnieval.types import Response, Score

T = TypeVar("T")
_LAYOUT = "1"
_FILES = (SAMPLES, RESPONSES, SCORES)
_KEPT_TEXT = 20_000  # characters of a text that can be searched
_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE about(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE sample(n INTEGER PRIMARY KEY, id TEXT, outcome TEXT, answer TEXT, gold TEXT, failure TEXT,
  flags TEXT, wer REAL, sim REAL, e2e_s REAL, cluster TEXT, question TEXT, reply TEXT, length INTEGER,
  sample_at INTEGER, score_at INTEGER);
CREATE TABLE tried(id TEXT, at INTEGER);
CREATE TABLE facet(f INTEGER PRIMARY KEY, key TEXT, value TEXT, samples INTEGER);
CREATE TABLE member(f INTEGER, n INTEGER, PRIMARY KEY(f, n)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(question, reply, content='', tokenize='trigram');
"""
_INDICES = """
CREATE UNIQUE INDEX by_id ON sample(id); CREATE INDEX by_outcome ON sample(outcome, n);
CREATE INDEX by_flags ON sample(n) WHERE flags <> ''; CREATE INDEX tries ON tried(id);
CREATE INDEX by_wer ON sample(ifnull(wer, -1), n); CREATE INDEX by_e2e ON sample(ifnull(e2e_s, -1), n);
CREATE INDEX by_length ON sample(ifnull(length, -1), n);
"""


def open_index(run: Path, folder: Path) -> sqlite3.Connection:
    """The index of a run directory, made or made anew where it must be; for reading.

    An index of a run that is being written is made anew at most as often as one tenth of the time allows.
    Raises ScoringError where there is nothing to read or the index cannot be written.
    """
    place = index_path(run, folder)
    state = _state(run)
    try:
        connection = _opened(place)
        if connection is not None:
            about = dict(connection.execute("SELECT key, value FROM about"))
            if about["state"] == state or time.time() - float(about["built"]) < 10 * float(about["took"]):
                return connection
            connection.close()
        _build(run, place, state)
        connection = _opened(place)
    except (OSError, sqlite3.Error) as error:
        raise ScoringError(
            f"{place}: the viewer's index cannot be made: {error}; free some space, or set OMNIEVAL_CACHE_DIR"
        ) from error
    if connection is None:
        raise ScoringError(f"{place}: the viewer's index does not open; delete it")
    return connection


def index_path(run: Path, folder: Path) -> Path:
    """Where the index of a run lies."""
    return folder / f"{hashlib.sha256(str(run.resolve()).encode()).hexdigest()[:24]}.sqlite"


def line_at(path: Path, kind: type[T], place: int | None) -> T | None:
    """The record of the line that begins at a byte of a file; None where none does (any more)."""
    if place is None:
        return None
    try:
        with path.open("rb") as file:
            file.seek(place)
            return from_line(kind, file.readline())
    except (OSError, ValueError):
        return None


def _state(run: Path) -> str:
    found = [_LAYOUT]
    for name in _FILES:
        with contextlib.suppress(OSError):
            facts = (run / name).stat()
            found.append(f"{name} {facts.st_size} {facts.st_mtime_ns}")
    return "\n".join(found)


def _opened(place: Path) -> sqlite3.Connection | None:
    if not place.is_file():
        return None
    connection = sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("SELECT value FROM about WHERE key = 'built'").fetchone()[0]
    except (sqlite3.Error, TypeError):  # damaged, or of another layout
        connection.close()
        return None
    return connection


def _build(run: Path, place: Path, state: str) -> None:
    began = time.time()
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_name(f"{place.stem}-{uuid4().hex}.tmp")
    connection = sqlite3.connect(new)
    try:
        connection.executescript(_SCHEMA)
        damaged = _fill(run, connection)
        connection.executescript(_INDICES)
        facts = {"state": state, "built": time.time(), "took": time.time() - began, "damaged": damaged}
        connection.executemany("INSERT INTO about VALUES (?, ?)", [(k, str(v)) for k, v in facts.items()])
        connection.commit()
        connection.close()
        new.replace(place)
    finally:
        connection.close()
        new.unlink(missing_ok=True)


def _fill(run: Path, connection: sqlite3.Connection) -> int:
    damaged: list[str] = []
    last: dict[str, Response] = {}
    for at, tried in _records(run / RESPONSES, Response, damaged):
        last[tried.sample_id] = tried
        connection.execute("INSERT INTO tried VALUES (?, ?)", (tried.sample_id, at))
    scores = {score.sample_id: (at, score) for at, score in _records(run / SCORES, Score, damaged)}
    facets: dict[tuple[str, str], int] = {}
    members: list[tuple[int, int]] = []
    seen: set[str] = set()
    for n, (at, planned) in enumerate(_records(run / SAMPLES, PlannedSample, damaged)):
        sample = planned.sample
        if sample.id in seen:
            damaged.append(f"{SAMPLES}: the id {sample.id} is there twice")
            continue
        seen.add(sample.id)
        response = last.get(sample.id)
        score_at, score = scores.get(sample.id, (None, None))
        if score is None:
            score = settled(sample, response, selected=planned.selected) or Score(sample.id, "unscored")
        text = "" if response is None else response.text or (response.error.message if response.error else "")
        if score.rule and response is not None and response.audio is not None:
            text = score.answer or text
        similarity = next((v for key, v in score.metrics.items() if key.startswith("sim[")), None)
        row = (
            n, sample.id, score.outcome, score.answer, sample.gold, score.failure_kind,
            ", ".join(score.flags), score.metrics.get("wer"), similarity,
            None if response is None else response.timing.e2e_s, sample.cluster,
            _clean(sample.question), _clean(text), len(text), at, score_at,
        )  # fmt: skip
        connection.execute(f"INSERT INTO sample VALUES ({','.join('?' * len(row))})", row)
        searched = " ".join((sample.question, *sample.options, sample.id))
        connection.execute(
            "INSERT INTO words(rowid, question, reply) VALUES (?, ?, ?)", (n, _clean(searched), _clean(text))
        )
        for pair in sample.groups.items():
            members.append((facets.setdefault(pair, len(facets)), n))
    connection.executemany("INSERT INTO member VALUES (?, ?)", members)
    connection.executemany(
        "INSERT INTO facet SELECT ?, ?, ?, count(*) FROM member WHERE f = ?",
        [(f, _clean(key), _clean(value), f) for (key, value), f in facets.items()],
    )
    return len(damaged)


def _clean(text: str) -> str:
    """A text that SQLite takes: halves of characters replaced."""
    return text[:_KEPT_TEXT].encode(errors="replace").decode()


def _records(path: Path, kind: type[T], damaged: list[str]) -> Iterator[tuple[int, T]]:
    """(place, record) of each whole line; a damaged one is counted, a torn last one left out."""
    try:
        with path.open("rb") as file:
            at = 0
            for line in file:
                try:
                    yield at, from_line(kind, line)
                except ValueError:
                    if line.endswith(b"\n"):
                        damaged.append(f"{path.name} at {at}")
                at += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        damaged.append(f"{path.name}: {error.strerror}")


def facts(connection: sqlite3.Connection) -> dict[str, Any]:
    """What is known of the index itself: `damaged` lines, `built` (seconds since the epoch)."""
    return dict(connection.execute("SELECT key, value FROM about").fetchall())
