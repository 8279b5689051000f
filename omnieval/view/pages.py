"""What pages have in common, and the page of a run's samples."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from omnieval.report.html.markup import Markup, element, joined
from omnieval.view.folders import RunPlace
from omnieval.view.headlines import Headline
from omnieval.view.query import AGAINST, APART, PAGE, SHOWS, SORTS, Query

Look = Literal["rows", "figures", "facts"]
_EXCERPT, _LONG_WARNING = 160, 120
_HEADS = ("Sample", "Outcome", "Details", "Question", "Reply")
_LOOKS = {"correct": "right", "wrong": "wrong", "failed": "wrong"}
# What makes no sense of answers to questions, and of utterances.
_OF_SPEECH, _OF_ANSWERS = ("errors", "worse", "better", "wer", "apart"), (
    "wrong", "unparsed", "correct", "flipped", "lost", "gained",
)  # fmt: skip


def document(title: str, *content: Markup | None, crumbs: Sequence[tuple[str, str]] = ()) -> str:
    """A whole page. crumbs: (text, URL) of the pages above."""
    above = [element("li", element("a", element("bdi", text), href=url)) for text, url in crumbs]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} · omnieval"),
        element("link", rel="icon", type="image/svg+xml", href="/static/icon.svg"),
        element("link", rel="stylesheet", href="/static/style.css"),
        element("link", rel="stylesheet", href="/static/view.css"),
        element("script", src="/static/view.js", defer=True),
    )
    nav = element("nav", element("ul", *above), aria_label="Pages above") if above else None
    body = element("body", element("main", nav, element("h1", element("bdi", title)), *content))
    return "<!doctype html>\n" + element("html", head, body, lang="en")


def samples_page(
    place: RunPlace,
    about: Headline,
    query: Query,
    rows: Sequence[sqlite3.Row],
    count: int,
    counts: Mapping[str, int],
    facets: Sequence[sqlite3.Row],
    others: Sequence[RunPlace],
    remarks: Sequence[str],
) -> str:
    """rows: of this page. count: of all pages. counts: of the whole run, by `show`."""
    url = f"/run/{place.id}"
    lines = [
        element(
            "tr",
            element("th", element("a", element("bdi", row["id"]),
                                  href=f"{url}/sample/{row['n']}{query.url()}"), scope="row"),
            element("td", badge(row["outcome"])), element("td", _told(row), class_="told"),
            element("td", element("bdi", _short(row["question"])), class_="text"),
            element("td", element("bdi", _short(row["reply"])), class_="text"),
        )
        for row in rows
    ]  # fmt: skip
    turn = turning(query, url, len(rows), count, PAGE)
    return document(
        place.name,
        element("p", joined(element("b", about.figure), " · ") if about.figure else None, about.about,
                class_="about"),
        *(warning(text) for text in remarks if text),
        _tallies(query, counts, url),
        _filters(query, facets, others, url, speech=about.speech),
        turn,
        table("Samples", _HEADS, element("tbody", *lines)) if rows else None,
        turn if len(rows) > 10 else None,
        crumbs=[("Runs", "/")],
    )  # fmt: skip


def _tallies(query: Query, counts: Mapping[str, int], url: str) -> Markup | None:
    """How the run ended, each part a press away."""
    links = [
        element("li", element("a", element("b", f"{count:,}"), f" {SHOWS[show][0]}",
                              href=url + Query(show=show, sort=query.sort, other=query.other).url(),
                              aria_current="true" if show == query.show else None,
                              class_=_LOOKS.get(show)))
        for show, count in counts.items()
    ]  # fmt: skip
    return element("ul", *links, class_="tallies", aria_label="Outcomes") if links else None


def _filters(
    query: Query, facets: Sequence[sqlite3.Row], others: Sequence[RunPlace], url: str, *, speech: bool
) -> Markup:
    left_out = _OF_ANSWERS if speech else _OF_SPEECH
    shows = [
        (key, text)
        for key, (text, _) in SHOWS.items()
        if (others or key not in AGAINST) and (key not in left_out or key == query.show)
    ]
    sorts = [
        (key, text)
        for key, (text, _, _) in SORTS.items()
        if (query.other or key not in APART) and (key not in left_out or key == query.sort)
    ]
    groups = [("", "any")] + [
        (str(row["f"]), f"{row['key']}: {_short(row['value'], 60)} ({row['samples']:,})") for row in facets
    ]
    fields: list[Markup | None] = [
        _select("Show", "show", shows, query.show),
        _select("Group", "facet", groups, "" if query.facet is None else str(query.facet))
        if facets
        else None,
        _select("Against", "other", [("", "no other run"), *((o.id, o.name) for o in others)], query.other)
        if others
        else None,
        _select("Order", "sort", sorts, query.sort),
        element("label", "Text", element("input", type="search", name="text", value=query.text)),
        element("button", "Filter"),
        element("a", "both at a glance", href=f"{url}/against/{query.other}") if query.other else None,
    ]
    return element("form", *fields, method="get", action=url, class_="filters", role="search",
                   aria_label="Filter of samples")  # fmt: skip


def _select(label: str, name: str, choices: Sequence[tuple[str, str]], chosen: str) -> Markup:
    options = [element("option", text, value=value, selected=value == chosen) for value, text in choices]
    return element("label", label, element("select", *options, name=name))


def warning(text: str) -> Markup:
    """What a reader should know; a long one is unfolded."""
    if len(text) <= _LONG_WARNING:
        return element("p", text, class_="warning")
    begin = text[:_LONG_WARNING].rpartition(" ")[0] or text[:_LONG_WARNING]
    rest = element("p", f"… {text[len(begin) :].strip()}")
    return element("details", element("summary", f"{begin} …"), rest, class_="warning")


def section(title: str, *content: Markup | None) -> Markup:
    """A part of a page under its title."""
    return element("section", element("h2", title), *content)


def table(caption: str, heads: Sequence[str], *bodies: Markup, look: Look = "rows") -> Markup:
    """caption: for those who cannot see what it is a table of. look: `rows` become cards on a phone,
    `figures` are numbers behind a name, `facts` are words behind one."""
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    whole = element("table", element("caption", caption), head, *bodies)
    return element("div", whole, class_=f"scroll {look}", tabindex="0", role="region", aria_label=caption)


def turning(query: Query, url: str, shown: int, count: int, size: int) -> Markup:
    """Where one is in a list of pages of a size, with links to those beside."""
    first, last = query.page * size + 1, query.page * size + shown
    return element(
        "p",
        f"{first:,}–{last:,} of {count:,}" if shown else f"None of {count:,} on this page",
        element("a", "← before", href=url + query.url(page=query.page - 1), rel="prev")
        if query.page
        else None,
        element("a", "more →", href=url + query.url(page=query.page + 1), rel="next")
        if shown and last < count
        else None,
        class_="turn",
    )


def badge(text: str, look: str | None = None) -> Markup:
    """A word on a ground of its own. look: right or wrong, where the outcome does not say it."""
    look = _LOOKS.get(text, "") if look is None else look
    return element("span", text.replace("_", " "), class_=f"badge {look}")


def _told(row: sqlite3.Row) -> str:
    figures: list[Any] = [
        f"picked {row['answer']}" if row["wer"] is None and row["answer"] else None,
        row["failure"] if row["outcome"] == "failed" else None,
        None if row["wer"] is None else f"WER {100 * row['wer']:.1f} %",
        None if row["sim"] is None else f"SIM {row['sim']:.3f}",
        row["flags"] or None,
    ]
    return ", ".join(str(figure) for figure in figures if figure)


def _short(text: str | None, longest: int = _EXCERPT) -> str:
    text = text or ""
    return text if len(text) <= longest else text[:longest] + "…"


def page_of_text(title: str, text: str) -> str:
    """A page that only says something."""
    return document(title, joined(element("p", text)), crumbs=[("Runs", "/")])


def page_of_waiting(share: float) -> str:
    """How far the index of a run is."""
    return document(
        "Reading the run",
        element("p", f"{share:.0%} of its files are read. This page goes on by itself.", role="status"),
        element("progress", value=f"{share:.3f}", max="1", aria_label="Read so far"),
        crumbs=[("Runs", "/")],
    )
