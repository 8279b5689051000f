"""Two runs beside each other: which answers flipped, or what was said worse."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Sequence

from omnieval.report.html.markup import Markup, element
from omnieval.view.folders import RunPlace
from omnieval.view.pages import document, section, table
from omnieval.view.query import JUDGED, Query

_LISTED = 15


def answers(index: sqlite3.Connection, place: RunPlace, other: RunPlace, query: Query) -> str:
    """Questions by how they ended in both. index: with the other's as `other`."""
    both, rights, lost, gained = index.execute(
        "SELECT count(*), total(s.outcome = 'correct' AND o.outcome = 'correct'),"
        " total(s.outcome <> 'correct' AND o.outcome = 'correct'),"
        " total(s.outcome = 'correct' AND o.outcome <> 'correct')"
        " FROM sample s JOIN other.sample o ON o.id = s.id"
        f" WHERE s.outcome IN {JUDGED} AND o.outcome IN {JUDGED}"
    ).fetchone()
    counts = [
        ("right in both", "", rights), ("right there, not here", "lost", lost),
        ("right here, not there", "gained", gained),
        ("right in neither", "", both - rights - lost - gained),
    ]  # fmt: skip
    told = f"{both:,} questions judged in both runs."
    return _page(
        place, other, told, ("", "Questions", "Share"), _counted(counts, both, place, query),
        _unlike(index, "rules", "Read"),
    )  # fmt: skip


def utterances(index: sqlite3.Connection, place: RunPlace, other: RunPlace, query: Query) -> str:
    """Utterances by their word errors in both, the figures of both, and which differ most."""
    joined = "FROM sample s JOIN other.sample o ON o.id = s.id"
    words = index.execute(
        f"SELECT count(*), avg(s.wer), avg(o.wer), total(s.wer > o.wer), total(s.wer < o.wer) {joined} "
        "WHERE s.wer IS NOT NULL AND o.wer IS NOT NULL"
    ).fetchone()
    unlike = [_unlike(index, "rules", "Heard"), _unlike(index, "encoders", "Voices compared")]
    voices = index.execute(
        f"SELECT count(*), avg(s.sim), avg(o.sim) {joined} WHERE s.sim IS NOT NULL AND o.sim IS NOT NULL"
    ).fetchone()
    figures = []
    if words[0]:
        figures.append(_figure("WER, mean of utterances", words[1], words[2], "{:.2f} %"))
    if voices[0] and unlike[1] is None:
        figures.append(_figure("SIM, mean", voices[1], voices[2], "{:.3f}"))
    both, worse, better = words[0], words[3], words[4]
    counts = [
        ("more word errors here", "worse", worse), ("fewer word errors here", "better", better),
        ("as many", "", both - worse - better),
    ]  # fmt: skip
    apart = index.execute(
        "SELECT s.n, s.id, s.wer AS wer_here, o.wer AS wer_there, s.sim AS sim_here, o.sim AS sim_there "
        f"{joined} WHERE s.wer <> o.wer ORDER BY abs(s.wer - o.wer) DESC, s.n LIMIT ?", (_LISTED,)
    ).fetchall()  # fmt: skip
    told = f"{both:,} utterances heard in both runs."
    return _page(
        place, other, told, ("", "Utterances", "Share"), _counted(counts, both, place, query), *unlike,
        table("Figures", ("", "Here", "There", "Difference"), element("tbody", *figures), look="figures")
        if figures else None,
        section("Largest differences in word errors",
                table("Largest differences in word errors",
                      ("Utterance", "WER here", "WER there", "SIM here", "SIM there"),
                      element("tbody", *(_utterance(row, place, query) for row in apart)), look="figures"))
        if apart else None,
    )  # fmt: skip


def _unlike(index: sqlite3.Connection, key: str, what: str) -> Markup | None:
    """A warning where the two runs were not measured by the same."""
    (here,), (there,) = (
        index.execute(f"SELECT value FROM {name} WHERE key = ?", (key,)).fetchone()
        for name in ("main.about", "other.about")
    )
    if here == there:
        return None
    return element(
        "p", f"{what} by {here or 'nothing'} here and by {there or 'nothing'} there.", class_="warning"
    )


def _page(
    place: RunPlace,
    other: RunPlace,
    told: str,
    heads: Sequence[str],
    counts: Sequence[Markup],
    *further: Markup | None,
) -> str:
    command = shlex.join(["omnieval", "compare", str(other.path), str(place.path)])
    return document(
        f"{place.name} against {other.name}",
        element("p", told, class_="about"),
        table("Counts", heads, element("tbody", *counts), look="figures"),
        *further,
        section("Intervals and p-values", element("pre", command)),
        crumbs=[("Runs", "/"), (place.name, f"/run/{place.id}")],
    )


def _counted(
    counts: Sequence[tuple[str, str, float]], total: int, place: RunPlace, query: Query
) -> list[Markup]:
    """counts: (what, value of `show` or '', number)."""
    url = f"/run/{place.id}"
    return [
        element(
            "tr",
            element("th", element("a", what, href=url + query.url(show=show)) if show else what, scope="row"),
            element("td", f"{int(number):,}", class_="n"),
            element("td", f"{100 * number / total:.1f} %" if total else "", class_="n"),
        )
        for what, show, number in counts
    ]


def _figure(name: str, here: float, there: float, form: str) -> Markup:
    scale = 100 if "%" in form else 1
    signed = form.replace("{:", "{:+")
    cells = (form.format(scale * here), form.format(scale * there), signed.format(scale * (here - there)))
    return element(
        "tr", element("th", name, scope="row"), *(element("td", cell, class_="n") for cell in cells)
    )


def _utterance(row: sqlite3.Row, place: RunPlace, query: Query) -> Markup:
    cells = [f"{100 * row[key]:.1f} %" for key in ("wer_here", "wer_there")]
    cells += ["" if row[key] is None else f"{row[key]:.3f}" for key in ("sim_here", "sim_there")]
    link = element("a", element("bdi", row["id"]), href=f"/run/{place.id}/sample/{row['n']}{query.url()}")
    return element(
        "tr", element("th", link, scope="row"), *(element("td", cell, class_="n") for cell in cells)
    )
