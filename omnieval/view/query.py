"""Which samples of a run a reader wants to see, and in which order: from a URL to SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from omnieval.view.index_build import searchable

PAGE = 50
JUDGED = "('correct', 'wrong', 'unparsed', 'failed')"
SHOWS: Mapping[str, tuple[str, str]] = {
    "all": ("all", "1"),
    "wrong": ("wrong", "s.outcome = 'wrong'"),
    "unparsed": ("unparsed", "s.outcome = 'unparsed'"),
    "failed": ("failed", "s.outcome = 'failed'"),
    "unhealthy": ("unhealthy", "s.flags <> ''"),
    "correct": ("correct", "s.outcome = 'correct'"),
    "errors": ("word errors", "s.wer > 0"),
    "not-asked": ("not asked", "s.outcome = 'not_asked'"),
    "flipped": ("flipped", "o.id IS NOT NULL AND (s.outcome = 'correct') <> (o.outcome = 'correct')"),
    "lost": ("right there, not here", "o.outcome = 'correct' AND s.outcome <> 'correct'"),
    "gained": ("right here, not there", "o.outcome <> 'correct' AND s.outcome = 'correct'"),
    "worse": ("more word errors here", "s.wer > o.wer"),
    "better": ("fewer word errors here", "s.wer < o.wer"),
}
AGAINST = ("flipped", "lost", "gained", "worse", "better")
APART = ("apart",)  # orders that need another run
_FLIPS = ("flipped", "lost", "gained")
SORTS: Mapping[str, tuple[str, str, bool]] = {
    "row": ("row of the data set", "s.n", False),
    "wer": ("most word errors", "ifnull(s.wer, -1)", True),
    "apart": ("largest difference in word errors", "ifnull(abs(s.wer - o.wer), -1)", True),
    "slow": ("slowest", "ifnull(s.e2e_s, -1)", True),
    "long": ("longest reply", "ifnull(s.length, -1)", True),
}


@dataclass(frozen=True)
class Query:
    """show, sort: keys of SHOWS and SORTS. facet: id of a group's value. text: what question or reply hold.
    other: id of the run against which answers flipped. page: from 0."""

    show: str = "all"
    sort: str = "row"
    facet: int | None = None
    text: str = ""
    other: str = ""
    page: int = 0

    @classmethod
    def read(cls, values: Mapping[str, str]) -> Query:
        """From a URL; what means nothing is left out."""
        show, sort = values.get("show", "all"), values.get("sort", "row")
        other = values.get("other", "")
        known = show in SHOWS and (bool(other) or show not in AGAINST)
        return cls(
            show if known else "all",
            sort if sort in SORTS and (bool(other) or sort not in APART) else "row",
            _number(values.get("facet")),
            values.get("text", "").strip()[:200].encode(errors="replace").decode().replace("\0", ""),
            other,
            _number(values.get("page")) or 0,
        )

    @staticmethod
    def unmet(values: Mapping[str, str], *, compared: bool) -> str:
        """Why what a URL asks for is not shown, or ''. compared: the run that it names is there."""
        if compared:
            return ""
        if values.get("other"):
            return "The run under “Against” is no longer there; nothing is compared with it."
        show, sort = values.get("show", ""), values.get("sort", "")
        needing = [SHOWS[show][0]] if show in AGAINST else []
        needing += [SORTS[sort][0]] if sort in APART else []
        return f"Choose a run under “Against” for: {', '.join(needing)}." if needing else ""

    def url(self, **changes: Any) -> str:
        """As the query of a URL, with changes."""
        query = replace(self, **changes)
        plain = Query()
        given = {k: v for k, v in vars(query).items() if v != getattr(plain, k)}
        return f"?{urlencode(given)}" if given else ""


def tallies(index: sqlite3.Connection) -> dict[str, int]:
    """How many samples each `show` finds that needs no other run; those that find none are left out."""
    alone = [key for key in SHOWS if key not in AGAINST]
    counts = ", ".join(f"total({SHOWS[key][1]})" for key in alone)
    found = index.execute(f"SELECT {counts} FROM main.sample s").fetchone()
    return {key: int(count) for key, count in zip(alone, found, strict=True) if count}


class Found:
    """The samples of a query in an opened index."""

    def __init__(self, index: sqlite3.Connection, query: Query, other: Path | None) -> None:
        """other: the index file of the other run, where the query names one."""
        self._index = index
        self._query = query
        self._from = "sample s"
        self._values: list[int | str] = []
        where = [SHOWS[query.show][1] if other or query.show not in AGAINST else "1"]
        if other is not None:
            index.execute("ATTACH ? AS other", (f"{other.as_uri()}?mode=ro",))
            self._from += " LEFT JOIN other.sample o ON o.id = s.id"
            if query.show in _FLIPS:
                where.append(f"s.outcome IN {JUDGED} AND o.outcome IN {JUDGED}")
        if query.facet is not None:
            where.append("s.n IN (SELECT n FROM member WHERE f = ?)")
            self._values.append(query.facet)
        if query.text:
            where.append("s.n IN (SELECT n FROM words WHERE instr(text, ?))")
            self._values.append(searchable(query.text))
        self._where = " AND ".join(f"({part})" for part in where)
        sort = query.sort if other is not None or query.sort not in APART else "row"
        _, self._key, self._down = SORTS[sort]

    def count(self) -> int:
        (found,) = self._index.execute(
            f"SELECT count(*) FROM {self._from} WHERE {self._where}", self._values
        ).fetchone()
        return int(found)

    def page(self) -> list[sqlite3.Row]:
        way = "DESC" if self._down else "ASC"
        start = min(self._query.page, 10**9) * PAGE
        return self._index.execute(
            f"SELECT s.* FROM {self._from} WHERE {self._where} ORDER BY {self._key} {way}, s.n {way} "
            "LIMIT ? OFFSET ?",
            [*self._values, PAGE, start],
        ).fetchall()

    def beside(self, n: int, *, after: bool) -> int | None:
        """The row of the next sample, or of the one before."""
        ahead = after != self._down
        sign, way = (">", "ASC") if ahead else ("<", "DESC")
        found = self._index.execute(
            f"SELECT s.n FROM {self._from} WHERE {self._where} AND ({self._key}, s.n) {sign} "
            f"(SELECT {self._key}, s.n FROM {self._from} WHERE s.n = ?) "
            f"ORDER BY {self._key} {way}, s.n {way} LIMIT 1",
            [*self._values, n],
        ).fetchone()
        return None if found is None else int(found[0])


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else None
